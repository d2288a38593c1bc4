/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of an authorization request, sealed and opened. */
#include "oauth/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define ISSUER    "https://berth.example"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
#define GOOD      "response_type=code&code_challenge=" CHALLENGE "&code_challenge_method=S256"

/* The error of phase 2, or "ok". */
static const char *check(const char *query, struct request *request)
{
	auto_url_form struct url_form form = { .n = 0 };
	const char *error = NULL;
	struct err err;

	memset(request, 0, sizeof(*request));
	assert_int_equal(url_form_parse(&form, view_str(query)), 0);
	return request_check(&form, ISSUER, request, &error, &err) == 0 ? "ok" : error;
}

static void test_phase_two(void **state)
{
	static const struct {
		const char *query, *want;
	} rows[] = {
		{ GOOD, "ok" },
		{ GOOD "&scope=&state=&nonce=x&display=y", "ok" },
		{ GOOD "&scope=openid+email+profile", "ok" },
		{ GOOD "&response_mode=query", "ok" },
		{ GOOD "&prompt=consent", "ok" },
		{ GOOD "&prompt=none", "interaction_required" },
		{ GOOD "&response_mode=fragment", "invalid_request" },
		{ GOOD "&response_mode=form_post", "invalid_request" },
		{ GOOD "&request=eyJ", "request_not_supported" },
		{ GOOD "&request_uri=https%3A%2F%2Fx", "request_not_supported" },
		{ GOOD "&scope=a%22b", "invalid_scope" },
		{ GOOD "&scope=a%0Ab", "invalid_scope" },
		{ "code_challenge=" CHALLENGE "&code_challenge_method=S256", "invalid_request" },
		{ "response_type=token&code_challenge=" CHALLENGE "&code_challenge_method=S256",
		  "unsupported_response_type" },
		{ "response_type=code+token&code_challenge=" CHALLENGE,
		  "unsupported_response_type" },
		{ "response_type=code", "invalid_request" },
		{ "response_type=code&code_challenge=" CHALLENGE, "invalid_request" },
		{ "response_type=code&code_challenge=" CHALLENGE "&code_challenge_method=plain",
		  "invalid_request" },
		{ "response_type=code&code_challenge=" CHALLENGE "&code_challenge_method=s256",
		  "invalid_request" },
		{ "response_type=code&code_challenge=" CHALLENGE "x&code_challenge_method=S256",
		  "invalid_request" },
		{ "response_type=code&code_challenge=9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
		  "&code_challenge_method=S256",
		  "invalid_request" },
		{ "response_type=code&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw%2BcM"
		  "&code_challenge_method=S256",
		  "invalid_request" },
		{ GOOD "&resource=https%3A%2F%2Fevil.example%2Fmcp", "invalid_target" },
		{ GOOD "&resource=https%3A%2F%2Fberth.example%2Fmcp&resource=https%3A%2F%2Fevil",
		  "invalid_target" },
	};
	struct request request;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(check(rows[i].query, &request), rows[i].want) != 0)
			print_error("%s\n", rows[i].query);
		assert_string_equal(check(rows[i].query, &request), rows[i].want);
	}
}

static void test_values(void **state)
{
	struct request request;

	(void)state;
	(void)check(GOOD "&state=a%26b%3D%2B%25+%C3%BC&scope=sandbox+offline_access", &request);
	assert_true(request.has_state);
	assert_string_equal(request.state, "a&b=+% \xc3\xbc");
	assert_true(request.offline);
	assert_string_equal(request.challenge, CHALLENGE);
	(void)check(GOOD, &request);
	assert_false(request.has_state);
	assert_false(request.offline);
	(void)check(GOOD "&state=", &request);
	assert_true(request.has_state);
	/* Known before anything can fail: every error carries it. */
	(void)check("state=xyz", &request);
	assert_string_equal(request.state, "xyz");
}

static void test_long_state(void **state)
{
	auto_buf struct buf query = BUF_INIT(10000);
	struct request request;

	(void)state;
	assert_int_equal(buf_add_str(&query, GOOD "&state="), 0);
	for (size_t i = 0; i < OAUTH_MAX_STATE; i++)
		assert_int_equal(buf_add_char(&query, 's'), 0);
	assert_string_equal(check(buf_str(&query), &request), "ok");
	assert_int_equal(buf_add_char(&query, 's'), 0);
	assert_string_equal(check(buf_str(&query), &request), "invalid_request");
	assert_false(request.has_state);
}

