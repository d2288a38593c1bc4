/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a small pool against a model of its own: what was saved ("disk"), which slots
 * are really clean, who arrived when. Includes restarts from the disk at any moment and a disk that
 * fails.
 */
#include "pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum {
	MAX_SLOTS = 5,
	PRINCIPALS = 12,
	LABELS = 2,
	STEPS = 2500,
	HISTORIES = 25,
	KEYS = PRINCIPALS * LABELS,
};

#define S USEC_PER_SEC

/* What the pool is told about a key, and what it did with it. */
struct key_model {
	int slot; /* -1: none */
	enum pool_hold hold;
	struct pool_use use[3];
	unsigned uses;
	usec last_used, granted_at;
};

struct model {
	uint64_t random;
	usec now;
	struct pool_config config;
	struct pool *pool;
	bool disk_fails, draining, resetting_failed, ticking;

	/* the truth about slots */
	bool clean[MAX_SLOTS];
	bool emptying[MAX_SLOTS]; /* asked for, not answered */

	/* the disk */
	int owner[MAX_SLOTS]; /* key, -1: none */
	bool dirty[MAX_SLOTS];
	uint64_t order[PRINCIPALS]; /* 0: no ticket */
	int ticket_key[PRINCIPALS];
	bool has_mail[PRINCIPALS];

	struct key_model keys[KEYS];
	struct pool_use stale[8]; /* uses that outlived their sandbox */
	unsigned n_stale;
	int line[PRINCIPALS]; /* who waits, in the order of arrival as the test saw it */
	unsigned in_line;
	usec last_call[PRINCIPALS];
	unsigned actions; /* hooks that ran */
	unsigned places_seen;
	unsigned grants, lapses, restarts, failures;
};

static uint32_t dice(struct model *m, uint32_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (uint32_t)(m->random % n);
}

static char *key_name(int key, char out[16])
{
	(void)snprintf(out, 16, "p%d-%d", key / LABELS, key % LABELS);
	return out;
}

static char *principal_name(int principal, char out[16])
{
	(void)snprintf(out, 16, "p%d", principal);
	return out;
}

static int key_number(const char *name)
{
	char buf[16];

	for (int i = 0; i < KEYS; i++)
		if (!strcmp(key_name(i, buf), name))
			return i;
	fail_msg("unknown key %s", name);
	return -1;
}

static int principal_number(const char *name)
{
	char buf[16];

	for (int i = 0; i < PRINCIPALS; i++)
		if (!strcmp(principal_name(i, buf), name))
			return i;
	fail_msg("unknown principal %s", name);
	return -1;
}

static void leave_line(struct model *m, int principal)
{
	for (unsigned i = 0; i < m->in_line; i++)
		if (m->line[i] == principal) {
			m->in_line--;
			for (; i < m->in_line; i++)
				m->line[i] = m->line[i + 1];
			return;
		}
	fail_msg("p%d does not wait", principal);
}

static int disk(struct model *m, struct err *err)
{
	if (!m->disk_fails)
		return 0;
	m->failures++;
	return err_set(err, ERR_SYSTEM, "the disk is full");
}

static void lose_uses(struct model *m, struct key_model *k)
{
	while (k->uses) {
		k->uses--;
		if (m->n_stale < ARRAY_SIZE(m->stale))
			m->stale[m->n_stale++] = k->use[k->uses];
	}
}

/* ---- hooks ---- */

static void check_new_grant(struct model *m, const struct pool_holder *h, int key, uint64_t ticket)
{
	assert_int_equal(m->owner[h->slot], -1);
	assert_true(m->clean[h->slot]);
	assert_false(m->dirty[h->slot]);
	assert_int_equal(m->keys[key].slot, -1);
	if (ticket) {
		assert_true(m->in_line > 0);
		assert_int_equal(m->line[0], key / LABELS); /* the front, nobody else */
		assert_true(m->order[key / LABELS] == ticket);
		assert_int_equal(h->hold, POOL_HOLD_UNCLAIMED);
		assert_false(m->draining);
	} else if (!m->resetting_failed) {
		assert_int_equal(m->in_line, 0); /* nobody overtakes */
	}
}

