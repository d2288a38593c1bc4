/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's parts: pool.c (asking and giving back), flow.c (how slots change hands), view.c
 * (telling). Only these include it.
 */
#ifndef BERTH_POOL_POOL_INTERNAL_H
#define BERTH_POOL_POOL_INTERNAL_H

#include "pool/estimate.h"
#include "pool/notes.h"
#include "pool/pool.h"
#include "pool/queue.h"

struct slot {
	enum pool_slot_state state;
	enum pool_hold hold;
	char *key, *principal; /* HELD; else NULL */
	uint32_t uses;
	uint32_t era;      /* changes whenever the content goes or the key changes */
	uint32_t failures; /* to empty it, in a row */
	usec since;        /* of the state; of the hold when unclaimed */
	usec granted_at;   /* HELD */
	usec last_used;    /* HELD */
	usec retry_at;     /* SET_ASIDE; RESETTING: USEC_INFINITY while `empty` is under way */
	bool is_warm;      /* FREE */
	bool is_touched;   /* since pool_take_touched() */
};

struct pool {
	struct pool_config config;
	struct pool_hooks hooks;
	struct slot *slots;
	uint32_t count[POOL_NUM_SLOT_STATES];
	struct map *by_key; /* held slots */
	struct queue queue;
	struct notes notes;
	struct estimate estimate;
	bool has_curve;
	usec curve_at;
	bool is_draining;
	usec retry_at; /* something could not be saved: tried again then; else USEC_INFINITY */
	struct pool_stats total; /* only its counters are used */
};

static inline uint32_t slot_number(const struct pool *pool, const struct slot *s)
{
	return (uint32_t)(s - pool->slots);
}

static inline struct pool_holder slot_holder(const struct pool *pool, const struct slot *s)
{
	return (struct pool_holder){ s->key, s->principal, slot_number(pool, s), s->hold };
}

static inline struct slot *slot_of_key(const struct pool *pool, const char *key)
{
	return map_get(pool->by_key, view_str(key));
}

/* ---- flow.c ---- */

/* The free slot to grant next (a warm one first), or NULL. */
struct slot *flow_free_slot(const struct pool *pool);
/* FREE to HELD. `t`: the ticket that is used up (and gone after success), or NULL. */
int flow_grant(struct pool *pool, struct slot *s, const char *key, const char *principal,
	       struct ticket *t, usec now, struct err *err) MUST_CHECK;
/* HELD to EMPTYING; the key is told `note`. */
int flow_release(struct pool *pool, struct slot *s, enum pool_note note, usec now,
		 struct err *err) MUST_CHECK;
/* HELD to HELD, being emptied. */
int flow_reset(struct pool *pool, struct slot *s, usec now, struct err *err) MUST_CHECK;
/* Fills in a slot that comes back from the store. */
int flow_restore(struct pool *pool, struct slot *s, const struct pool_holder *holder, usec now,
		 struct err *err) MUST_CHECK;
void flow_set_aside(struct pool *pool, struct slot *s, usec now);
/* Grants while there are free slots and tickets. */
void flow_serve_queue(struct pool *pool, usec now);

/* ---- view.c ---- */

/* The estimate for a place in the queue. */
usec view_wait(struct pool *pool, size_t position, usec now);

#endif
