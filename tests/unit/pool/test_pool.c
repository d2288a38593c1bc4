/* SPDX-License-Identifier: Apache-2.0 */
/* The pool's promises one by one; what random histories hold together is in test_history.c. */
#include "pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define S USEC_PER_SEC

/* What the hooks were told, as one line. */
struct record {
	char text[4096];
	struct pool *pool;
};

static void PRINTF(2, 3) note(void *userdata, const char *fmt, ...)
{
	struct record *r = userdata;
	size_t len = strlen(r->text);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->text + len, sizeof(r->text) - len, fmt, ap);
	va_end(ap);
}

static int save_holder(void *u, const struct pool_holder *h, uint64_t ticket, struct err *err)
{
	(void)err;
	note(u, "hold(%s,%u,%d,%d) ", h->key, h->slot, (int)h->hold, ticket != 0);
	return 0;
}

static int save_release(void *u, const struct pool_holder *h, struct err *err)
{
	(void)err;
	note(u, "release(%s,%u) ", h->key, h->slot);
	return 0;
}

static int save_clean(void *u, uint32_t slot, struct err *err)
{
	(void)err;
	note(u, "clean(%u) ", slot);
	return 0;
}

static int save_ticket(void *u, const struct pool_ticket *t, struct err *err)
{
	(void)err;
	note(u, "ticket(%s,%s%s) ", t->key, t->principal, t->has_mail ? ",mail" : "");
	return 0;
}

static int save_no_ticket(void *u, uint64_t order, struct err *err)
{
	(void)err;
	note(u, "no_ticket(%d) ", order != 0);
	return 0;
}

static void on_empty(void *u, uint32_t slot, const char *key)
{
	note(u, "empty(%u,%s) ", slot, key ? key : "-");
}

static void on_granted(void *u, const struct pool_holder *h)
{
	note(u, "granted(%s,%u) ", h->key, h->slot);
}

static void on_lapsed(void *u, const struct pool_ticket *t)
{
	note(u, "lapsed(%s) ", t->key);
}

static void on_moved(void *u)
{
	note(u, "moved ");
}

static const struct pool_config public_config = {
	.slots = 1,
	.per_principal = 1,
	.empty_when_idle = true,
	.idle = 600 * S,
	.queue_patience = 1800 * S,
	.queue_patience_mail = 86400 * S,
	.claim_time = 300 * S,
	.queue_max = 3,
	.retry_min = 10 * S,
	.retry_max = 35 * S,
};

static void start(struct record *r, const struct pool_config *config)
{
	struct pool_hooks hooks = {
		save_holder, save_release, save_clean, save_ticket, save_no_ticket,
		on_empty,    on_granted,   on_lapsed,  on_moved,    r
	};
	struct err err;

	*r = (struct record){ 0 };
	assert_int_equal(pool_new(config, &hooks, &r->pool, &err), 0);
}

/* What was told since the last call of this. */
static void told(struct record *r, const char *want)
{
	assert_string_equal(r->text, want);
	r->text[0] = '\0';
}

static struct pool_answer ask(struct record *r, const char *key, usec now)
{
	struct pool_answer a;
	char principal[32];

	/* "a-1" belongs to "a" */
	(void)snprintf(principal, sizeof(principal), "%.*s", (int)strcspn(key, "-"), key);
	pool_request(r->pool, key, principal, now, &a);
	return a;
}

static void ready(struct record *r, const char *key, usec now, uint32_t slot, bool is_new)
{
	struct pool_answer a = ask(r, key, now);

	assert_int_equal(a.verdict, POOL_READY);
	assert_int_equal(a.slot, slot);
	assert_int_equal(a.is_new, is_new);
}

static void queued(struct record *r, const char *key, usec now, uint32_t position, uint32_t length)
{
	struct pool_answer a = ask(r, key, now);

	assert_int_equal(a.verdict, POOL_QUEUED);
	assert_int_equal(a.position, position);
	assert_int_equal(a.length, length);
}

