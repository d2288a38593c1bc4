/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has which slot, who waits, and when a slot goes on to the next: pure policy. No I/O, no
 * clock: every function gets `now` from the caller (microseconds of a clock that never goes back).
 *
 * A slot is
 *   FREE       verified empty, nobody's
 *   HELD       a key's. In use it is never idle. Granted from the queue it must be claimed (by any
 *              call) within claim_time. While its key is being reset it is emptied and stays the
 *              key's.
 *   EMPTYING   nobody's, `empty` was asked for and pool_slot_emptied() has not answered yet
 *   SET_ASIDE  emptying failed; it is tried again after a growing pause
 * A slot leaves EMPTYING for FREE only by pool_slot_emptied(slot, POOL_EMPTY), never otherwise:
 * that is what makes "handed on" mean "verified empty".
 *
 * The queue holds at most one ticket a principal, in the order of arrival. A free slot goes to the
 * front ticket at once, inside whatever call freed it; nobody overtakes: while a ticket waits, a
 * newcomer gets a ticket too. There is a queue only where idle sandboxes are emptied; otherwise a
 * key keeps its slot for ever and a request without a free slot is refused.
 *
 * What must survive a restart goes out through the `save` hooks before it takes effect; a hook that
 * fails leaves the pool as it was. At start the owner gives the same facts back with the restore
 * functions. Time in which the server was down counts as nobody's idleness: clocks start anew.
 *
 * Hooks run inside pool functions and must not call back into the pool.
 */
#ifndef BERTH_POOL_POOL_H
#define BERTH_POOL_POOL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/usec.h"

struct pool;

enum {
	POOL_MAX_SLOTS = 5000,
	POOL_MAX_NAME = 255,    /* bytes of a key, of a principal */
	POOL_MAX_NOTES = 20000, /* notes kept for keys that have not come back; oldest go first */
};

enum pool_slot_state {
	POOL_SLOT_FREE,
	POOL_SLOT_HELD,
	POOL_SLOT_EMPTYING,
	POOL_SLOT_SET_ASIDE,
	POOL_NUM_SLOT_STATES,
};

/* Of a held slot. The numbers are stored: never renumber. */
enum pool_hold {
	POOL_HOLD_USED = 0,      /* its key has called */
	POOL_HOLD_UNCLAIMED = 1, /* granted from the queue, no call yet */
	POOL_HOLD_RESETTING = 2, /* being emptied, stays its key's */
	POOL_NUM_HOLDS,
};

struct pool_config {
	uint32_t slots;            /* 1..POOL_MAX_SLOTS */
	uint32_t per_principal;    /* keys a principal may hold at once; 0: no limit */
	bool empty_when_idle;      /* and so: there is a queue */
	usec idle;                 /* without a call or use: emptied (if empty_when_idle) */
	usec queue_patience;       /* a ticket without any call lapses */
	usec queue_patience_mail;  /* the same for one whose owner left an address */
	usec claim_time;           /* an unclaimed grant goes on */
	uint32_t queue_max;        /* tickets */
	usec retry_min, retry_max; /* pauses of a slot that is set aside: doubling between these */
};

/* Strings are valid during the hook only. */
struct pool_holder {
	const char *key;
	const char *principal;
	uint32_t slot;
	enum pool_hold hold;
};

struct pool_ticket {
	uint64_t order; /* unique; the lower, the earlier. Never 0 */
	const char *key;
	const char *principal;
	bool has_mail;
};

struct pool_hooks {
	/* What must survive a restart. 0, or -1 with err; each is one transaction. */

	/* The key has the slot, in that state (new, or the state changed). `ticket` is 0, or the
	 * order of the ticket that this grant uses up. */
	int (*save_holder)(void *userdata, const struct pool_holder *holder, uint64_t ticket,
			   struct err *err);
	/* The key has the slot no more; the slot is dirty from now on. */
	int (*save_release)(void *userdata, const struct pool_holder *holder, struct err *err);
	/* The slot is clean. */
	int (*save_clean)(void *userdata, uint32_t slot, struct err *err);
	/* New, or the key or has_mail changed. */
	int (*save_ticket)(void *userdata, const struct pool_ticket *ticket, struct err *err);
	int (*save_no_ticket)(void *userdata, uint64_t order, struct err *err);

	/* What to do. */