static void test_resources(void **state)
{
	static const struct {
		const char *resource;
		bool ours;
	} rows[] = {
		{ ISSUER "/mcp", true },
		{ ISSUER "/mcp/", true },
		{ ISSUER, true },
		{ ISSUER "/", true },
		{ "HTTPS://BERTH.example:443/mcp", true },
		{ ISSUER ":443", true },
		{ ISSUER "/MCP", false },
		{ ISSUER "/mcp/x", false },
		{ ISSUER "/mcp?x", false },
		{ ISSUER "/mcp#x", false },
		{ ISSUER "//mcp", false },
		{ ISSUER ":8443/mcp", false },
		{ ISSUER ".evil/mcp", false },
		{ "https://evil@berth.example/mcp", false },
		{ "https://berth.example@evil/mcp", false },
		{ "http://berth.example/mcp", false },
		{ "berth.example/mcp", false },
		{ "/mcp", false },
		{ "", false },
		{ "https:", false },
		{ "://", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(request_is_resource(view_str(rows[i].resource), ISSUER),
				 rows[i].ours);
	}
	assert_true(
		request_is_resource(VIEW("http://127.0.0.1:8000/mcp"), "http://127.0.0.1:8000"));
	assert_true(request_is_resource(VIEW("http://h:80/mcp"), "http://h"));
}

static void test_redirect_and_duplicates(void **state)
{
	static const char registered[] = "https://a/cb\nhttp://localhost/cb";
	static const struct {
		const char *query;
		int want;
		bool duplicate;
	} rows[] = {
		{ "redirect_uri=https%3A%2F%2Fa%2Fcb", 0, false },
		{ "redirect_uri=http%3A%2F%2Flocalhost%3A77%2Fcb", 0, false },
		{ "redirect_uri=https%3A%2F%2Fa%2Fcb%0Ahttp%3A%2F%2Flocalhost%2Fcb", -EINVAL,
		  false },
		{ "redirect_uri=https%3A%2F%2Fa%2F", -EINVAL, false },
		{ "redirect_uri=", -EINVAL, false },
		{ "", -EINVAL, false },
		{ "state=a&state=b", -EINVAL, true },
		{ "client_id=a&x=1&client_id=a", -EINVAL, true },
		{ "st%61te=a&state=b", -EINVAL, true },
		{ "resource=a&resource=b&nonce=1&nonce=2", -EINVAL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_url_form struct url_form form = { .n = 0 };
		struct request request = { .shown = 0 };

		assert_int_equal(url_form_parse(&form, view_str(rows[i].query)), 0);
		assert_int_equal(request_check_redirect(&form, registered, &request), rows[i].want);
		assert_int_equal(request_has_duplicate(&form), rows[i].duplicate);
	}
}

static struct request sample(void)
{
	struct request r = { .has_state = true, .offline = true, .shown = 123456789 };

	(void)snprintf(r.redirect_uri, sizeof(r.redirect_uri), "https://a/cb");
	(void)snprintf(r.state, sizeof(r.state), "the state");
	(void)snprintf(r.challenge, sizeof(r.challenge), CHALLENGE);
	memset(r.client, 1, sizeof(r.client));
	memset(r.cookie, 2, sizeof(r.cookie));
	return r;
}

static void test_seal(void **state)
{
	uint8_t key[REQUEST_KEY_BYTES] = { 1 }, other[REQUEST_KEY_BYTES] = { 2 };
	auto_buf struct buf sealed = BUF_INIT(REQUEST_MAX_SEALED);
	struct request in = sample(), out;
	struct err err;

	(void)state;
	assert_int_equal(request_seal(&in, key, &sealed, &err), 0);
	assert_int_equal(request_open(buf_view(&sealed), key, &out), 0);
	assert_string_equal(out.redirect_uri, in.redirect_uri);
	assert_string_equal(out.state, in.state);
	assert_string_equal(out.challenge, in.challenge);
	assert_memory_equal(out.client, in.client, sizeof(in.client));
	assert_memory_equal(out.cookie, in.cookie, sizeof(in.cookie));
	assert_true(out.has_state && out.offline);
	assert_int_equal(out.shown, in.shown);

	assert_int_equal(request_open(buf_view(&sealed), other, &out), -EINVAL);
	assert_int_equal(request_open(VIEW(""), key, &out), -EINVAL);
	assert_int_equal(request_open(view_first(buf_view(&sealed), 50), key, &out), -EINVAL);
	/* No byte of it can be changed. */
	for (size_t i = 0; i < sealed.len; i += 7) {
		char was = sealed.p[i];

		sealed.p[i] = was == 'A' ? 'B' : 'A';
		assert_int_equal(request_open(buf_view(&sealed), key, &out), -EINVAL);
		sealed.p[i] = was;
	}
}

static void test_seal_longest(void **state)
{
	uint8_t key[REQUEST_KEY_BYTES] = { 1 };
	auto_buf struct buf sealed = BUF_INIT(REQUEST_MAX_SEALED);
	struct request in = sample(), out;
	struct err err;

	(void)state;
	memset(in.redirect_uri, 'r', sizeof(in.redirect_uri) - 1);
	memset(in.state, 's', sizeof(in.state) - 1);
	assert_int_equal(request_seal(&in, key, &sealed, &err), 0);
	assert_int_equal(request_open(buf_view(&sealed), key, &out), 0);
	assert_string_equal(out.redirect_uri, in.redirect_uri);
	assert_string_equal(out.state, in.state);
	/* It fits a form, with room for the other fields. */
	assert_true(sealed.len + 1024 < OAUTH_MAX_FORM);
}

static void test_identity(void **state)
{
	struct request a = sample(), b = sample();
	uint8_t first[SECRET_HASH_BYTES], second[SECRET_HASH_BYTES];

	(void)state;
	request_identity(&a, first);
	b.shown = 1;
	request_identity(&b, second);
	assert_memory_equal(first, second, sizeof(first)); /* the page was loaded again */
	b.cookie[0] ^= 1;
	request_identity(&b, second);
	assert_memory_not_equal(first, second, sizeof(first)); /* another browser */
	b = sample();
	b.challenge[0] = 'X';
	request_identity(&b, second);
	assert_memory_not_equal(first, second, sizeof(first)); /* another request of the app */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phase_two),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_state),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_redirect_and_duplicates),
		cmocka_unit_test(test_seal),
		cmocka_unit_test(test_seal_longest),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