static void refused(struct record *r, const char *key, usec now, enum pool_refusal reason,
		    const char *word)
{
	struct pool_answer a = ask(r, key, now);

	assert_int_equal(a.verdict, POOL_REFUSED);
	assert_int_equal(a.reason, reason);
	assert_non_null(strstr(a.err.msg, word));
}

static void test_from_call_to_call(void **state)
{
	struct record r;

	(void)state;
	start(&r, &public_config);
	assert_true(pool_next_deadline(r.pool) == USEC_INFINITY);
	ready(&r, "a", 0, 0, true);
	told(&r, "hold(a,0,0,0) ");
	ready(&r, "a", 100 * S, 0, false);
	queued(&r, "b", 110 * S, 1, 1);
	told(&r, "ticket(b,b) ");
	queued(&r, "c", 120 * S, 2, 2);
	queued(&r, "b", 130 * S, 1, 2);
	told(&r, "ticket(c,c) ");
	assert_true(pool_next_deadline(r.pool) == 700 * S);

	/* a is idle; b's turn comes when the slot is empty, not before */
	pool_tick(r.pool, 700 * S);
	told(&r, "release(a,0) empty(0,-) ");
	queued(&r, "b", 701 * S, 1, 2);
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, 702 * S);
	told(&r, "clean(0) hold(b,0,1,1) granted(b,0) moved ");
	assert_int_equal(pool_take_note(r.pool, "a"), POOL_NOTE_IDLE);
	assert_int_equal(pool_take_note(r.pool, "a"), POOL_NOTE_NONE);

	/* b calls in time, once is enough */
	ready(&r, "b", 900 * S, 0, false);
	told(&r, "hold(b,0,0,0) ");
	assert_int_equal(pool_take_note(r.pool, "b"), POOL_NOTE_READY);
	assert_true(pool_next_deadline(r.pool) == 1500 * S);
	pool_free(r.pool);
}