static int save_holder(void *userdata, const struct pool_holder *h, uint64_t ticket,
		       struct err *err)
{
	struct model *m = userdata;
	int key = key_number(h->key);
	struct key_model *k = &m->keys[key];

	m->actions++;
	assert_int_equal(principal_number(h->principal), key / LABELS);
	if (disk(m, err) < 0)
		return -1;
	if (k->slot < 0) {
		check_new_grant(m, h, key, ticket);
		k->granted_at = m->now;
		k->last_used = m->now;
		m->grants++;
	} else {
		assert_int_equal(k->slot, h->slot);
		assert_int_equal(m->owner[h->slot], key);
		assert_true(ticket == 0);
	}
	m->owner[h->slot] = key;
	k->slot = (int)h->slot;
	k->hold = h->hold;
	if (ticket) {
		m->order[key / LABELS] = 0;
		leave_line(m, key / LABELS);
	}
	return 0;
}

static int save_release(void *userdata, const struct pool_holder *h, struct err *err)
{
	struct model *m = userdata;
	int key = key_number(h->key);
	struct key_model *k = &m->keys[key];

	m->actions++;
	if (disk(m, err) < 0)
		return -1;
	assert_int_equal(m->owner[h->slot], key);
	if (m->ticking) {
		assert_int_equal(k->uses, 0); /* in use it is never idle */
		assert_true(k->hold == POOL_HOLD_UNCLAIMED
				    ? k->granted_at + m->config.claim_time <= m->now
				    : k->last_used + m->config.idle <= m->now);
	}
	m->owner[h->slot] = -1;
	m->dirty[h->slot] = true;
	m->clean[h->slot] = false;
	k->slot = -1;
	lose_uses(m, k);
	return 0;
}

static int save_clean(void *userdata, uint32_t slot, struct err *err)
{
	struct model *m = userdata;

	m->actions++;
	if (disk(m, err) < 0)
		return -1;
	assert_true(m->clean[slot]);
	assert_int_equal(m->owner[slot], -1);
	m->dirty[slot] = false;
	return 0;
}

static int save_ticket(void *userdata, const struct pool_ticket *t, struct err *err)
{
	struct model *m = userdata;
	int principal = principal_number(t->principal);

	m->actions++;
	if (disk(m, err) < 0)
		return -1;
	assert_true(t->order != 0);
	for (int i = 0; i < PRINCIPALS; i++)
		assert_true(i == principal || m->order[i] != t->order);
	if (m->order[principal] == 0 && !m->resetting_failed) {
		m->line[m->in_line++] = principal;
	} else if (m->order[principal] == 0) {
		for (unsigned i = m->in_line++; i > 0; i--)
			m->line[i] = m->line[i - 1];
		m->line[0] = principal;
	}
	m->order[principal] = t->order;
	m->ticket_key[principal] = key_number(t->key);
	m->has_mail[principal] = t->has_mail;
	m->last_call[principal] = m->now;
	return 0;
}

static int save_no_ticket(void *userdata, uint64_t order, struct err *err)
{
	struct model *m = userdata;

	m->actions++;
	if (disk(m, err) < 0)
		return -1;
	for (int i = 0; i < PRINCIPALS; i++)
		if (m->order[i] == order) {
			m->order[i] = 0;
			leave_line(m, i);
			return 0;
		}
	fail_msg("no such ticket");
	return -1;
}

static void on_empty(void *userdata, uint32_t slot, const char *key)
{
	struct model *m = userdata;

	(void)key;
	m->actions++;
	assert_false(m->emptying[slot]); /* asked for once */
	assert_true(m->owner[slot] < 0 || m->keys[m->owner[slot]].hold == POOL_HOLD_RESETTING);
	m->emptying[slot] = true;
	m->clean[slot] = false;
}

static void on_granted(void *userdata, const struct pool_holder *h)
{
	struct model *m = userdata;

	m->actions++;
	assert_int_equal(m->owner[h->slot], key_number(h->key));
}

static void on_lapsed(void *userdata, const struct pool_ticket *t)
{
	struct model *m = userdata;
	int principal = principal_number(t->principal);
	usec patience = t->has_mail ? m->config.queue_patience_mail : m->config.queue_patience;

	m->actions++;
	m->lapses++;
	assert_true(m->last_call[principal] + patience <= m->now);
}

