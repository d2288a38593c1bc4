/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials, cookies, secrets, address prefixes, proof of work, durations. */
#include "oauth/media.h"
#include "oauth/pages.h"
#include "oauth/secret.h"
#include "oauth/visitor.h"
#include "oauth/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_bearer(void **state)
{
	static const struct {
		struct view header;
		int want;
		const char *token;
	} rows[] = {
		{ VIEW_INIT("Bearer abc"), 0, "abc" },
		{ VIEW_INIT("bearer abc"), 0, "abc" },
		{ VIEW_INIT("BEARER  a.b-c_d~e+f/g= "), 0, "a.b-c_d~e+f/g=" },
		{ VIEW_INIT("Bearer"), -EINVAL, NULL },
		{ VIEW_INIT("Bearer "), -EINVAL, NULL },
		{ VIEW_INIT("Bearer a b"), -EINVAL, NULL },
		{ VIEW_INIT("Bearer a,b"), -EINVAL, NULL },
		{ VIEW_INIT("Bearer \xc3\xbc"), -EINVAL, NULL },
		{ VIEW_INIT("Bearer a\0b"), -EINVAL, NULL },
		{ VIEW_INIT("Bearerabc"), -ENOENT, NULL },
		{ VIEW_INIT("Basic abc"), -ENOENT, NULL },
		{ VIEW_INIT(""), -ENOENT, NULL },
	};
	char longer[600] = "Bearer ";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view token = VIEW("untouched");

		assert_int_equal(media_bearer(rows[i].header, &token), rows[i].want);
		assert_true(view_is(token, rows[i].token ? rows[i].token : "untouched"));
	}
	memset(longer + 7, 'a', sizeof(longer) - 7);
	assert_int_equal(media_bearer(view_of(longer, sizeof(longer)), &(struct view){ NULL, 0 }),
			 -EINVAL);
}

static void test_basic(void **state)
{
	static const struct {
		const char *header;
		int want;
		const char *user;
	} rows[] = {
		{ "Basic YWJjOg==", 0, "abc" },         /* abc: */
		{ "basic YWJjOnNlY3JldDp4", 0, "abc" }, /* abc:secret:x */
		{ "Basic YSUyZGI6", 0, "a-b" },         /* a%2db: */
		{ "Basic YWJj", -EINVAL, NULL },        /* no colon */
		{ "Basic YSV6ejo=", -EINVAL, NULL },    /* a%zz: */
		{ "Basic !", -EINVAL, NULL },           { "Basic", -EINVAL, NULL },
		{ "Basic AGE6", -EINVAL, NULL }, /* NUL a : */
		{ "Bearer x", -ENOENT, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char user[MEDIA_BASIC_ID_BYTES];

		assert_int_equal(media_basic_user(view_str(rows[i].header), user), rows[i].want);
		if (rows[i].user)
			assert_string_equal(user, rows[i].user);
	}
}

static void test_cookie(void **state)
{
	(void)state;
	assert_true(view_is(media_cookie(VIEW("a=1; berth=x; b=2"), "berth"), "x"));
	assert_true(view_is(media_cookie(VIEW("berth=x=y"), "berth"), "x=y"));
	assert_true(view_is(media_cookie(VIEW("berth=one; berth=two"), "berth"), "one"));
	assert_int_equal(media_cookie(VIEW("xberth=1; berth2=2; berth"), "berth").len, 0);
	assert_int_equal(media_cookie(VIEW(""), "berth").len, 0);
}

static void test_tokens(void **state)
{
	static const uint8_t family[SECRET_FAMILY_BYTES] = { 0xab, 0xcd };
	uint8_t got[SECRET_FAMILY_BYTES];
	char refresh[SECRET_REFRESH_TEXT], again[SECRET_REFRESH_TEXT];
	char access[SECRET_ACCESS_TEXT];

	(void)state;
	secret_refresh(family, refresh);
	secret_refresh(family, again);
	assert_int_equal(strlen(refresh), SECRET_REFRESH_TEXT - 1);
	assert_string_not_equal(refresh, again);
	assert_int_equal(secret_refresh_family(view_str(refresh), got), 0);
	assert_memory_equal(got, family, sizeof(got));
	refresh[4] = 'g';
	assert_int_equal(secret_refresh_family(view_str(refresh), got), -EINVAL);
	refresh[40] = '\0';
	assert_int_equal(secret_refresh_family(view_str(refresh), got), -EINVAL);
	secret_prefixed("sba_", access);
	assert_int_equal(strlen(access), SECRET_ACCESS_TEXT - 1);
	assert_int_equal(secret_refresh_family(view_str(access), got), -EINVAL);
	assert_int_equal(secret_refresh_family(VIEW(""), got), -EINVAL);
}

static void test_pkce(void **state)
{
	static const char challenge[] = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
	char verifier[130];

	(void)state;
	/* RFC 7636, appendix B. */
	assert_true(secret_challenge_matches(challenge,
					     VIEW("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")));
	assert_false(secret_challenge_matches(challenge,
					      VIEW("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK")));
	memset(verifier, '~', sizeof(verifier));
	assert_false(secret_is_verifier(view_of(verifier, 42)));
	assert_true(secret_is_verifier(view_of(verifier, 43)));
	assert_true(secret_is_verifier(view_of(verifier, 128)));
	assert_false(secret_is_verifier(view_of(verifier, 129)));
	verifier[3] = '+';
	assert_false(secret_is_verifier(view_of(verifier, 43)));
}

static void test_visitors(void **state)
{
	static const uint8_t key[VISITOR_KEY_BYTES] = { 1 }, other[VISITOR_KEY_BYTES] = { 2 };
	uint8_t a[VISITOR_ID_BYTES], b[VISITOR_ID_BYTES];

	(void)state;
	visitor_id("192.0.2.0/24", key, a);
	visitor_id("192.0.2.0/24", key, b);
	assert_memory_equal(a, b, sizeof(a));
	visitor_id("192.0.2.0/24", other, b);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void test_work(void **state)
{
	char number[24];
	uint32_t n = 0, wrong = 0;

	(void)state;
	assert_true(work_is_done(VIEW("page"), VIEW(""), 0));
	assert_false(work_is_done(VIEW("page"), VIEW(""), 1));
	assert_false(work_is_done(VIEW("page"), VIEW("123456789012345678901"), 1));
	do {
		(void)snprintf(number, sizeof(number), "%u", n++);
	} while (!work_is_done(VIEW("page"), view_str(number), 10));
	assert_true(n > 1);
	assert_false(work_is_done(VIEW("page"), view_str(number), 24));
	/* Of no use for other pages. */
	for (uint32_t i = 0; i < 64; i++) {
		char page[16];

		(void)snprintf(page, sizeof(page), "page%u", i);
		wrong += !work_is_done(view_str(page), view_str(number), 10);
	}
	assert_true(wrong >= 60);
}

static void test_durations(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} rows[] = {
		{ 1, "1 second" },    { 45, "45 seconds" },   { 60, "1 minute" },
		{ 90, "90 seconds" }, { 600, "10 minutes" },  { 601, "11 minutes" },
		{ 3600, "1 hour" },   { 5400, "90 minutes" }, { 7200, "2 hours" },
		{ 86400, "1 day" },   { 200000, "3 days" },   { 0, "0 seconds" },
	};
	char text[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pages_duration(rows[i].seconds, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bearer), cmocka_unit_test(test_basic),
		cmocka_unit_test(test_cookie), cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_pkce),   cmocka_unit_test(test_visitors),
		cmocka_unit_test(test_work),   cmocka_unit_test(test_durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