	/* Stop what runs in the slot, empty it, verify, then pool_slot_emptied(). `key` has it
	 * still (reset); NULL: it is nobody's any more. */
	void (*empty)(void *userdata, uint32_t slot, const char *key);
	/* A ticket reached its slot (UNCLAIMED), or a reset has ended (USED): warm it up, wake the
	 * calls that wait for this key. */
	void (*granted)(void *userdata, const struct pool_holder *holder);
	/* A ticket is gone without a slot: its owner did not call for too long. */
	void (*lapsed)(void *userdata, const struct pool_ticket *ticket);
	/* Positions changed. */
	void (*queue_moved)(void *userdata);
	void *userdata;
};

/* The config and the hooks are copied. */
int pool_new(const struct pool_config *config, const struct pool_hooks *hooks, struct pool **ret,
	     struct err *err) MUST_CHECK;
void pool_free(struct pool *pool);
DEFINE_CLEANUP(pool)

/* ---- at start, before anything else, in any order; then one pool_tick() ---- */

/*
 * `held_for`: since the slot was granted (for the estimate). ERR_INVALID when the slot is beyond
 * the configured number or taken.
 */
int pool_restore_holder(struct pool *pool, const struct pool_holder *holder, usec held_for,
			usec now, struct err *err) MUST_CHECK;
/* A slot that was being emptied: it is emptied (again) in the first pool_tick(). Slots beyond the
 * configured number are ignored. */
void pool_restore_dirty(struct pool *pool, uint32_t slot, usec now);
int pool_restore_ticket(struct pool *pool, const struct pool_ticket *ticket, usec now,
			struct err *err) MUST_CHECK;

/* ---- asking ---- */

enum pool_verdict {
	POOL_READY,    /* the key has `slot` (`is_new`: since this request) */
	POOL_CLEANING, /* the key's slot is being emptied for it: ask again at `granted` */
	POOL_QUEUED,   /* position, length, wait */
	POOL_REFUSED,  /* reason */
};

enum pool_refusal {
	POOL_REFUSED_NONE,
	POOL_REFUSED_QUEUE_FULL,
	POOL_REFUSED_LIMIT,    /* the principal holds (or waits for) as many as it may */
	POOL_REFUSED_DRAINING, /* maintenance: no new grants */
	POOL_REFUSED_NO_SLOT,  /* no queue here, and every slot holds a workspace: berth gc */
	POOL_REFUSED_STORE,    /* err says what could not be saved */
	POOL_NUM_REFUSALS,
};

struct pool_answer {
	enum pool_verdict verdict;
	uint32_t slot;             /* READY */
	bool is_new;               /* READY: the slot was free and clean before this request */
	uint32_t position, length; /* QUEUED: 1 is the front */
	usec wait;                 /* QUEUED: estimate; USEC_INFINITY when none can be given */
	enum pool_refusal reason;  /* REFUSED */
	struct err err;            /* REFUSED: the sentence for the caller */
};

/*
 * A call for `key` of `principal`: refreshes what the key has (slot or ticket), grants a slot, or
 * takes or keeps the place in the queue. Both are NUL-terminated, 1..POOL_MAX_NAME bytes.
 */
void pool_request(struct pool *pool, const char *key, const char *principal, usec now,
		  struct pool_answer *ret);

/* The same facts without refreshing anything. False when the principal has no ticket. */
bool pool_position(struct pool *pool, const char *principal, usec now, struct pool_answer *ret);

/* The slot of a key. ERR_NOT_FOUND. */
int pool_find(const struct pool *pool, const char *key, struct pool_holder *ret,
	      struct err *err) MUST_CHECK;

/*
 * A use is a call, a job, an upload, a download under way: meanwhile the sandbox is not idle; its
 * end refreshes it. begin claims an unclaimed grant. ERR_NOT_FOUND for an unknown key, ERR_BUSY
 * while it is being reset. A use that outlives its sandbox (reset, release) ends without effect on
 * whoever has the slot then.
 */
struct pool_use {
	uint32_t slot, era;
};
int pool_begin_use(struct pool *pool, const char *key, usec now, struct pool_use *ret,
		   struct err *err) MUST_CHECK;
void pool_end_use(struct pool *pool, struct pool_use use, usec now);
void pool_touch(struct pool *pool, const char *key, usec now);