static void on_moved(void *userdata)
{
	((struct model *)userdata)->actions++;
}

/* ---- what must hold at any time ---- */

static void check_place(void *userdata, const struct pool_place *place)
{
	struct model *m = userdata;
	int principal = principal_number(place->principal);

	assert_int_equal(m->line[place->position - 1], principal);
	assert_int_equal(m->has_mail[principal], place->has_mail);
	assert_true(place->quiet <= m->now - m->last_call[principal]);
	m->places_seen++;
}

static void check(struct model *m)
{
	struct pool_stats stats;
	struct pool_answer place;
	char name[16];
	uint64_t last = 0;

	pool_get_stats(m->pool, m->now, &stats);
	assert_int_equal(stats.free + stats.held + stats.emptying + stats.set_aside,
			 m->config.slots);
	assert_int_equal(stats.queue_length, m->in_line);
	if (stats.free && !m->draining && m->failures == 0)
		assert_int_equal(stats.queue_length, 0); /* no slot waits for a ticket */
	for (unsigned i = 0; i < m->in_line; i++) {
		assert_true(
			pool_position(m->pool, principal_name(m->line[i], name), m->now, &place));
		assert_int_equal(place.position, i + 1);
		assert_int_equal(place.length, m->in_line);
		assert_true(m->order[m->line[i]] > last); /* the stored order is the same */
		last = m->order[m->line[i]];
	}
	m->places_seen = 0;
	pool_each_place(m->pool, m->in_line, m->now, check_place, m);
	assert_int_equal(m->places_seen, m->in_line);
	pool_each_place(m->pool, 1, m->now, check_place, m);
	assert_int_equal(m->places_seen, m->in_line + (m->in_line > 0));
	for (uint32_t i = 0; i < m->config.slots; i++) {
		struct pool_slot_view v;

		pool_get_slot(m->pool, i, &v);
		assert_int_equal(v.state == POOL_SLOT_HELD, m->owner[i] >= 0);
		if (v.state == POOL_SLOT_HELD)
			assert_int_equal(key_number(v.holder.key), m->owner[i]);
		if (v.state == POOL_SLOT_FREE) {
			assert_true(m->clean[i]);
			assert_false(m->dirty[i]);
		}
		if (v.state == POOL_SLOT_EMPTYING)
			assert_true(m->emptying[i]);
	}
}

/* After a tick nothing that is due is left. */
static void check_nothing_due(struct model *m)
{
	if (m->failures)
		return;
	assert_true(pool_next_deadline(m->pool) > m->now);
	for (int i = 0; i < PRINCIPALS; i++)
		if (m->order[i])
			assert_true(m->last_call[i] + (m->has_mail[i]
							       ? m->config.queue_patience_mail
							       : m->config.queue_patience) >
				    m->now);
	for (int i = 0; i < KEYS; i++) {
		const struct key_model *k = &m->keys[i];

		if (k->slot < 0 || k->uses || k->hold == POOL_HOLD_RESETTING)
			continue;
		if (k->hold == POOL_HOLD_UNCLAIMED)
			assert_true(k->granted_at + m->config.claim_time > m->now);
		else
			assert_true(k->last_used + m->config.idle > m->now);
	}
}

/* ---- what can happen ---- */

static void do_request(struct model *m)
{
	int key = (int)dice(m, KEYS), principal = key / LABELS;
	bool had = m->keys[key].slot >= 0, waited = m->order[principal] != 0;
	char name[16], owner[16];
	struct pool_answer a;

	pool_request(m->pool, key_name(key, name), principal_name(principal, owner), m->now, &a);
	switch (a.verdict) {
	case POOL_READY:
		assert_int_equal(m->keys[key].slot, a.slot);
		assert_int_equal(a.is_new, !had);
		m->keys[key].hold = POOL_HOLD_USED;
		m->keys[key].last_used = m->now;
		break;
	case POOL_CLEANING:
		assert_int_equal(m->keys[key].hold, POOL_HOLD_RESETTING);
		break;
	case POOL_QUEUED:
		assert_int_equal(m->ticket_key[principal], key);
		m->last_call[principal] = m->now;
		break;
	case POOL_REFUSED:
		assert_true(a.err.msg[0]);
		if (a.reason == POOL_REFUSED_DRAINING)
			assert_true(m->draining && !waited);
		if (a.reason == POOL_REFUSED_QUEUE_FULL)
			assert_true(m->in_line >= m->config.queue_max); /* moved ones on top */
		if (a.reason == POOL_REFUSED_STORE)
			assert_true(m->disk_fails);
		break;
	}
}

