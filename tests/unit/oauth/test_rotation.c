/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of refresh tokens. */
#include "oauth/rotation.h"

#include "oauth/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NOW = 1000000, WINDOW = OAUTH_REPLAY_TTL_S };

struct token {
	uint8_t hash[STORE_HASH_BYTES];
};

static struct token token(uint8_t n)
{
	struct token t;

	memset(t.hash, n, sizeof(t.hash));
	return t;
}

static struct store_family fresh(void)
{
	struct store_family f = { .generation = 1,
				  .rotated = NOW,
				  .expires = NOW + OAUTH_REFRESH_TTL_S };
	struct token first = token(1);

	memcpy(f.current, first.hash, sizeof(f.current));
	return f;
}

static void rotate_to(struct store_family *f, uint8_t n, uint64_t now)
{
	rotation_rotate(f, token(n).hash, now);
}

static void test_current_rotates(void **state)
{
	struct store_family f = fresh();

	(void)state;
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW), ROTATION_ROTATE);
	rotate_to(&f, 2, NOW + 5);
	assert_int_equal(f.generation, 2);
	assert_int_equal(f.rotated, NOW + 5);
	assert_int_equal(f.expires, NOW + 5 + OAUTH_REFRESH_TTL_S);
	assert_int_equal(rotation_judge(&f, token(2).hash, NOW + 5), ROTATION_ROTATE);
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW + 5), ROTATION_REPLAY);
}

static void test_expiry(void **state)
{
	struct store_family f = fresh();

	(void)state;
	assert_int_equal(rotation_judge(&f, token(1).hash, f.expires - 1), ROTATION_ROTATE);
	assert_int_equal(rotation_judge(&f, token(1).hash, f.expires), ROTATION_DENY);
	assert_int_equal(rotation_judge(&f, token(1).hash, f.expires + 3600), ROTATION_DENY);
}

static void test_unknown_changes_nothing(void **state)
{
	struct store_family f = fresh();

	(void)state;
	rotate_to(&f, 2, NOW);
	f.successor_used = true;
	assert_int_equal(rotation_judge(&f, token(99).hash, NOW + 10 * WINDOW), ROTATION_DENY);
	/* All zero is not the previous token of a family that has none. */
	f = fresh();
	assert_int_equal(rotation_judge(&f, token(0).hash, NOW), ROTATION_DENY);
}

static void test_window(void **state)
{
	struct store_family f = fresh();

	(void)state;
	rotate_to(&f, 2, NOW);
	f.successor_used = true;
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW + WINDOW), ROTATION_REPLAY);
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW + WINDOW + 1), ROTATION_REUSE);
	/* The clock was set back. */
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW - 3600), ROTATION_REPLAY);
}

static void test_restart_within_window(void **state)
{
	struct store_family f = fresh();

	(void)state;
	rotate_to(&f, 2, NOW);
	assert_int_equal(rotation_without_answer(&f), ROTATION_REPLACE);
	f.successor_used = true;
	assert_int_equal(rotation_without_answer(&f), ROTATION_LATER);
}

static void test_lost_answers(void **state)
{
	struct store_family f = fresh();
	uint64_t now = NOW;

	(void)state;
	rotate_to(&f, 2, now);
	for (uint8_t n = 3; n < 3 + OAUTH_MAX_LOST_ANSWERS; n++) {
		now += WINDOW + 1;
		assert_int_equal(rotation_judge(&f, token(1).hash, now), ROTATION_REPLACE);
		rotation_replace(&f, token(n).hash, now);
		assert_int_equal(rotation_judge(&f, token(n).hash, now), ROTATION_ROTATE);
		/* Somebody had the lost answer after all: two hold this sign-in. */
		assert_int_equal(rotation_judge(&f, token((uint8_t)(n - 1)).hash, now),
				 ROTATION_REUSE);
	}
	assert_int_equal(rotation_judge(&f, token(1).hash, now + WINDOW + 1), ROTATION_DENY);
	assert_int_equal(f.generation, 2 + OAUTH_MAX_LOST_ANSWERS);
	/* A rotation starts the count again. */
	rotate_to(&f, 50, now);
	assert_int_equal(f.lost_answers, 0);
}

static void test_ring(void **state)
{
	struct store_family f = fresh();
	uint8_t n = 1;

	(void)state;
	while (n < 2 + STORE_RETIRED_MAX)
		rotate_to(&f, ++n, NOW);
	/* n is current, n - 1 previous, 1 … n - 2 retired: exactly the ring. */
	assert_int_equal(f.n_retired, STORE_RETIRED_MAX);
	for (uint8_t old = 1; old <= n - 2; old++)
		assert_int_equal(rotation_judge(&f, token(old).hash, NOW), ROTATION_REUSE);
	rotate_to(&f, ++n, NOW);
	assert_int_equal(f.n_retired, STORE_RETIRED_MAX);
	assert_int_equal(rotation_judge(&f, token(1).hash, NOW), ROTATION_DENY);
	assert_int_equal(rotation_judge(&f, token(2).hash, NOW), ROTATION_REUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_current_rotates),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_unknown_changes_nothing),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_restart_within_window),
		cmocka_unit_test(test_lost_answers),
		cmocka_unit_test(test_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