/* ---- giving back ---- */

/* Gives the slot up, in use or not: it is emptied and goes on. ERR_NOT_FOUND. */
int pool_release(struct pool *pool, const char *key, usec now, struct err *err) MUST_CHECK;
/*
 * Empties the slot and keeps it for the key. If that fails, the key gets another slot, or the front
 * place in the queue. ERR_NOT_FOUND; ERR_BUSY when a reset is under way.
 */
int pool_reset(struct pool *pool, const char *key, usec now, struct err *err) MUST_CHECK;

enum pool_emptied { POOL_EMPTY, POOL_NOT_EMPTY };
/* The answer to the `empty` hook, once each. */
void pool_slot_emptied(struct pool *pool, uint32_t slot, enum pool_emptied result, usec now);

/* ---- the queue ---- */

/* Whether the owner of the principal's ticket left an address. ERR_NOT_FOUND without a ticket. */
int pool_ticket_set_mail(struct pool *pool, const char *principal, bool has_mail, usec now,
			 struct err *err) MUST_CHECK;
/* Gives the place up (sign-out). Harmless without one. */
void pool_ticket_drop(struct pool *pool, const char *principal, usec now);

/* No new grants until pool_resume(). What is held stays usable; tickets keep their order. */
void pool_drain(struct pool *pool);
void pool_resume(struct pool *pool, usec now);

/* ---- time ---- */

/* Idle sandboxes, lapsed tickets, unclaimed grants, slots set aside: all that is due. */
void pool_tick(struct pool *pool, usec now);
/* When pool_tick() has something to do next; USEC_INFINITY: never. Ask after each pool call. */
usec pool_next_deadline(const struct pool *pool);

/* ---- telling ---- */

/* What to tell a key's owner once, at the next answer. */
enum pool_note {
	POOL_NOTE_NONE,
	POOL_NOTE_READY,     /* a slot was granted from the queue */
	POOL_NOTE_LAPSED,    /* the place in the queue lapsed */
	POOL_NOTE_UNCLAIMED, /* a slot was granted, not used in time, and went on */
	POOL_NOTE_IDLE,      /* idle too long: emptied */
	POOL_NOTE_MOVED,     /* a reset needed another slot */
	POOL_NUM_NOTES,
};
/* Returns and forgets it. Notes do not survive a restart. */
enum pool_note pool_take_note(struct pool *pool, const char *key);

/* Calls fn for each key that was used since the last call of this: for a batch of last_used. */
void pool_take_touched(struct pool *pool, void (*fn)(void *userdata, const char *key),
		       void *userdata);

/* A free slot with a container waiting is granted first. The mark goes with the grant. */
void pool_set_warm(struct pool *pool, uint32_t slot, bool is_warm);
/* A free slot without that mark, the one granted next first. False when there is none. */
bool pool_find_cold(const struct pool *pool, uint32_t *ret_slot);

struct pool_slot_view {
	enum pool_slot_state state;
	struct pool_holder holder; /* HELD; else key and principal are NULL */
	uint32_t uses;
	usec since;     /* of this state */
	usec last_used; /* HELD */
	usec retry_at;  /* SET_ASIDE */
};
void pool_get_slot(const struct pool *pool, uint32_t slot, struct pool_slot_view *ret);

struct pool_place {
	uint32_t position; /* 1 is the front */
	const char *principal;
	bool has_mail;
	usec quiet; /* since its last call */
};
/* Calls fn for the places in the queue from the front on, at most `max` of them. */
void pool_each_place(const struct pool *pool, uint32_t max, usec now,
		     void (*fn)(void *userdata, const struct pool_place *place), void *userdata);

struct pool_stats {
	uint32_t slots, free, held, emptying, set_aside; /* held with those being reset */
	uint32_t unclaimed, resetting, in_use, warm;     /* of these */
	uint32_t queue_length, queue_max;
	bool draining;
	usec newcomer_wait; /* 0 with a free slot; USEC_INFINITY when no estimate can be given */
	uint64_t granted, granted_from_queue, lapsed, unclaimed_expired, idle_emptied, released;
	uint64_t emptied, empty_failed, refused;
};
void pool_get_stats(struct pool *pool, usec now, struct pool_stats *ret);

const char *pool_slot_state_name(enum pool_slot_state state);

#endif