static void do_use(struct model *m)
{
	struct key_model *k = &m->keys[dice(m, KEYS)];
	char name[16];
	struct err err;

	if (m->n_stale && dice(m, 4) == 0)
		pool_end_use(m->pool, m->stale[--m->n_stale], m->now);
	if (k->uses && dice(m, 2)) {
		pool_end_use(m->pool, k->use[--k->uses], m->now);
		if (k->slot >= 0)
			k->last_used = m->now;
		return;
	}
	if (k->uses == ARRAY_SIZE(k->use))
		return;
	if (pool_begin_use(m->pool, key_name((int)(k - m->keys), name), m->now, &k->use[k->uses],
			   &err) == 0) {
		assert_true(k->slot >= 0);
		k->hold = POOL_HOLD_USED;
		k->last_used = m->now;
		k->uses++;
	} else {
		assert_true(k->slot < 0 || k->hold == POOL_HOLD_RESETTING);
	}
}

static void do_time(struct model *m)
{
	usec next = pool_next_deadline(m->pool);

	m->ticking = true;
	if (m->failures == 0 && next != USEC_INFINITY && next > m->now + 1 && dice(m, 2)) {
		unsigned before = m->actions;

		m->now = next - 1;
		pool_tick(m->pool, m->now);
		assert_int_equal(m->actions, before); /* nothing before the deadline */
		m->now = next;
	} else {
		m->now += dice(m, 40) * S;
	}
	pool_tick(m->pool, m->now);
	m->ticking = false;
	check_nothing_due(m);
}

static void do_emptied(struct model *m)
{
	uint32_t slot = dice(m, m->config.slots);
	bool ok = dice(m, 4) != 0;

	if (!m->emptying[slot])
		return;
	m->emptying[slot] = false;
	m->clean[slot] = ok;
	m->resetting_failed = !ok;
	pool_slot_emptied(m->pool, slot, ok ? POOL_EMPTY : POOL_NOT_EMPTY, m->now);
	m->resetting_failed = false;
	for (int i = 0; i < KEYS; i++)
		if (m->keys[i].slot == (int)slot && m->keys[i].hold == POOL_HOLD_USED && ok)
			m->keys[i].last_used = m->now;
}

static void do_give_back(struct model *m)
{
	int key = (int)dice(m, KEYS);
	char name[16];
	struct err err;
	int r;

	if (dice(m, 2)) {
		r = pool_release(m->pool, key_name(key, name), m->now, &err);
	} else {
		r = pool_reset(m->pool, key_name(key, name), m->now, &err);
		if (r == 0)
			lose_uses(m, &m->keys[key]);
	}
	(void)r;
}

static void do_queue(struct model *m)
{
	int principal = (int)dice(m, PRINCIPALS);
	char name[16];
	struct err err;

	if (dice(m, 3) == 0 && !m->disk_fails) {
		pool_ticket_drop(m->pool, principal_name(principal, name), m->now);
	} else if (pool_ticket_set_mail(m->pool, principal_name(principal, name), dice(m, 2),
					m->now, &err) == 0) {
		assert_true(m->order[principal] != 0);
	}
}

static void do_drain(struct model *m)
{
	m->draining = !m->draining;
	if (m->draining)
		pool_drain(m->pool);
	else
		pool_resume(m->pool, m->now);
}

static const struct pool_hooks hooks = {
	.save_holder = save_holder,
	.save_release = save_release,
	.save_clean = save_clean,
	.save_ticket = save_ticket,
	.save_no_ticket = save_no_ticket,
	.empty = on_empty,
	.granted = on_granted,
	.lapsed = on_lapsed,
	.queue_moved = on_moved,
};

static void make_pool(struct model *m)
{
	struct pool_hooks h = hooks;
	struct err err;

	h.userdata = m;
	assert_int_equal(pool_new(&m->config, &h, &m->pool, &err), 0);
}