static void test_unclaimed_and_lapsed(void **state)
{
	struct record r;
	struct err err;

	(void)state;
	start(&r, &public_config);
	ready(&r, "a", 0, 0, true);
	queued(&r, "b", S, 1, 1);
	queued(&r, "c", 2 * S, 2, 2);
	queued(&r, "d", 3 * S, 3, 3);
	assert_int_equal(pool_ticket_set_mail(r.pool, "c", true, 4 * S, &err), 0);
	assert_int_equal(pool_ticket_set_mail(r.pool, "e", true, 4 * S, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(pool_release(r.pool, "a", 5 * S, &err), 0);
	assert_int_equal(pool_release(r.pool, "a", 5 * S, &err), -1);
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, 6 * S);
	r.text[0] = '\0';

	pool_tick(r.pool, 305 * S);
	told(&r, "");
	pool_tick(r.pool, 306 * S);
	told(&r, "release(b,0) empty(0,-) ");
	assert_int_equal(pool_take_note(r.pool, "b"), POOL_NOTE_UNCLAIMED);

	/* c left an address and is waited for, d is not */
	pool_tick(r.pool, 1803 * S);
	told(&r, "no_ticket(1) lapsed(d) moved ");
	assert_int_equal(pool_take_note(r.pool, "d"), POOL_NOTE_LAPSED);
	pool_tick(r.pool, 86403 * S);
	told(&r, "");
	pool_tick(r.pool, 86404 * S);
	told(&r, "no_ticket(1) lapsed(c) moved ");
	pool_free(r.pool);
}

static void test_refusals(void **state)
{
	struct pool_config personal = public_config, two = public_config;
	struct record r;

	(void)state;
	start(&r, &public_config);
	ready(&r, "a", 0, 0, true);
	refused(&r, "a-2", 0, POOL_REFUSED_LIMIT, "1 sandboxes at once");
	queued(&r, "b", 0, 1, 1);
	queued(&r, "c", 0, 2, 2);
	queued(&r, "d", 0, 3, 3);
	refused(&r, "e", 0, POOL_REFUSED_QUEUE_FULL, "3 waiting");
	pool_drain(r.pool);
	ready(&r, "a", 0, 0, false);
	queued(&r, "d", 0, 3, 3);
	refused(&r, "e", 0, POOL_REFUSED_DRAINING, "maintenance");
	pool_free(r.pool);

	personal.empty_when_idle = false;
	personal.per_principal = 0;
	start(&r, &personal);
	ready(&r, "a-1", 0, 0, true);
	refused(&r, "a-2", 0, POOL_REFUSED_NO_SLOT, "berth empty");
	assert_true(pool_next_deadline(r.pool) == USEC_INFINITY); /* kept for ever */
	pool_free(r.pool);

	two.per_principal = 2;
	two.slots = 2;
	start(&r, &two);
	ready(&r, "a-1", 0, 0, true);
	ready(&r, "a-2", 0, 1, true);
	refused(&r, "a-3", 0, POOL_REFUSED_LIMIT, "2 sandboxes at once");
	pool_free(r.pool);
}

static void test_one_place_each(void **state)
{
	struct pool_config two = public_config;
	struct record r;

	(void)state;
	two.per_principal = 2;
	start(&r, &two);
	ready(&r, "a", 0, 0, true);
	queued(&r, "b-1", 0, 1, 1);
	queued(&r, "c-1", 0, 2, 2);
	r.text[0] = '\0';
	queued(&r, "b-2", 0, 1, 2);
	told(&r, "ticket(b-2,b) "); /* the same place, for what was asked for last */
	pool_ticket_drop(r.pool, "b", 0);
	told(&r, "no_ticket(1) moved ");
	pool_ticket_drop(r.pool, "b", 0);
	told(&r, "");
	queued(&r, "c-1", 0, 1, 1);
	pool_free(r.pool);
}

static void test_a_slot_that_cannot_be_emptied(void **state)
{
	static const usec pauses[] = { 10 * S, 20 * S, 35 * S, 35 * S };
	struct pool_slot_view v;
	struct record r;
	struct err err;
	usec now = 0;

	(void)state;
	start(&r, &public_config);
	ready(&r, "a", 0, 0, true);
	assert_int_equal(pool_release(r.pool, "a", 0, &err), 0);
	r.text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		pool_slot_emptied(r.pool, 0, POOL_NOT_EMPTY, now);
		pool_get_slot(r.pool, 0, &v);
		assert_int_equal(v.state, POOL_SLOT_SET_ASIDE);
		assert_true(v.retry_at == now + pauses[i]);
		queued(&r, "b", now, 1, 1); /* never handed on */
		now += pauses[i];
		r.text[0] = '\0';
		pool_tick(r.pool, now - 1);
		told(&r, "");
		pool_tick(r.pool, now);
		told(&r, "empty(0,-) ");
	}
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, now);
	told(&r, "clean(0) hold(b,0,1,1) granted(b,0) moved ");
	pool_free(r.pool);
}

