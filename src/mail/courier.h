/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives an outbox on the loop: has berth-mail started for each message (mail/postman.h), reads its
 * exit status. Loop thread only. courier_new() forks, so it comes before threads and confinement.
 */
#ifndef BERTH_MAIL_COURIER_H
#define BERTH_MAIL_COURIER_H

#include "mail/frame.h"
#include "mail/outbox.h"
#include "sys/clock.h"

#include <systemd/sd-event.h>

struct courier;

struct courier_config {
	const char *program;                       /* path of berth-mail */
	const char *relay, *ca_file, *from, *user; /* as in struct mail_frame; "" for none */
	const char *password_file;                 /* "" for none; read during courier_new() */
	const char *public_url;                    /* of the start page */
	usec claim_time;
	struct outbox_config outbox;
	/* Asked right before a message is sent: does this principal's slot still wait for it? */
	bool (*is_wanted)(void *userdata, const char *principal);
	void *userdata;
};

/* `event` and `clock` are borrowed; strings are copied. ERR_INVALID for a relay, sender or URL that
 * cannot be used. */
int courier_new(sd_event *event, const struct clock *clock, const struct courier_config *config,
		struct courier **ret, struct err *err) MUST_CHECK;
void courier_free(struct courier *courier);
DEFINE_CLEANUP(courier)

/* These are the outbox's functions with the loop's time. */
bool courier_is_open(const struct courier *courier);
int courier_leave(struct courier *courier, const char *principal, struct view address,
		  struct err *err) MUST_CHECK;
void courier_forget(struct courier *courier, const char *principal);
bool courier_has(const struct courier *courier, const char *principal);
void courier_ready(struct courier *courier, const char *principal);
void courier_get_stats(const struct courier *courier, struct outbox_stats *ret);

#endif