static void restore_tickets(struct model *m)
{
	char name[16], owner[16];
	struct err err;

	for (int i = 0; i < PRINCIPALS; i++) {
		struct pool_ticket t = { m->order[i], key_name(m->ticket_key[i], name),
					 principal_name(i, owner), m->has_mail[i] };

		if (!m->order[i])
			continue;
		assert_int_equal(pool_restore_ticket(m->pool, &t, m->now, &err), 0);
		m->last_call[i] = m->now;
	}
}

/* The server dies at this very moment and starts anew with what is on the disk. */
static void do_restart(struct model *m)
{
	char name[16], owner[16];
	struct err err;

	pool_free(m->pool);
	m->restarts++;
	m->draining = false;
	m->disk_fails = false;
	m->failures = 0;
	m->n_stale = 0;
	memset(m->emptying, 0, sizeof(m->emptying));
	make_pool(m);
	restore_tickets(m);
	for (uint32_t i = 0; i < m->config.slots; i++) {
		int key = m->owner[i];
		struct pool_holder h = { .slot = i };

		if (m->dirty[i])
			pool_restore_dirty(m->pool, i, m->now);
		if (key < 0)
			continue;
		h.key = key_name(key, name);
		h.principal = principal_name(key / LABELS, owner);
		h.hold = m->keys[key].hold;
		assert_int_equal(pool_restore_holder(m->pool, &h, 0, m->now, &err), 0);
		m->keys[key].last_used = m->now;
		m->keys[key].granted_at = m->now;
		m->keys[key].uses = 0;
	}
	pool_tick(m->pool, m->now);
}

static void one_step(struct model *m)
{
	uint32_t what = dice(m, 100);

	if (what < 45)
		do_request(m);
	else if (what < 60)
		do_use(m);
	else if (what < 72)
		do_time(m);
	else if (what < 88)
		do_emptied(m);
	else if (what < 93)
		do_give_back(m);
	else if (what < 97)
		do_queue(m);
	else if (what < 98)
		do_drain(m);
	else if (what < 99)
		m->disk_fails = dice(m, 8) == 0;
	else if (dice(m, 3) == 0)
		do_restart(m);
}

static void run_history(uint64_t seed, bool disk_may_fail, struct model *m)
{
	*m = (struct model){ .random = seed * 0x9e3779b97f4a7c15u + 1, .now = 1000 * S };
	for (int i = 0; i < 10; i++)
		(void)dice(m, 2);
	m->config = (struct pool_config){
		.slots = 1 + dice(m, MAX_SLOTS),
		.per_principal = dice(m, 3),
		.empty_when_idle = true,
		.idle = 60 * S,
		.queue_patience = 120 * S,
		.queue_patience_mail = 400 * S,
		.claim_time = 30 * S,
		.queue_max = 3 + dice(m, PRINCIPALS),
		.retry_min = S,
		.retry_max = 30 * S,
	};
	for (int i = 0; i < MAX_SLOTS; i++) {
		m->owner[i] = -1;
		m->clean[i] = true;
	}
	for (int i = 0; i < KEYS; i++)
		m->keys[i].slot = -1;
	make_pool(m);
	for (int i = 0; i < STEPS; i++) {
		one_step(m);
		m->disk_fails = m->disk_fails && disk_may_fail;
		check(m);
	}
	pool_free(m->pool);
}

static void test_histories(void **state)
{
	unsigned grants = 0, lapses = 0, restarts = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
		struct model m;

		run_history(seed, false, &m);
		grants += m.grants;
		lapses += m.lapses;
		restarts += m.restarts;
	}
	/* The histories did go where they should. */
	assert_true(grants > HISTORIES * 50);
	assert_true(lapses > HISTORIES);
	assert_true(restarts > HISTORIES * 5);
}

static void test_histories_with_a_failing_disk(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (uint64_t seed = 1000; seed < 1000 + HISTORIES; seed++) {
		struct model m;

		run_history(seed, true, &m);
		failures += m.failures;
	}
	assert_true(failures > HISTORIES);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histories),
		cmocka_unit_test(test_histories_with_a_failing_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
