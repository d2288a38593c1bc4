/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets. */
#include "http/ratelimit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_bucket(void **state)
{
	auto_of(ratelimit) struct ratelimit *l = ratelimit_new(3, USEC_PER_SEC, 10);
	usec now = 1000 * USEC_PER_SEC, wait = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(ratelimit_take(l, VIEW("a"), now, &wait));
	assert_false(ratelimit_take(l, VIEW("a"), now, &wait));
	assert_int_equal(wait, USEC_PER_SEC);
	assert_true(ratelimit_take(l, VIEW("b"), now, NULL));
	/* Refusals cost nothing; the token comes exactly then. */
	assert_false(ratelimit_take(l, VIEW("a"), now + USEC_PER_SEC - 1, &wait));
	assert_int_equal(wait, 1);
	assert_true(ratelimit_take(l, VIEW("a"), now + USEC_PER_SEC, NULL));
	assert_false(ratelimit_take(l, VIEW("a"), now + USEC_PER_SEC, NULL));
	/* Never more than the burst. */
	now += 3600 * USEC_PER_SEC;
	for (int i = 0; i < 3; i++)
		assert_true(ratelimit_take(l, VIEW("a"), now, NULL));
	assert_false(ratelimit_take(l, VIEW("a"), now, NULL));
}

static void test_is_bounded(void **state)
{
	auto_of(ratelimit) struct ratelimit *l = ratelimit_new(1, USEC_PER_SEC, 4);
	char key[16];

	(void)state;
	assert_true(ratelimit_take(l, VIEW("busy"), 1, NULL));
	for (int i = 0; i < 100; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		assert_true(ratelimit_take(l, view_str(key), 1, NULL));
		/* Whoever keeps trying stays remembered. */
		assert_false(ratelimit_take(l, VIEW("busy"), 1, NULL));
		assert_true(ratelimit_count(l) <= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket),
		cmocka_unit_test(test_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
