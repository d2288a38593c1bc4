/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table, against a plain array. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEYS = 300, STEPS = 20000 };

static uint32_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)(*random >> 16);
}

static struct view key_of(uint32_t i, char out[32])
{
	/* of many lengths; some hold a NUL */
	int n = snprintf(out, 32, "%u%.*s", i, (int)(i % 17), "................");

	if (i % 5 == 0)
		out[0] = '\0';
	return view_of(out, (size_t)n);
}

static void check_all(const struct map *m, const int *values, int *const *want)
{
	size_t at = 0, seen = 0, expected = 0;
	struct view key;
	const int *v;
	char name[32];

	for (uint32_t i = 0; i < KEYS; i++) {
		expected += want[i] != NULL;
		assert_ptr_equal(map_get(m, key_of(i, name)), want[i]);
	}
	assert_int_equal(map_count(m), expected);
	while ((v = map_next(m, &at, &key))) {
		uint32_t i = (uint32_t)(v - values) % KEYS;

		assert_ptr_equal(want[i], v);
		assert_true(view_eq(key, key_of(i, name)));
		seen++;
	}
	assert_int_equal(seen, expected);
}

static void test_against_an_array(void **state)
{
	static int values[2 * KEYS]; /* two for each key */
	int *want[KEYS] = { 0 };
	uint64_t random = 42;
	struct map *m = map_new();
	char name[32];
	void *old;

	(void)state;
	assert_non_null(m);
	for (int step = 0; step < STEPS; step++) {
		uint32_t i = next_random(&random) % KEYS;

		if (next_random(&random) % 3) {
			int *v = &values[i + KEYS * (next_random(&random) % 2)];

			assert_int_equal(map_put(m, key_of(i, name), v, &old), 0);
			assert_ptr_equal(old, want[i]);
			want[i] = v;
		} else {
			assert_ptr_equal(map_remove(m, key_of(i, name)), want[i]);
			want[i] = NULL;
		}
		if (step % 500 == 0)
			check_all(m, values, want);
	}
	check_all(m, values, want);
	map_free(m);
	map_free(NULL);
}

/* Keys that come and go for ever do not make it grow or slow: tombstones are dropped. */
static void test_churn(void **state)
{
	struct map *m = map_new();
	int value = 0;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		assert_int_equal(map_put(m, key_of(i, name), &value, NULL), 0);
		assert_ptr_equal(map_remove(m, key_of(i, name)), &value);
		assert_null(map_get(m, key_of(i, name)));
	}
	assert_int_equal(map_count(m), 0);
	map_free(m);
}

static void test_removing_while_iterating(void **state)
{
	struct map *m = map_new();
	int values[100];
	size_t at = 0, n = 0;
	struct view key;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(map_put(m, key_of(i, name), &values[i], NULL), 0);
	while (map_next(m, &at, &key)) {
		assert_non_null(map_remove(m, key));
		n++;
	}
	assert_int_equal(n, 100);
	assert_int_equal(map_count(m), 0);
	map_free(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_an_array),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_removing_while_iterating),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
