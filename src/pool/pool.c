/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for slots and giving them back. */
#include "pool/pool_internal.h"

#include <assert.h>

int pool_new(const struct pool_config *config, const struct pool_hooks *hooks, struct pool **ret,
	     struct err *err)
{
	struct pool *pool;

	if (config->slots < 1 || config->slots > POOL_MAX_SLOTS)
		return err_set(err, ERR_INVALID, "a pool has 1 to %d slots, not %u", POOL_MAX_SLOTS,
			       config->slots);
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return err_sys(err, ENOMEM, "make the pool");
	pool->config = *config;
	if (pool->config.retry_min == 0)
		pool->config.retry_min = USEC_PER_SEC;
	pool->hooks = *hooks;
	pool->retry_at = USEC_INFINITY;
	estimate_init(&pool->estimate, config->idle);
	list_init(&pool->notes.oldest_first);
	pool->slots = calloc(config->slots, sizeof(*pool->slots));
	pool->by_key = map_new();
	if (!pool->slots || !pool->by_key || notes_init(&pool->notes) < 0 ||
	    queue_init(&pool->queue) < 0) {
		pool_free(pool);
		return err_sys(err, ENOMEM, "make the pool");
	}
	pool->count[POOL_SLOT_FREE] = config->slots;
	*ret = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (uint32_t i = 0; pool->slots && i < pool->config.slots; i++) {
		free(pool->slots[i].key);
		free(pool->slots[i].principal);
	}
	free(pool->slots);
	map_free(pool->by_key);
	notes_done(&pool->notes);
	queue_done(&pool->queue);
	free(pool);
}

/* ---- at start ---- */

int pool_restore_holder(struct pool *pool, const struct pool_holder *holder, usec held_for,
			usec now, struct err *err)
{
	struct slot *s;

	if (holder->slot >= pool->config.slots)
		return err_set(err, ERR_INVALID,
			       "sandbox %s is in slot %u, but pool.slots is %u: it must be at "
			       "least %u",
			       holder->key, holder->slot, pool->config.slots, holder->slot + 1);
	s = &pool->slots[holder->slot];
	if (s->state == POOL_SLOT_HELD || slot_of_key(pool, holder->key) ||
	    (unsigned)holder->hold >= POOL_NUM_HOLDS)
		return err_set(err, ERR_INVALID,
			       "the state gives slot %u twice, or in no known way", holder->slot);
	if (s->state != POOL_SLOT_FREE)
		return err_set(err, ERR_INVALID, "the state gives slot %u, but it is dirty",
			       holder->slot);
	if (flow_restore(pool, s, holder, now, err) < 0)
		return -1;
	s->granted_at = now > held_for ? now - held_for : 0;
	return 0;
}

void pool_restore_dirty(struct pool *pool, uint32_t slot, usec now)
{
	struct slot *s;

	if (slot >= pool->config.slots)
		return;
	s = &pool->slots[slot];
	if (s->state != POOL_SLOT_FREE)
		return;
	flow_set_aside(pool, s, now);
	s->failures = 0;
	s->retry_at = now;
}

int pool_restore_ticket(struct pool *pool, const struct pool_ticket *ticket, usec now,
			struct err *err)
{
	struct ticket *t;
	int r = queue_add(&pool->queue, ticket->order, ticket->key, ticket->principal, &t);

	if (r == -EEXIST)
		return err_set(err, ERR_INVALID, "the state has two tickets for one principal");
	if (r < 0)
		return err_sys(err, -r, "restore the queue");
	t->has_mail = ticket->has_mail;
	t->last_call = now;
	return 0;
}

/* ---- asking ---- */

static uint32_t held_by(const struct pool *pool, const char *principal)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pool->config.slots; i++)
		if (pool->slots[i].principal && !strcmp(pool->slots[i].principal, principal))
			n++;
	return n;
}

static void touch(struct pool *pool, struct slot *s, usec now)
{
	struct pool_holder holder;
	struct err err;

	if (s->hold == POOL_HOLD_UNCLAIMED) {
		s->hold = POOL_HOLD_USED;
		holder = slot_holder(pool, s);
		/* Unsaved, it only has to be claimed again after a restart. */
		(void)pool->hooks.save_holder(pool->hooks.userdata, &holder, 0, &err);
	} else if (s->uses == 0) {
		estimate_saw_return(&pool->estimate, now - s->last_used);
	}
	s->last_used = now;
	s->is_touched = true;
}

static void answer_place(struct pool *pool, const struct ticket *t, usec now,
			 struct pool_answer *ret)
{
	ret->verdict = POOL_QUEUED;
	ret->position = queue_rank(&pool->queue, t);
	ret->length = (uint32_t)pool->queue.n;
	ret->wait = view_wait(pool, ret->position, now);
}

