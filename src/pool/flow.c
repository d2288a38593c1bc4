/* SPDX-License-Identifier: Apache-2.0 */
/* How slots change hands: each change is saved first, then made, then acted on. */
#include "pool/pool_internal.h"

#include <assert.h>

/* After something could not be saved (a full disk, most likely). */
#define STORE_PAUSE (5 * USEC_PER_SEC)

/* Row: from. Bit: to. Anything else is a bug, whoever asks. */
static const uint8_t may_go[POOL_NUM_SLOT_STATES] = {
	[POOL_SLOT_FREE] =
		1U << POOL_SLOT_HELD | 1U << POOL_SLOT_SET_ASIDE, /* the latter at start */
	[POOL_SLOT_HELD] = 1U << POOL_SLOT_EMPTYING | 1U << POOL_SLOT_SET_ASIDE,
	[POOL_SLOT_EMPTYING] = 1U << POOL_SLOT_FREE | 1U << POOL_SLOT_SET_ASIDE,
	[POOL_SLOT_SET_ASIDE] = 1U << POOL_SLOT_EMPTYING,
};

static void slot_go(struct pool *pool, struct slot *s, enum pool_slot_state to, usec now)
{
	assert(may_go[s->state] & 1U << to);
	pool->count[s->state]--;
	pool->count[to]++;
	s->state = to;
	s->since = now;
	s->era++;
	s->uses = 0;
	s->is_warm = false;
	s->is_touched = false;
}

struct slot *flow_free_slot(const struct pool *pool)
{
	struct slot *cold = NULL;

	if (pool->count[POOL_SLOT_FREE] == 0)
		return NULL;
	for (uint32_t i = 0; i < pool->config.slots; i++) {
		struct slot *s = &pool->slots[i];

		if (s->state != POOL_SLOT_FREE)
			continue;
		if (s->is_warm)
			return s;
		if (!cold)
			cold = s;
	}
	return cold;
}

/* The key's name and index; undone by forget_key(). */
static int remember_key(struct pool *pool, struct slot *s, const char *key, const char *principal,
			struct err *err)
{
	s->key = view_dup(view_str(key));
	s->principal = view_dup(view_str(principal));
	if (s->key && s->principal && map_put(pool->by_key, view_str(key), s, NULL) == 0)
		return 0;
	free(take_ptr(s->key));
	free(take_ptr(s->principal));
	return err_sys(err, ENOMEM, "grant a slot");
}

static void forget_key(struct pool *pool, struct slot *s)
{
	(void)map_remove(pool->by_key, view_str(s->key));
	free(take_ptr(s->key));
	free(take_ptr(s->principal));
}

static void hold(struct pool *pool, struct slot *s, enum pool_hold how, usec now)
{
	slot_go(pool, s, POOL_SLOT_HELD, now);
	s->hold = how;
	s->granted_at = now;
	s->last_used = now;
	s->retry_at = USEC_INFINITY;
}

int flow_grant(struct pool *pool, struct slot *s, const char *key, const char *principal,
	       struct ticket *t, usec now, struct err *err)
{
	struct pool_holder holder;

	assert(s->state == POOL_SLOT_FREE && !slot_of_key(pool, key));
	if (remember_key(pool, s, key, principal, err) < 0)
		return -1;
	holder = slot_holder(pool, s);
	holder.hold = t ? POOL_HOLD_UNCLAIMED : POOL_HOLD_USED;
	if (pool->hooks.save_holder(pool->hooks.userdata, &holder, t ? t->order : 0, err) < 0) {
		forget_key(pool, s);
		return -1;
	}
	hold(pool, s, holder.hold, now);
	s->is_touched = true;
	pool->total.granted++;
	if (t) {
		queue_remove(&pool->queue, t); /* key and principal may have been its own */
		pool->total.granted_from_queue++;
		estimate_saw_ticket(&pool->estimate, ESTIMATE_GRANTED);
	}
	return 0;
}

int flow_restore(struct pool *pool, struct slot *s, const struct pool_holder *holder, usec now,
		 struct err *err)
{
	if (remember_key(pool, s, holder->key, holder->principal, err) < 0)
		return -1;
	hold(pool, s, holder->hold, now);
	if (holder->hold == POOL_HOLD_RESETTING)
		s->retry_at = now;
	return 0;
}

/* What every way out of a key's hands has in common; the key's strings stay until the end. */
static int leave(struct pool *pool, struct slot *s, enum pool_note note, usec now, struct err *err)
{
	struct pool_holder holder = slot_holder(pool, s);

	if (pool->hooks.save_release(pool->hooks.userdata, &holder, err) < 0)
		return -1;
	estimate_saw_holding(&pool->estimate, now - s->granted_at);
	if (note != POOL_NOTE_NONE)
		notes_put(&pool->notes, s->key, note);
	pool->total.released++;
	return 0;
}

int flow_release(struct pool *pool, struct slot *s, enum pool_note note, usec now, struct err *err)
{
	bool is_emptying = s->hold == POOL_HOLD_RESETTING && s->retry_at == USEC_INFINITY;

	if (leave(pool, s, note, now, err) < 0)
		return -1;
	slot_go(pool, s, POOL_SLOT_EMPTYING, now);
	if (!is_emptying)
		pool->hooks.empty(pool->hooks.userdata, slot_number(pool, s), NULL);
	forget_key(pool, s);
	return 0;
}

