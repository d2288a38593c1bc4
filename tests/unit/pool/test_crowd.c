/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2,000 visitors arrive at random at 500 slots, work for a while, go away; some give up waiting.
 * Shows that each who stayed was served, in the order of arrival, and how far the promised waiting
 * times were off (docs/OPERATIONS.md gives the figures).
 */
#include "pool/pool.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum {
	SLOTS = 500,
	VISITORS = 2000,
	ARRIVALS = 6000, /* seconds over which they arrive */
	EMPTYING = 2,    /* seconds */
};

#define S USEC_PER_SEC

enum visitor_state { AWAY, WAITING, WORKING, LEFT };

struct visitor {
	enum visitor_state state;
	uint32_t arrives, next_call, leaves; /* seconds */
	uint32_t works;                      /* seconds it will work for */
	bool gives_up;                       /* does not call again once it waits */
	uint64_t order;                      /* of its ticket */
	uint32_t queued_at;
	double promised; /* seconds */
	bool was_granted;
};

struct world {
	uint64_t random;
	struct pool *pool;
	uint32_t now;
	struct visitor visitors[VISITORS];
	uint32_t empty_at[SLOTS]; /* 0: not being emptied */
	int owner[SLOTS];         /* visitor, -1 */
	uint64_t last_granted;    /* order */
	uint32_t n_errors;
	double errors[VISITORS]; /* promised / waited */
	double off[VISITORS];    /* |promised - waited|, seconds */
	uint32_t longest_queue;
};

static double dice(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return ((double)(w->random >> 11) + 0.5) / 9007199254740992.0;
}

static uint32_t exponential(struct world *w, double mean)
{
	return 1 + (uint32_t)(-log(dice(w)) * mean);
}

static int number(const char *name)
{
	int n = 0;

	for (name++; *name; name++)
		n = n * 10 + (*name - '0');
	return n;
}

static const char *name_of(const struct world *w, const struct visitor *v, char out[16])
{
	(void)snprintf(out, 16, "v%u", (unsigned)(v - w->visitors));
	return out;
}

static int save_holder(void *userdata, const struct pool_holder *h, uint64_t ticket,
		       struct err *err)
{
	struct world *w = userdata;
	struct visitor *v = &w->visitors[number(h->key)];

	(void)err;
	assert_true(w->owner[h->slot] < 0 || w->owner[h->slot] == number(h->key));
	assert_int_equal(w->empty_at[h->slot], 0);
	w->owner[h->slot] = number(h->key);
	if (ticket) {
		double waited = w->now - v->queued_at;

		assert_true(ticket > w->last_granted); /* order of arrival */
		w->last_granted = ticket;
		w->errors[w->n_errors] = v->promised / (waited > 1 ? waited : 1);
		w->off[w->n_errors++] = fabs(v->promised - waited);
	}
	v->was_granted = true;
	return 0;
}

static int save_release(void *userdata, const struct pool_holder *h, struct err *err)
{
	struct world *w = userdata;

	(void)err;
	w->owner[h->slot] = -1;
	return 0;
}

static int save_clean(void *userdata, uint32_t slot, struct err *err)
{
	(void)userdata;
	(void)slot;
	(void)err;
	return 0;
}

static int save_ticket(void *userdata, const struct pool_ticket *t, struct err *err)
{
	struct world *w = userdata;

	(void)err;
	w->visitors[number(t->principal)].order = t->order;
	return 0;
}

static int save_no_ticket(void *userdata, uint64_t order, struct err *err)
{
	(void)userdata;
	(void)order;
	(void)err;
	return 0;
}

static void on_empty(void *userdata, uint32_t slot, const char *key)
{
	struct world *w = userdata;

	(void)key;
	w->empty_at[slot] = w->now + EMPTYING;
}

static void on_granted(void *userdata, const struct pool_holder *h)
{
	struct world *w = userdata;
	struct visitor *v = &w->visitors[number(h->key)];

	if (!v->gives_up)
		v->next_call = w->now + 1; /* its held call goes on */
}

static void on_lapsed(void *userdata, const struct pool_ticket *t)
{
	struct world *w = userdata;

	assert_true(w->visitors[number(t->principal)].gives_up);
}

static void on_moved(void *userdata)
{
	(void)userdata;
}