static int refusal_text(const struct pool *pool, enum pool_refusal reason, struct err *err)
{
	switch (reason) {
	case POOL_REFUSED_QUEUE_FULL:
		return err_set(err, ERR_BUSY,
			       "all sandboxes are taken and the queue is full (%zu waiting): try "
			       "again later",
			       pool->queue.n);
	case POOL_REFUSED_LIMIT:
		return err_set(err, ERR_FULL,
			       "%u sandboxes at once are the limit: use one that is there",
			       pool->config.per_principal);
	case POOL_REFUSED_DRAINING:
		return err_set(err, ERR_BUSY,
			       "the server gives out no new sandboxes during maintenance: try "
			       "again later");
	case POOL_REFUSED_NO_SLOT:
		return err_set(err, ERR_FULL,
			       "none of the %u slots is free, each holds a workspace: use a "
			       "sandbox that is there (sandbox_info), or ask the operator to empty "
			       "some (berth gc, berth empty) or to add slots (berth setup --slots)",
			       pool->config.slots);
	case POOL_REFUSED_STORE: /* err is set */
	case POOL_REFUSED_NONE:
	case POOL_NUM_REFUSALS:
		break;
	}
	return -1;
}

static void refuse(struct pool *pool, struct pool_answer *ret, enum pool_refusal reason)
{
	ret->verdict = POOL_REFUSED;
	ret->reason = reason;
	(void)refusal_text(pool, reason, &ret->err);
	pool->total.refused++;
}

/* The principal waits already. One place each: it is for the key that was asked for last. */
static void keep_place(struct pool *pool, struct ticket *t, const char *key, usec now,
		       struct pool_answer *ret)
{
	struct pool_ticket saved = { t->order, key, t->principal, t->has_mail };

	if (strcmp(t->key, key) != 0) {
		if (pool->hooks.save_ticket(pool->hooks.userdata, &saved, &ret->err) < 0) {
			refuse(pool, ret, POOL_REFUSED_STORE);
			return;
		}
		if (queue_rekey(t, key) < 0) {
			(void)err_sys(&ret->err, ENOMEM, "keep the place in the queue");
			refuse(pool, ret, POOL_REFUSED_STORE);
			return;
		}
	}
	t->last_call = now;
	answer_place(pool, t, now, ret);
}

static void take_place(struct pool *pool, const char *key, const char *principal, usec now,
		       struct pool_answer *ret)
{
	struct pool_ticket saved = { queue_order_last(&pool->queue), key, principal, false };
	struct ticket *t;
	int r;

	if (pool->queue.n >= pool->config.queue_max) {
		refuse(pool, ret, POOL_REFUSED_QUEUE_FULL);
		return;
	}
	r = queue_add(&pool->queue, saved.order, key, principal, &t);
	if (r < 0) {
		(void)err_sys(&ret->err, -r, "take a place in the queue");
		refuse(pool, ret, POOL_REFUSED_STORE);
		return;
	}
	if (pool->hooks.save_ticket(pool->hooks.userdata, &saved, &ret->err) < 0) {
		queue_remove(&pool->queue, t);
		refuse(pool, ret, POOL_REFUSED_STORE);
		return;
	}
	t->last_call = now;
	answer_place(pool, t, now, ret);
}

/* A key without slot, of a principal without ticket. */
static void ask_anew(struct pool *pool, const char *key, const char *principal, usec now,
		     struct pool_answer *ret)
{
	uint32_t limit = pool->config.per_principal;
	struct slot *s = flow_free_slot(pool);

	if (limit && held_by(pool, principal) >= limit) {
		refuse(pool, ret, POOL_REFUSED_LIMIT);
	} else if (pool->is_draining) {
		refuse(pool, ret, POOL_REFUSED_DRAINING);
	} else if (s && !queue_front(&pool->queue)) {
		if (flow_grant(pool, s, key, principal, NULL, now, &ret->err) < 0) {
			refuse(pool, ret, POOL_REFUSED_STORE);
			return;
		}
		ret->verdict = POOL_READY;
		ret->slot = slot_number(pool, s);
		ret->is_new = true;
	} else if (pool->config.empty_when_idle) {
		take_place(pool, key, principal, now, ret);
	} else {
		refuse(pool, ret, POOL_REFUSED_NO_SLOT);
	}
}

void pool_request(struct pool *pool, const char *key, const char *principal, usec now,
		  struct pool_answer *ret)
{
	struct slot *s = slot_of_key(pool, key);
	struct ticket *t;