int flow_reset(struct pool *pool, struct slot *s, usec now, struct err *err)
{
	struct pool_holder holder = slot_holder(pool, s);

	holder.hold = POOL_HOLD_RESETTING;
	if (pool->hooks.save_holder(pool->hooks.userdata, &holder, 0, err) < 0)
		return -1;
	s->hold = POOL_HOLD_RESETTING;
	s->since = now;
	s->retry_at = USEC_INFINITY;
	s->era++;
	s->uses = 0;
	pool->hooks.empty(pool->hooks.userdata, holder.slot, s->key);
	return 0;
}

static usec pause_after(const struct pool *pool, uint32_t failures)
{
	usec pause = pool->config.retry_min;

	while (--failures && pause < pool->config.retry_max)
		pause *= 2;
	return pause < pool->config.retry_max ? pause : pool->config.retry_max;
}

void flow_set_aside(struct pool *pool, struct slot *s, usec now)
{
	slot_go(pool, s, POOL_SLOT_SET_ASIDE, now);
	s->failures++;
	s->retry_at = now + pause_after(pool, s->failures);
}

void flow_serve_queue(struct pool *pool, usec now)
{
	bool has_moved = false;
	struct ticket *t;
	struct slot *s;
	struct err err;

	while (!pool->is_draining && (t = queue_front(&pool->queue)) &&
	       (s = flow_free_slot(pool))) {
		struct pool_holder holder;

		if (flow_grant(pool, s, t->key, t->principal, t, now, &err) < 0) {
			pool->retry_at = now + STORE_PAUSE;
			break;
		}
		notes_put(&pool->notes, s->key, POOL_NOTE_READY);
		holder = slot_holder(pool, s);
		pool->hooks.granted(pool->hooks.userdata, &holder);
		has_moved = true;
	}
	if (has_moved)
		pool->hooks.queue_moved(pool->hooks.userdata);
}

/* ---- the answer to `empty` ---- */

static void slot_is_clean(struct pool *pool, struct slot *s, usec now)
{
	struct err err;

	if (pool->hooks.save_clean(pool->hooks.userdata, slot_number(pool, s), &err) < 0) {
		/* Clean, but a restart would not know: once more, later. */
		flow_set_aside(pool, s, now);
		return;
	}
	s->failures = 0;
	pool->total.emptied++;
	estimate_saw_emptying(&pool->estimate, now - s->since);
	slot_go(pool, s, POOL_SLOT_FREE, now);
	flow_serve_queue(pool, now);
}

static void reset_is_done(struct pool *pool, struct slot *s, usec now)
{
	struct pool_holder holder = slot_holder(pool, s);
	struct err err;

	holder.hold = POOL_HOLD_USED;
	if (pool->hooks.save_holder(pool->hooks.userdata, &holder, 0, &err) < 0) {
		/* Not USED before that is saved: a restart would empty what its key wrote. */
		s->retry_at = now + STORE_PAUSE;
		return;
	}
	s->hold = POOL_HOLD_USED;
	s->since = now;
	s->last_used = now;
	s->failures = 0;
	pool->total.emptied++;
	pool->hooks.granted(pool->hooks.userdata, &holder);
}

/* A key whose slot cannot be emptied for it: another slot, else in front of all who wait. */
static void move_elsewhere(struct pool *pool, const char *key, const char *principal, usec now)
{
	struct slot *s = flow_free_slot(pool);
	struct pool_ticket saved = { .key = key, .principal = principal };
	struct ticket *t = queue_find(&pool->queue, principal);
	struct pool_holder holder;
	struct err err;

	if (s) {
		if (flow_grant(pool, s, key, principal, NULL, now, &err) < 0)
			return;
		holder = slot_holder(pool, s);
		pool->hooks.granted(pool->hooks.userdata, &holder);
		return;
	}
	if (!pool->config.empty_when_idle)
		return;
	if (t) {
		if (pool->hooks.save_no_ticket(pool->hooks.userdata, t->order, &err) < 0)
			return;
		queue_remove(&pool->queue, t);
	}
	saved.order = queue_order_first(&pool->queue);
	if (pool->hooks.save_ticket(pool->hooks.userdata, &saved, &err) < 0)
		return;
	if (queue_add(&pool->queue, saved.order, key, principal, &t) == 0)
		t->last_call = now;
	else
		(void)pool->hooks.save_no_ticket(pool->hooks.userdata, saved.order, &err);
	pool->hooks.queue_moved(pool->hooks.userdata);
}

static void reset_has_failed(struct pool *pool, struct slot *s, usec now)
{
	auto_free char *key = NULL;
	auto_free char *principal = NULL;
	struct err err;

	if (leave(pool, s, POOL_NOTE_MOVED, now, &err) < 0) {
		s->retry_at = now + STORE_PAUSE;
		return;
	}
	(void)map_remove(pool->by_key, view_str(s->key));
	key = take_ptr(s->key);
	principal = take_ptr(s->principal);
	flow_set_aside(pool, s, now);
	move_elsewhere(pool, key, principal, now);
}