static void call(struct world *w, struct visitor *v)
{
	struct pool_answer a;
	char name[16];

	pool_request(w->pool, name_of(w, v, name), name, w->now * S, &a);
	if (a.verdict == POOL_READY) {
		if (v->state != WORKING)
			v->leaves = w->now + v->works;
		v->state = WORKING;
		/* Mostly soon, now and then after a pause for thought, a few only after it is lost.
		 */
		v->next_call = w->now + exponential(w, dice(w) < 0.8 ? 30 : 240);
		if (v->next_call >= v->leaves)
			v->state = LEFT;
		return;
	}
	assert_int_equal(a.verdict, POOL_QUEUED);
	if (a.length > w->longest_queue)
		w->longest_queue = a.length;
	if (v->state != WAITING) {
		v->queued_at = w->now;
		v->promised = (double)a.wait / (double)S;
	}
	v->state = v->gives_up ? LEFT : WAITING;
	v->next_call = w->now + exponential(w, 60);
}

static void one_second(struct world *w)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (w->empty_at[i] && w->empty_at[i] <= w->now) {
			w->empty_at[i] = 0;
			pool_slot_emptied(w->pool, i, POOL_EMPTY, w->now * S);
		}
	if (pool_next_deadline(w->pool) <= w->now * S)
		pool_tick(w->pool, w->now * S);
	for (int i = 0; i < VISITORS; i++) {
		struct visitor *v = &w->visitors[i];

		if (v->state == AWAY ? v->arrives == w->now
				     : v->state != LEFT && v->next_call <= w->now)
			call(w, v);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Where the errors of the promised waiting times lie. */
static void check_promises(struct world *w)
{
	uint32_t n = w->n_errors;

	qsort(w->errors, n, sizeof(w->errors[0]), compare);
	qsort(w->off, n, sizeof(w->off[0]), compare);
	print_message("%u waited (longest queue %u). promised/waited: 10%% %.2f, median %.2f, 90%% "
		      "%.2f; off by: median %.0f s, 90%% %.0f s\n",
		      n, w->longest_queue, w->errors[n / 10], w->errors[n / 2],
		      w->errors[n * 9 / 10], w->off[n / 2], w->off[n * 9 / 10]);
	assert_true(w->errors[n / 2] > 0.7 && w->errors[n / 2] < 1.4);
	assert_true(w->errors[n / 10] > 0.5 && w->errors[n * 9 / 10] < 2.0);
}

static void run_crowd(uint64_t seed, double work_mean)
{
	static const struct pool_config config = {
		.slots = SLOTS,
		.per_principal = 1,
		.empty_when_idle = true,
		.idle = 600 * S,
		.queue_patience = 1800 * S,
		.queue_patience_mail = 86400 * S,
		.claim_time = 600 * S,
		.queue_max = 5000,
		.retry_min = 10 * S,
		.retry_max = 600 * S,
	};
	struct world *w = calloc(1, sizeof(*w));
	struct pool_hooks hooks = {
		save_holder, save_release, save_clean, save_ticket, save_no_ticket,
		on_empty,    on_granted,   on_lapsed,  on_moved,    w
	};
	struct pool_stats stats;
	struct err err;

	assert_non_null(w);
	w->random = seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < SLOTS; i++)
		w->owner[i] = -1;
	for (int i = 0; i < VISITORS; i++) {
		w->visitors[i].arrives = 1 + (uint32_t)(dice(w) * ARRIVALS);
		w->visitors[i].works = exponential(w, work_mean);
		w->visitors[i].gives_up = dice(w) < 0.1;
	}
	assert_int_equal(pool_new(&config, &hooks, &w->pool, &err), 0);
	for (w->now = 1; w->now < 12 * 3600; w->now++)
		one_second(w);
	pool_get_stats(w->pool, w->now * S, &stats);
	assert_int_equal(stats.free, SLOTS); /* all clean again, nobody waits */
	assert_int_equal(stats.queue_length, 0);
	assert_int_equal(stats.granted, stats.released);
	for (int i = 0; i < VISITORS; i++)
		assert_true(w->visitors[i].was_granted || w->visitors[i].gives_up);
	assert_true(w->n_errors > 500);
	check_promises(w);
	pool_free(w->pool);
	free(w);
}

static void test_short_work(void **state)
{
	(void)state;
	run_crowd(1, 1200);
	run_crowd(2, 1200);
}

static void test_long_work(void **state)
{
	(void)state;
	run_crowd(3, 2400);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_work),
		cmocka_unit_test(test_long_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
