/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers run, as tables. A box is written as one letter and the time of its last use. */
#include "pool/running.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* "I30 B W E": idle since 30, busy, warm, ending */
static size_t boxes_of(const char *text, struct running_box *boxes)
{
	size_t n = 0;

	for (; *text; text++) {
		struct running_box *b = &boxes[n];

		if (*text >= '0' && *text <= '9') {
			boxes[n - 1].last_used = boxes[n - 1].last_used * 10 + (usec)(*text - '0');
			continue;
		}
		if (*text == ' ')
			continue;
		*b = (struct running_box){ .slot = (uint32_t)n };
		b->state = *text == 'I'   ? RUNNING_IDLE
			   : *text == 'B' ? RUNNING_BUSY
			   : *text == 'W' ? RUNNING_WARM
					  : RUNNING_ENDING;
		n++;
	}
	return n;
}

static void test_admit(void **state)
{
	static const struct {
		uint32_t max;
		const char *boxes;
		enum running_verdict want;
		size_t victim;
	} rows[] = {
		{ 0, "B B B B", RUNNING_START, 0 },
		{ 2, "", RUNNING_START, 0 },
		{ 2, "B", RUNNING_START, 0 },
		{ 2, "B B", RUNNING_REFUSED, 0 },
		{ 2, "B I5", RUNNING_RECYCLE, 1 },
		{ 2, "I7 I5", RUNNING_RECYCLE, 1 },
		{ 2, "I5 I7", RUNNING_RECYCLE, 0 },
		{ 3, "I5 W I1", RUNNING_RECYCLE, 1 }, /* nobody loses by a warm one */
		{ 2, "B E", RUNNING_WAIT, 0 },
		{ 2, "I5 E", RUNNING_WAIT, 0 }, /* one goes already, the other may stay */
		{ 1, "B E", RUNNING_REFUSED, 0 },
		{ 1, "I3 E", RUNNING_RECYCLE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct running_policy policy = { .max_running = rows[i].max };
		struct running_box boxes[8];
		struct err err = { 0 };
		size_t victim = 99, n = boxes_of(rows[i].boxes, boxes);

		assert_int_equal(running_admit(&policy, boxes, n, &victim, &err), rows[i].want);
		assert_int_equal(victim, rows[i].want == RUNNING_RECYCLE ? rows[i].victim : 99);
		assert_int_equal(err.code, rows[i].want == RUNNING_REFUSED ? ERR_BUSY : ERR_NONE);
	}
}

static void test_due(void **state)
{
	static const struct {
		usec idle;
		const char *boxes;
		usec now, next;
		int victim; /* -1: none */
	} rows[] = {
		{ 300, "", 1000, USEC_INFINITY, -1 },
		{ 300, "B W E", 1000, USEC_INFINITY, -1 },
		{ 300, "I700 I800", 999, 1000, -1 },
		{ 300, "I700 I800", 1000, 1000, 0 },
		{ 300, "I800 I700", 1000, 1000, 1 },
		{ USEC_INFINITY, "I1", 1000, USEC_INFINITY, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct running_policy policy = { .idle = rows[i].idle };
		struct running_box boxes[8];
		size_t victim = 99, n = boxes_of(rows[i].boxes, boxes);

		assert_true(running_next_deadline(&policy, boxes, n) == rows[i].next);
		assert_int_equal(running_due(&policy, boxes, n, rows[i].now, &victim),
				 rows[i].victim >= 0);
		assert_int_equal(victim, rows[i].victim >= 0 ? rows[i].victim : 99);
	}
}

static void test_warm_wanted(void **state)
{
	static const struct {
		uint32_t max, warm;
		const char *boxes;
		uint32_t cold, want;
	} rows[] = {
		{ 0, 4, "", 100, 4 },      { 0, 4, "W W", 100, 2 }, { 0, 4, "W W W W W", 100, 0 },
		{ 0, 4, "", 1, 1 },        { 0, 4, "", 0, 0 },      { 2, 1, "", 100, 1 },
		{ 2, 1, "B", 100, 1 },     { 2, 1, "B B", 100, 0 }, { 2, 1, "B I5", 100, 0 },
		{ 4, 4, "B I1", 100, 2 },  { 2, 1, "B E", 100, 0 }, { 2, 0, "", 100, 0 },
		{ 1, 1, "B B B", 100, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct running_policy policy = { .max_running = rows[i].max, .warm = rows[i].warm };
		struct running_box boxes[8];
		size_t n = boxes_of(rows[i].boxes, boxes);

		assert_int_equal(running_warm_wanted(&policy, boxes, n, rows[i].cold),
				 rows[i].want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admit),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_warm_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