void pool_slot_emptied(struct pool *pool, uint32_t slot, enum pool_emptied result, usec now)
{
	struct slot *s = &pool->slots[slot];
	bool is_reset;

	assert(slot < pool->config.slots);
	is_reset = s->state == POOL_SLOT_HELD && s->hold == POOL_HOLD_RESETTING;
	assert(s->state == POOL_SLOT_EMPTYING || (is_reset && s->retry_at == USEC_INFINITY));
	if (result == POOL_NOT_EMPTY)
		pool->total.empty_failed++;
	if (is_reset && result == POOL_EMPTY)
		reset_is_done(pool, s, now);
	else if (is_reset)
		reset_has_failed(pool, s, now);
	else if (result == POOL_EMPTY)
		slot_is_clean(pool, s, now);
	else
		flow_set_aside(pool, s, now);
}

/* ---- time ---- */

static usec slot_deadline(const struct pool *pool, const struct slot *s)
{
	if (s->state == POOL_SLOT_SET_ASIDE)
		return s->retry_at;
	if (s->state != POOL_SLOT_HELD)
		return USEC_INFINITY;
	if (s->hold == POOL_HOLD_RESETTING)
		return s->retry_at;
	if (!pool->config.empty_when_idle || s->uses)
		return USEC_INFINITY;
	if (s->hold == POOL_HOLD_UNCLAIMED)
		return s->since + pool->config.claim_time;
	return s->last_used + pool->config.idle;
}

static usec ticket_deadline(const struct pool *pool, const struct ticket *t)
{
	return t->last_call +
	       (t->has_mail ? pool->config.queue_patience_mail : pool->config.queue_patience);
}

/* Its key was away for too long. */
static void expire(struct pool *pool, struct slot *s, usec now)
{
	bool was_used = s->hold == POOL_HOLD_USED;
	struct err err;

	if (flow_release(pool, s, was_used ? POOL_NOTE_IDLE : POOL_NOTE_UNCLAIMED, now, &err) < 0) {
		pool->retry_at = now + STORE_PAUSE;
		return;
	}
	if (was_used) {
		estimate_saw_idle_end(&pool->estimate);
		pool->total.idle_emptied++;
	} else {
		pool->total.unclaimed_expired++;
	}
}

static void slot_due(struct pool *pool, struct slot *s, usec now)
{
	if (s->state == POOL_SLOT_SET_ASIDE) {
		slot_go(pool, s, POOL_SLOT_EMPTYING, now);
		pool->hooks.empty(pool->hooks.userdata, slot_number(pool, s), NULL);
	} else if (s->hold == POOL_HOLD_RESETTING) {
		s->retry_at = USEC_INFINITY;
		pool->hooks.empty(pool->hooks.userdata, slot_number(pool, s), s->key);
	} else {
		expire(pool, s, now);
	}
}

static bool lapse(struct pool *pool, struct ticket *t, usec now)
{
	struct pool_ticket gone = { t->order, t->key, t->principal, t->has_mail };
	struct err err;

	if (pool->hooks.save_no_ticket(pool->hooks.userdata, t->order, &err) < 0) {
		pool->retry_at = now + STORE_PAUSE;
		return false;
	}
	notes_put(&pool->notes, t->key, POOL_NOTE_LAPSED);
	estimate_saw_ticket(&pool->estimate, ESTIMATE_LAPSED);
	pool->total.lapsed++;
	pool->hooks.lapsed(pool->hooks.userdata, &gone);
	queue_remove(&pool->queue, t);
	return true;
}

void pool_tick(struct pool *pool, usec now)
{
	bool has_moved = false;

	if (pool->retry_at != USEC_INFINITY && pool->retry_at > now)
		return;
	pool->retry_at = USEC_INFINITY;
	for (uint32_t i = 0; i < pool->config.slots; i++)
		if (slot_deadline(pool, &pool->slots[i]) <= now)
			slot_due(pool, &pool->slots[i], now);
	for (size_t i = 0; i < pool->queue.n;)
		if (ticket_deadline(pool, pool->queue.tickets[i]) <= now &&
		    lapse(pool, pool->queue.tickets[i], now))
			has_moved = true;
		else
			i++;
	if (has_moved)
		pool->hooks.queue_moved(pool->hooks.userdata);
	flow_serve_queue(pool, now);
}

usec pool_next_deadline(const struct pool *pool)
{
	usec next = USEC_INFINITY;

	/* Nothing before the pause is over, or the loop would spin on what cannot be saved. */
	if (pool->retry_at != USEC_INFINITY)
		return pool->retry_at;
	for (uint32_t i = 0; i < pool->config.slots; i++) {
		usec at = slot_deadline(pool, &pool->slots[i]);

		if (at < next)
			next = at;
	}
	for (size_t i = 0; i < pool->queue.n; i++) {
		usec at = ticket_deadline(pool, pool->queue.tickets[i]);

		if (at < next)
			next = at;
	}
	return next;
}
