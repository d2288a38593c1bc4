/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What berthd writes into berth-mail's standard input: one message to send, and through which
 * relay. Fixed layout: "BMAIL1\n", then each text of struct mail_frame in its order as a 16-bit
 * big-endian length and bytes, then claim_minutes as 16 bits, then the end of input. Both sides
 * check everything: what passes mail_frame_check() cannot inject into a header, an envelope or a
 * URL.
 */
#ifndef BERTH_MAIL_FRAME_H
#define BERTH_MAIL_FRAME_H

#include "base/buf.h"
#include "base/err.h"

enum {
	MAIL_MAX_TEXT = 512,   /* bytes of each text */
	MAIL_MAX_FRAME = 8192, /* of all */
};

struct mail_frame {
	struct view relay;   /* "smtp://host[:port]" (STARTTLS required) or "smtps://host[:port]" */
	struct view ca_file; /* certificates to trust instead of the system's; may be empty */
	struct view user;    /* at the relay; empty: no authentication */
	struct view password;
	struct view from; /* address */
	struct view to;   /* address */
	struct view url;  /* of the start page */
	uint16_t claim_minutes;
};

/* What berth-mail's exit status tells. Others (a crash, a lost relay) are temporary too. */
enum mail_exit {
	MAIL_EXIT_SENT = 0,
	MAIL_EXIT_USAGE = 64,     /* not a valid frame */
	MAIL_EXIT_REFUSED = 69,   /* for good: trying again is useless */
	MAIL_EXIT_TEMPORARY = 75, /* try again later */
};

/* ERR_INVALID with the reason; never quotes the recipient. */
int mail_frame_check(const struct mail_frame *frame, struct err *err) MUST_CHECK;
/* Writes the frame into `out`. Returns its length, -ENOSPC, or -EINVAL for a text that is too long.
 */
ssize_t mail_frame_write(const struct mail_frame *frame, void *out, size_t size) MUST_CHECK;
/* The views point into `bytes`. -EINVAL. */
int mail_frame_read(struct view bytes, struct mail_frame *ret) MUST_CHECK;

/* True for a host that can only be this machine: "localhost", 127.0.0.0/8, "[::1]". */
bool mail_relay_is_local(struct view relay);

#endif
