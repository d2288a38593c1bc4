/* SPDX-License-Identifier: Apache-2.0 */
/* What is only in memory: presses with their codes, and refresh answers. */
#include "oauth/decisions.h"
#include "oauth/replays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define S(n) ((usec)(n)*USEC_PER_SEC)

enum { START = 1000 };

static struct request request_number(uint32_t n)
{
	struct request r = { .has_state = false };

	(void)snprintf(r.redirect_uri, sizeof(r.redirect_uri), "https://a/%u", n);
	return r;
}

static void code_number(uint32_t n, uint8_t ret[SECRET_HASH_BYTES])
{
	memset(ret, 0, SECRET_HASH_BYTES);
	memcpy(ret, &n, sizeof(n));
}

static struct decision *press(struct decisions *d, uint32_t n, usec now)
{
	struct request r = request_number(n);
	uint8_t code[SECRET_HASH_BYTES];

	code_number(n, code);
	return decisions_add(d, &r, code, "https://a/?code=x", now);
}

static struct decision *by_code(struct decisions *d, uint32_t n, usec now)
{
	uint8_t code[SECRET_HASH_BYTES];

	code_number(n, code);
	return decisions_by_code(d, code, now);
}

static struct decision *by_request(struct decisions *d, uint32_t n, usec now)
{
	struct request r = request_number(n);
	uint8_t identity[SECRET_HASH_BYTES];

	request_identity(&r, identity);
	return decisions_by_identity(d, identity, now);
}

static void test_code_life(void **state)
{
	static const uint8_t family[STORE_FAMILY_ID_BYTES] = { 7 };
	struct decisions *d = decisions_new();
	struct decision *one = press(d, 1, S(START));

	(void)state;
	assert_ptr_equal(by_code(d, 1, S(START)), one);
	assert_ptr_equal(by_request(d, 1, S(START)), one);
	assert_null(by_code(d, 2, S(START)));
	assert_true(decision_is_fresh(one, S(START + OAUTH_CODE_TTL_S) - 1));
	assert_false(decision_is_fresh(one, S(START + OAUTH_CODE_TTL_S)));
	/* Handed out again: lives on from there. */
	one->handed = S(START + 100);
	assert_true(decision_is_fresh(one, S(START + 150)));

	decision_redeem(one, family, S(START + 150));
	assert_null(one->location);
	assert_false(decision_is_fresh(one, S(START + 150)));
	assert_ptr_equal(by_code(d, 1, S(START + 150 + OAUTH_TOMBSTONE_TTL_S) - 1), one);
	assert_memory_equal(one->family, family, sizeof(family));
	assert_null(by_code(d, 1, S(START + 150 + OAUTH_TOMBSTONE_TTL_S)));
	assert_int_equal(decisions_count(d), 0);
	decisions_free(d);
}

static void test_never_exchanged(void **state)
{
	struct decisions *d = decisions_new();
	struct decision *one = press(d, 1, S(START));

	(void)state;
	assert_int_equal(by_request(d, 1, S(START + OAUTH_PRESS_TTL_S) - 1)->state, DECISION_OPEN);
	assert_int_equal(by_request(d, 1, S(START + OAUTH_PRESS_TTL_S))->state, DECISION_SPENT);
	assert_null(one->location);
	assert_false(decision_is_fresh(one, S(START + OAUTH_PRESS_TTL_S)));
	decisions_sweep(d, S(START + OAUTH_PRESS_TTL_S + OAUTH_TOMBSTONE_TTL_S));
	assert_int_equal(decisions_count(d), 0);
	decisions_free(d);
}

static void test_wrong_verifiers(void **state)
{
	struct decisions *d = decisions_new();
	struct decision *one = press(d, 1, S(START));

	(void)state;
	for (unsigned i = 1; i < OAUTH_MAX_VERIFIER_FAILURES; i++) {
		decision_fail(one, S(START));
		assert_true(decision_is_fresh(one, S(START)));
	}
	decision_fail(one, S(START));
	assert_false(decision_is_fresh(one, S(START)));
	decisions_free(d);
}

static void test_bounded(void **state)
{
	static const uint8_t family[STORE_FAMILY_ID_BYTES];
	struct decisions *d = decisions_new();

	(void)state;
	for (uint32_t n = 0; n < OAUTH_MAX_DECISIONS; n++)
		assert_non_null(press(d, n, S(START)));
	/* All are open codes of somebody: none of them goes for a new one. */
	assert_null(press(d, 100000, S(START)));
	assert_int_equal(decisions_count(d), OAUTH_MAX_DECISIONS);
	/* A tombstone does. */
	decision_redeem(by_code(d, 5, S(START)), family, S(START));
	assert_non_null(press(d, 100000, S(START)));
	assert_null(by_code(d, 5, S(START)));
	assert_non_null(by_code(d, 4, S(START)));
	assert_null(press(d, 100001, S(START)));
	/* And everything does in time. */
	decisions_end_all(d, S(START));
	assert_false(decision_is_fresh(by_code(d, 4, S(START)), S(START)));
	decisions_sweep(d, S(START + OAUTH_TOMBSTONE_TTL_S));
	assert_int_equal(decisions_count(d), 0);
	decisions_free(d);
}

static void test_replays(void **state)
{
	struct replays *r = replays_new();
	struct token_pair pair = { .access = "sba_1", .refresh = "sbr_1" };
	uint8_t hash[SECRET_HASH_BYTES];
	usec age = 0;

	(void)state;
	code_number(1, hash);
	assert_null(replays_get(r, hash, S(START), &age));
	replays_put(r, hash, &pair, S(START));
	assert_string_equal(replays_get(r, hash, S(START + 120), &age)->access, "sba_1");
	assert_int_equal(age, S(120));
	/* A newer answer to the same token takes its place. */
	pair.access[4] = '2';
	replays_put(r, hash, &pair, S(START + 1));
	assert_string_equal(replays_get(r, hash, S(START + 121), &age)->access, "sba_2");
	assert_null(replays_get(r, hash, S(START + 122), &age));

	for (uint32_t n = 0; n <= OAUTH_MAX_REPLAYS; n++) {
		code_number(n, hash);
		replays_put(r, hash, &pair, S(START));
	}
	code_number(0, hash);
	assert_null(replays_get(r, hash, S(START), &age));
	code_number(1, hash);
	assert_non_null(replays_get(r, hash, S(START), &age));
	replays_sweep(r, S(START + 200));
	assert_null(replays_get(r, hash, S(START), &age));
	replays_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_life),       cmocka_unit_test(test_never_exchanged),
		cmocka_unit_test(test_wrong_verifiers), cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_replays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
