/* SPDX-License-Identifier: Apache-2.0 */
/* Telling: notes, statistics, single slots, what to warm. */
#include "pool/pool_internal.h"

#include <assert.h>

/* The curve costs up to a few milliseconds with thousands of slots; it changes slowly. */
#define CURVE_AGE (5 * USEC_PER_SEC)

static void build_curve(struct pool *pool, usec now)
{
	estimate_begin(&pool->estimate);
	for (uint32_t i = 0; i < pool->config.slots; i++) {
		const struct slot *s = &pool->slots[i];

		if (s->state == POOL_SLOT_HELD)
			estimate_add_held(&pool->estimate, now - s->granted_at,
					  s->uses ? 0 : now - s->last_used);
		else if (s->state == POOL_SLOT_EMPTYING)
			estimate_add_emptying(&pool->estimate);
	}
	estimate_finish(&pool->estimate);
	pool->has_curve = true;
	pool->curve_at = now;
}

usec view_wait(struct pool *pool, size_t position, usec now)
{
	if (pool->is_draining)
		return USEC_INFINITY;
	if (!pool->has_curve || now - pool->curve_at >= CURVE_AGE)
		build_curve(pool, now);
	return estimate_wait(&pool->estimate, position);
}

enum pool_note pool_take_note(struct pool *pool, const char *key)
{
	return notes_take(&pool->notes, key);
}

void pool_take_touched(struct pool *pool, void (*fn)(void *userdata, const char *key),
		       void *userdata)
{
	for (uint32_t i = 0; i < pool->config.slots; i++) {
		struct slot *s = &pool->slots[i];

		if (!s->is_touched)
			continue;
		s->is_touched = false;
		fn(userdata, s->key);
	}
}

void pool_set_warm(struct pool *pool, uint32_t slot, bool is_warm)
{
	assert(slot < pool->config.slots);
	if (pool->slots[slot].state == POOL_SLOT_FREE)
		pool->slots[slot].is_warm = is_warm;
}

bool pool_find_cold(const struct pool *pool, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < pool->config.slots; i++)
		if (pool->slots[i].state == POOL_SLOT_FREE && !pool->slots[i].is_warm) {
			*ret_slot = i;
			return true;
		}
	return false;
}

void pool_get_slot(const struct pool *pool, uint32_t slot, struct pool_slot_view *ret)
{
	const struct slot *s = &pool->slots[slot];

	assert(slot < pool->config.slots);
	*ret = (struct pool_slot_view){
		.state = s->state,
		.holder = slot_holder(pool, s),
		.uses = s->uses,
		.since = s->since,
		.last_used = s->last_used,
		.retry_at = s->retry_at,
	};
}

void pool_each_place(const struct pool *pool, uint32_t max, usec now,
		     void (*fn)(void *userdata, const struct pool_place *place), void *userdata)
{
	for (size_t i = 0; i < pool->queue.n && i < max; i++) {
		const struct ticket *t = pool->queue.tickets[i];
		const struct pool_place place = { (uint32_t)i + 1, t->principal, t->has_mail,
						  now - t->last_call };

		fn(userdata, &place);
	}
}

void pool_get_stats(struct pool *pool, usec now, struct pool_stats *ret)
{
	struct pool_stats stats = pool->total;

	stats.slots = pool->config.slots;
	stats.free = pool->count[POOL_SLOT_FREE];
	stats.held = pool->count[POOL_SLOT_HELD];
	stats.emptying = pool->count[POOL_SLOT_EMPTYING];
	stats.set_aside = pool->count[POOL_SLOT_SET_ASIDE];
	stats.queue_length = (uint32_t)pool->queue.n;
	stats.queue_max = pool->config.queue_max;
	stats.draining = pool->is_draining;
	for (uint32_t i = 0; i < pool->config.slots; i++) {
		const struct slot *s = &pool->slots[i];

		stats.warm += s->is_warm;
		if (s->state != POOL_SLOT_HELD)
			continue;
		stats.unclaimed += s->hold == POOL_HOLD_UNCLAIMED;
		stats.resetting += s->hold == POOL_HOLD_RESETTING;
		stats.in_use += s->uses > 0;
	}
	if (stats.draining || (!pool->config.empty_when_idle && !stats.free))
		stats.newcomer_wait = USEC_INFINITY;
	else if (stats.free && !stats.queue_length)
		stats.newcomer_wait = 0;
	else
		stats.newcomer_wait = view_wait(pool, pool->queue.n + 1, now);
	*ret = stats;
}

const char *pool_slot_state_name(enum pool_slot_state state)
{
	static const char *const names[] = {
		[POOL_SLOT_FREE] = "free",
		[POOL_SLOT_HELD] = "held",
		[POOL_SLOT_EMPTYING] = "emptying",
		[POOL_SLOT_SET_ASIDE] = "set aside",
	};
	_Static_assert(ARRAY_SIZE(names) == POOL_NUM_SLOT_STATES, "a slot state has no name");

	return names[state];
}