	assert(key[0] && strlen(key) <= POOL_MAX_NAME);
	assert(principal[0] && strlen(principal) <= POOL_MAX_NAME);
	*ret = (struct pool_answer){ 0 };
	if (s && s->hold == POOL_HOLD_RESETTING) {
		ret->verdict = POOL_CLEANING;
		return;
	}
	if (s) {
		touch(pool, s, now);
		ret->verdict = POOL_READY;
		ret->slot = slot_number(pool, s);
		return;
	}
	t = queue_find(&pool->queue, principal);
	if (t)
		keep_place(pool, t, key, now, ret);
	else
		ask_anew(pool, key, principal, now, ret);
}

bool pool_position(struct pool *pool, const char *principal, usec now, struct pool_answer *ret)
{
	const struct ticket *t = queue_find(&pool->queue, principal);

	if (!t)
		return false;
	*ret = (struct pool_answer){ 0 };
	answer_place(pool, t, now, ret);
	return true;
}

static int find(const struct pool *pool, const char *key, struct slot **ret, struct err *err)
{
	struct slot *s = slot_of_key(pool, key);

	if (!s)
		return err_set(err, ERR_NOT_FOUND, "there is no sandbox %s (any more)", key);
	*ret = s;
	return 0;
}

int pool_find(const struct pool *pool, const char *key, struct pool_holder *ret, struct err *err)
{
	struct slot *s;

	if (find(pool, key, &s, err) < 0)
		return -1;
	*ret = slot_holder(pool, s);
	return 0;
}

/* ---- using ---- */

int pool_begin_use(struct pool *pool, const char *key, usec now, struct pool_use *ret,
		   struct err *err)
{
	struct slot *s;

	if (find(pool, key, &s, err) < 0)
		return -1;
	if (s->hold == POOL_HOLD_RESETTING)
		return err_set(err, ERR_BUSY, "sandbox %s is being reset", key);
	touch(pool, s, now);
	s->uses++;
	*ret = (struct pool_use){ slot_number(pool, s), s->era };
	return 0;
}

void pool_end_use(struct pool *pool, struct pool_use use, usec now)
{
	struct slot *s = &pool->slots[use.slot];

	assert(use.slot < pool->config.slots);
	if (s->era != use.era)
		return;
	assert(s->uses > 0);
	s->uses--;
	s->last_used = now;
	s->is_touched = true;
}

void pool_touch(struct pool *pool, const char *key, usec now)
{
	struct slot *s = slot_of_key(pool, key);

	if (s && s->hold != POOL_HOLD_RESETTING)
		touch(pool, s, now);
}

/* ---- giving back ---- */

int pool_release(struct pool *pool, const char *key, usec now, struct err *err)
{
	struct slot *s;

	if (find(pool, key, &s, err) < 0)
		return -1;
	return flow_release(pool, s, POOL_NOTE_NONE, now, err);
}

int pool_reset(struct pool *pool, const char *key, usec now, struct err *err)
{
	struct slot *s;

	if (find(pool, key, &s, err) < 0)
		return -1;
	if (s->hold == POOL_HOLD_RESETTING)
		return err_set(err, ERR_BUSY, "sandbox %s is being reset", key);
	return flow_reset(pool, s, now, err);
}

/* ---- the queue ---- */

int pool_ticket_set_mail(struct pool *pool, const char *principal, bool has_mail, usec now,
			 struct err *err)
{
	struct ticket *t = queue_find(&pool->queue, principal);
	struct pool_ticket saved;

	if (!t)
		return err_set(err, ERR_NOT_FOUND, "not in the queue (any more)");
	saved = (struct pool_ticket){ t->order, t->key, t->principal, has_mail };
	if (pool->hooks.save_ticket(pool->hooks.userdata, &saved, err) < 0)
		return -1;
	t->has_mail = has_mail;
	t->last_call = now;
	return 0;
}

void pool_ticket_drop(struct pool *pool, const char *principal, usec now)
{
	struct ticket *t = queue_find(&pool->queue, principal);
	struct err err;

	if (!t)
		return;
	/* Unsaved, the place comes back with a restart, and lapses. */
	(void)pool->hooks.save_no_ticket(pool->hooks.userdata, t->order, &err);
	queue_remove(&pool->queue, t);
	pool->hooks.queue_moved(pool->hooks.userdata);
	flow_serve_queue(pool, now);
}

void pool_drain(struct pool *pool)
{
	pool->is_draining = true;
}

void pool_resume(struct pool *pool, usec now)
{
	pool->is_draining = false;
	flow_serve_queue(pool, now);
}