static void test_reset(void **state)
{
	struct pool_config three = public_config;
	struct pool_use use;
	struct record r;
	struct err err;

	(void)state;
	start(&r, &public_config);
	ready(&r, "a", 0, 0, true);
	queued(&r, "b", 0, 1, 1);
	assert_int_equal(pool_begin_use(r.pool, "a", 0, &use, &err), 0);
	r.text[0] = '\0';
	assert_int_equal(pool_reset(r.pool, "a", 0, &err), 0);
	told(&r, "hold(a,0,2,0) empty(0,a) ");
	assert_int_equal(ask(&r, "a", 0).verdict, POOL_CLEANING);
	assert_int_equal(pool_reset(r.pool, "a", 0, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	pool_end_use(r.pool, use, 0); /* of the old content: without effect */
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, S);
	told(&r, "hold(a,0,0,0) granted(a,0) ");
	ready(&r, "a", S, 0, false); /* it kept its slot, though b waits */

	/* it fails: the first place in the queue instead */
	assert_int_equal(pool_reset(r.pool, "a", 2 * S, &err), 0);
	r.text[0] = '\0';
	pool_slot_emptied(r.pool, 0, POOL_NOT_EMPTY, 3 * S);
	told(&r, "release(a,0) ticket(a,a) moved ");
	assert_int_equal(pool_take_note(r.pool, "a"), POOL_NOTE_MOVED);
	queued(&r, "a", 4 * S, 1, 2);
	queued(&r, "b", 4 * S, 2, 2);

	/* given up while it is emptied: not emptied twice */
	pool_tick(r.pool, 13 * S);
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, 14 * S);
	ready(&r, "a", 14 * S, 0, false);
	assert_int_equal(pool_reset(r.pool, "a", 15 * S, &err), 0);
	r.text[0] = '\0';
	assert_int_equal(pool_release(r.pool, "a", 15 * S, &err), 0);
	told(&r, "release(a,0) ");
	pool_slot_emptied(r.pool, 0, POOL_EMPTY, 16 * S);
	pool_free(r.pool);

	three.slots = 3;
	start(&r, &three);
	ready(&r, "a", 0, 0, true);
	assert_int_equal(pool_reset(r.pool, "a", 0, &err), 0);
	r.text[0] = '\0';
	pool_slot_emptied(r.pool, 0, POOL_NOT_EMPTY, 0);
	told(&r, "release(a,0) hold(a,1,0,0) granted(a,1) "); /* or another slot */
	pool_free(r.pool);
}

static void test_warm_slots_first(void **state)
{
	struct pool_config three = public_config;
	struct record r;
	uint32_t cold;

	(void)state;
	three.slots = 3;
	start(&r, &three);
	assert_true(pool_find_cold(r.pool, &cold));
	assert_int_equal(cold, 0);
	pool_set_warm(r.pool, 2, true);
	ready(&r, "a", 0, 2, true);
	pool_set_warm(r.pool, 0, true);
	pool_set_warm(r.pool, 1, true);
	assert_false(pool_find_cold(r.pool, &cold));
	pool_set_warm(r.pool, 0, false);
	ready(&r, "b", 0, 1, true);
	pool_free(r.pool);
}

static void count_key(void *userdata, const char *key)
{
	note(userdata, "%s ", key);
}

static void test_touched_keys_once(void **state)
{
	struct pool_config three = public_config;
	struct record r;

	(void)state;
	three.slots = 3;
	start(&r, &three);
	ready(&r, "a", 0, 0, true);
	ready(&r, "b", 0, 1, true);
	pool_take_touched(r.pool, count_key, &r);
	told(&r, "hold(a,0,0,0) hold(b,1,0,0) a b ");
	pool_touch(r.pool, "b", S);
	pool_touch(r.pool, "unknown", S);
	pool_take_touched(r.pool, count_key, &r);
	told(&r, "b ");
	pool_free(r.pool);
}

