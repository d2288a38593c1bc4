/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which "your sandbox is ready" messages are to be sent, and when: pure policy. Times are of one
 * clock that never goes back.
 *
 * An address is kept from outbox_leave() until its one message was sent, was refused for good, is
 * not wanted any more (outbox_forget()) or `keep` is over; then it is overwritten. It is in memory
 * that is never swapped nor dumped, and nowhere else: what limits repetition are keyed hashes.
 *
 * One message at a time, at most `per_hour` in any hour. A relay that is down is tried again with
 * growing pauses, and such an attempt does not count.
 */
#ifndef BERTH_MAIL_OUTBOX_H
#define BERTH_MAIL_OUTBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/usec.h"

enum {
	OUTBOX_MAX_ADDRESSES = 1000,  /* kept at once */
	OUTBOX_MAX_REMEMBERED = 4096, /* hashes of addresses that were left */
	/* Against using the server to pester somebody. */
	OUTBOX_PER_DOMAIN = 5,        /* an hour */
	OUTBOX_PER_LARGE_DOMAIN = 20, /* the same for the large providers */
	OUTBOX_MAX_PRINCIPAL = 255,   /* bytes */
};

struct outbox;

struct outbox_config {
	uint32_t per_hour; /* messages; 0: none is ever taken */
	usec keep;         /* an address */
};

int outbox_new(const struct outbox_config *config, struct outbox **ret, struct err *err) MUST_CHECK;
/* Overwrites all addresses. */
void outbox_free(struct outbox *outbox);
DEFINE_CLEANUP(outbox)

/* Whether to offer the field at all: there is room, and the hour's messages are not used up. */
bool outbox_is_open(const struct outbox *outbox, usec now);

/*
 * Somebody who waits left an address; it replaces what the principal left before. ERR_INVALID for
 * bad syntax, ERR_FULL without room, ERR_BUSY if this address was left in the last 24 hours or its
 * domain too often in the last hour. Tell the visitor the same whatever the answer.
 */
int outbox_leave(struct outbox *outbox, const char *principal, struct view address, usec now,
		 struct err *err) MUST_CHECK;
/* No message is wanted (any more): the sandbox is in use, the place lapsed, the sign-in ended.
 * Harmless for an unknown principal. */
void outbox_forget(struct outbox *outbox, const char *principal);
/* Whether the principal has left an address that is still kept. */
bool outbox_has(struct outbox *outbox, const char *principal);
/* The principal's sandbox is ready. Harmless for an unknown principal. */
void outbox_ready(struct outbox *outbox, const char *principal, usec now);

/* Forgets what is too old. */
void outbox_tick(struct outbox *outbox, usec now);
/* When outbox_tick() or outbox_next() has something to do; USEC_INFINITY: never as things are. */
usec outbox_next_deadline(const struct outbox *outbox, usec now);

struct outbox_job {
	uint32_t number;
	const char *principal; /* valid until the next call */
	struct view address;   /* in locked memory, valid until outbox_done() */
};
/* The message to send now; false if there is none. Answer with outbox_done(). */
bool outbox_next(struct outbox *outbox, usec now, struct outbox_job *ret);

enum outbox_result {
	OUTBOX_SENT,
	OUTBOX_REFUSED, /* for good */
	OUTBOX_TRY_AGAIN,
};
void outbox_done(struct outbox *outbox, uint32_t number, enum outbox_result result, usec now);

struct outbox_stats {
	uint32_t waiting;                  /* addresses kept */
	uint64_t sent, refused, forgotten; /* forgotten: too old, after they were ready */
};
void outbox_get_stats(const struct outbox *outbox, struct outbox_stats *ret);

#endif
