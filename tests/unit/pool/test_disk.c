/* SPDX-License-Identifier: Apache-2.0 */
/* What is judged of measured disk space, as tables. */
#include "pool/disk.h"

#include "base/attr.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define S   USEC_PER_SEC

static void test_limits(void **state)
{
	const struct disk_limits both = disk_limits_of(160 * MIB, 320 * MIB);
	const struct disk_limits none = disk_limits_of(0, 0);
	const struct disk_limits one = disk_limits_of(0, 320 * MIB);

	(void)state;
	assert_true(disk_is_measured(&both));
	assert_true(disk_is_measured(&one));
	assert_false(disk_is_measured(&none));
	assert_int_equal(both.files, 480 * 64 + 2048);
	/* The files of a workspace that the kernel bounds are its business. */
	assert_int_equal(one.files, 0);
}

static void test_judge(void **state)
{
	static const struct disk_limits all = { 100, 200, 10 }, layer = { 0, 200, 0 };
	static const struct {
		const struct disk_limits *limits;
		struct disk_use use;
		enum disk_full want;
	} rows[] = {
		{ &all, { 0, 0, 0, false }, DISK_HAS_ROOM },
		{ &all, { 100, 200, 10, false }, DISK_HAS_ROOM },
		{ &all, { 101, 200, 10, false }, DISK_WORKSPACE },
		{ &all, { 100, 201, 10, false }, DISK_LAYER },
		{ &all, { 100, 200, 11, false }, DISK_FILES },
		{ &all, { 101, 201, 11, true }, DISK_WORKSPACE },
		{ &all, { 1, 1, 1, true }, DISK_TOO_DEEP },
		{ &layer, { 1000, 200, 1000, false }, DISK_HAS_ROOM },
		{ &layer, { 1000, 201, 1000, false }, DISK_LAYER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(disk_judge(rows[i].limits, &rows[i].use), rows[i].want);
}

static void test_has_grown(void **state)
{
	static const struct disk_use before = { .workspace = 10 * MIB, .layer = MIB, .files = 7 };
	static const struct {
		struct disk_use now;
		bool want;
	} rows[] = {
		{ { .workspace = 10 * MIB, .layer = MIB, .files = 7 }, false },
		{ { .workspace = 10 * MIB, .layer = 2 * MIB, .files = 7 + 256 }, false },
		{ { .workspace = 10 * MIB + 1, .layer = 2 * MIB, .files = 7 }, true },
		{ { .workspace = 12 * MIB, .layer = 0, .files = 7 }, false },
		{ { .workspace = 0, .layer = 0, .files = 7 + 257 }, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(disk_has_grown(&before, &rows[i].now), rows[i].want);
}

static void test_pause(void **state)
{
	static const struct disk_limits limits = { .workspace = 100, .layer = 200 };
	static const struct {
		struct disk_use use;
		usec took, want;
	} rows[] = {
		{ { .workspace = 50, .layer = 100 }, 0, 10 * S },
		{ { .workspace = 51 }, 0, 2 * S },
		{ { .layer = 101 }, S / 10, 2 * S },
		{ { .layer = 101 }, S, 20 * S }, /* not more than a twentieth of the time */
		{ { .layer = 1 }, S, 20 * S },
		{ { .layer = 1 }, 3 * S, 60 * S },
		{ { .layer = 1 }, 100 * S, 60 * S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(disk_pause(&limits, &rows[i].use, rows[i].took), rows[i].want);
}

/* One story: a line is a look at the disk. */
static void test_guard(void **state)
{
	static const struct {
		usec now;
		bool is_low;
		struct disk_grower growers[3];
		size_t n;
		enum disk_guard want;
		size_t at;
	} rows[] = {
		{ 50 * S, false, { { 1, 40 * S, 9 * MIB } }, 1, DISK_GUARD_NOTHING, 9 },
		/* too little is free: nobody is judged by old numbers */
		{ 51 * S,
		  true,
		  { { 1, 40 * S, 9 * MIB }, { 2, 45 * S, 0 } },
		  2,
		  DISK_GUARD_MEASURE,
		  9 },
		{ 52 * S,
		  true,
		  { { 1, 51 * S, 9 * MIB }, { 2, 45 * S, 0 } },
		  2,
		  DISK_GUARD_NOTHING,
		  9 },
		{ 53 * S,
		  true,
		  { { 1, 51 * S, 9 * MIB }, { 2, 52 * S, 99 * MIB } },
		  2,
		  DISK_GUARD_END,
		  1 },
		/* not enough: the next one, by new numbers too */
		{ 54 * S, true, { { 1, 51 * S, 9 * MIB } }, 1, DISK_GUARD_MEASURE, 9 },
		{ 55 * S, true, { { 1, 54 * S, 12 * MIB } }, 1, DISK_GUARD_END, 0 },
		/* who did not grow is not ended, and not measured all the time */
		{ 56 * S, true, { { 3, 0, 0 } }, 1, DISK_GUARD_MEASURE, 9 },
		{ 57 * S, true, { { 3, 56 * S, MIB } }, 1, DISK_GUARD_NOTHING, 9 },
		{ 58 * S, true, { { 3, 56 * S, 2 * MIB } }, 1, DISK_GUARD_NOTHING, 9 },
		{ 60 * S, true, { { 3, 59 * S, 2 * MIB } }, 1, DISK_GUARD_END, 0 },
		/* one that cannot be measured in time holds nothing up */
		{ 61 * S, true, { { 1, 0, 0 }, { 2, 0, 5 * MIB } }, 2, DISK_GUARD_MEASURE, 9 },
		{ 70 * S, true, { { 1, 0, 0 }, { 2, 65 * S, 5 * MIB } }, 2, DISK_GUARD_NOTHING, 9 },
		{ 71 * S, true, { { 1, 0, 0 }, { 2, 65 * S, 5 * MIB } }, 2, DISK_GUARD_END, 1 },
		/* room again */
		{ 72 * S, true, { { 1, 0, 0 } }, 1, DISK_GUARD_MEASURE, 9 },
		{ 73 * S, false, { { 1, 72 * S, 5 * MIB } }, 1, DISK_GUARD_NOTHING, 9 },
		{ 74 * S, true, { { 1, 72 * S, 5 * MIB } }, 1, DISK_GUARD_MEASURE, 9 },
	};
	usec low_since = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t at = 9;

		assert_int_equal(disk_guard(&low_since, rows[i].is_low, rows[i].growers, rows[i].n,
					    rows[i].now, &at),
				 rows[i].want);
		assert_int_equal(at, rows[i].at);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),    cmocka_unit_test(test_judge),
		cmocka_unit_test(test_has_grown), cmocka_unit_test(test_pause),
		cmocka_unit_test(test_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