static void test_what_cannot_be_restored(void **state)
{
	static const struct {
		struct pool_holder holder;
		const char *word;
	} rows[] = {
		{ { "x", "x", 7, POOL_HOLD_USED }, "pool.slots is 3: it must be at least 8" },
		{ { "x", "x", 0, POOL_HOLD_USED }, "twice" },
		{ { "a", "a", 1, POOL_HOLD_USED }, "twice" },
		{ { "x", "x", 1, (enum pool_hold)9 }, "known way" },
		{ { "x", "x", 2, POOL_HOLD_USED }, "dirty" },
	};
	static const struct pool_holder a = { "a", "a", 0, POOL_HOLD_USED };
	static const struct pool_ticket b = { 5, "b", "b", false }, b2 = { 6, "b2", "b", false },
					c = { 5, "c", "c", false }, d = { 0, "d", "d", false };
	struct pool_config three = public_config;
	struct record r;
	struct err err;

	(void)state;
	three.slots = 3;
	start(&r, &three);
	assert_int_equal(pool_restore_holder(r.pool, &a, 0, 0, &err), 0);
	pool_restore_dirty(r.pool, 2, 0);
	pool_restore_dirty(r.pool, 4000, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(pool_restore_holder(r.pool, &rows[i].holder, 0, 0, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, rows[i].word));
	}
	assert_int_equal(pool_restore_ticket(r.pool, &b, 0, &err), 0);
	assert_int_equal(pool_restore_ticket(r.pool, &b2, 0, &err), -1);
	assert_int_equal(pool_restore_ticket(r.pool, &c, 0, &err), -1);
	assert_int_equal(pool_restore_ticket(r.pool, &d, 0, &err), -1);
	pool_tick(r.pool, 0);
	told(&r, "empty(2,-) hold(b,1,1,1) granted(b,1) moved ");
	pool_free(r.pool);
}

static void test_numbers(void **state)
{
	struct pool_config config = public_config;
	struct pool_stats stats;
	struct record r;
	struct err err;

	(void)state;
	config.slots = 0;
	assert_int_equal(pool_new(&config, &(struct pool_hooks){ 0 }, &r.pool, &err), -1);
	config.slots = POOL_MAX_SLOTS + 1;
	assert_int_equal(pool_new(&config, &(struct pool_hooks){ 0 }, &r.pool, &err), -1);

	start(&r, &public_config);
	pool_get_stats(r.pool, 0, &stats);
	assert_true(stats.newcomer_wait == 0);
	ready(&r, "a", 0, 0, true);
	pool_get_stats(r.pool, 0, &stats);
	assert_int_equal(stats.held, 1);
	assert_true(stats.newcomer_wait > 60 * S && stats.newcomer_wait < 7200 * S);
	pool_drain(r.pool);
	pool_get_stats(r.pool, 10 * S, &stats);
	assert_true(stats.draining && stats.newcomer_wait == USEC_INFINITY);
	pool_resume(r.pool, 10 * S);
	pool_free(r.pool);
}

/* The only slot's owner has been away for ever longer: the wait is at most the rest. */
static void test_estimate_follows_the_deadline(void **state)
{
	struct pool_answer a;
	struct record r;
	usec last = USEC_INFINITY;

	(void)state;
	start(&r, &public_config);
	ready(&r, "a", 0, 0, true);
	for (usec now = 0; now < 600 * S; now += 100 * S) {
		a = ask(&r, "b", now);
		assert_true(a.wait < last);
		assert_true(a.wait + S > 600 * S - now);
		last = a.wait;
	}
	pool_free(r.pool);
}

static void test_notes_are_bounded(void **state)
{
	struct record *r = calloc(1, sizeof(*r));
	char key[16];

	(void)state;
	assert_non_null(r);
	start(r, &public_config);
	for (int i = 0; i <= POOL_MAX_NOTES; i++) {
		usec now = (usec)i * 1000 * S;

		(void)snprintf(key, sizeof(key), "k%d", i);
		ready(r, key, now, 0, true);
		pool_tick(r->pool, now + 600 * S);
		pool_slot_emptied(r->pool, 0, POOL_EMPTY, now + 601 * S);
		r->text[0] = '\0';
	}
	assert_int_equal(pool_take_note(r->pool, "k0"), POOL_NOTE_NONE);
	assert_int_equal(pool_take_note(r->pool, "k1"), POOL_NOTE_IDLE);
	pool_free(r->pool);
	free(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_call_to_call),
		cmocka_unit_test(test_unclaimed_and_lapsed),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_one_place_each),
		cmocka_unit_test(test_a_slot_that_cannot_be_emptied),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_warm_slots_first),
		cmocka_unit_test(test_touched_keys_once),
		cmocka_unit_test(test_what_cannot_be_restored),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_estimate_follows_the_deadline),
		cmocka_unit_test(test_notes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
