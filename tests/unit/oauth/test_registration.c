/* SPDX-License-Identifier: Apache-2.0 */
/* What clients register, and the ids made from it. */
#include "oauth/registration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define LOOPBACK "\"redirect_uris\":[\"http://127.0.0.1:9999/callback\"]"

/* What real clients send. */
static void test_accepts(void **state)
{
	static const struct {
		const char *body, *name;
		size_t redirects;
	} rows[] = {
		{ "{" LOOPBACK "}", "An MCP client", 1 },
		{ "{\"client_name\":\"ts-test\"," LOOPBACK
		  ",\"grant_types\":[\"authorization_code\",\"refresh_token\"],"
		  "\"response_types\":[\"code\"],\"token_endpoint_auth_method\":\"none\","
		  "\"application_type\":\"native\",\"scope\":\"sandbox offline_access\"}",
		  "ts-test", 1 },
		{ "{\"client_name\":\"Claude\",\"redirect_uris\":"
		  "[\"https://claude.ai/api/mcp/auth_callback\"],"
		  "\"token_endpoint_auth_method\":\"client_secret_post\","
		  "\"scope\":\"claudeai openid email profile\"}",
		  "Claude", 1 },
		{ "{\"client_name\":\"Cursor\",\"redirect_uris\":"
		  "[\"cursor://anysphere.cursor-mcp/oauth/callback\","
		  "\"https://www.cursor.com/agents/mcp/oauth/callback\","
		  "\"http://localhost:8787/callback\",\"http://evil.example/cb\"]}",
		  "Cursor", 3 },
		{ "{\"client_name\":\"MCP CLI Proxy\",\"client_uri\":\"https://github.com/x\","
		  "\"software_id\":\"2e6dc280\",\"redirect_uris\":"
		  "[\"http://localhost:47779/oauth/callback\"],\"contacts\":null,\"jwks\":{}}",
		  "MCP CLI Proxy", 1 },
		{ "{" LOOPBACK ",\"grant_types\":[\"authorization_code\","
		  "\"urn:ietf:params:oauth:grant-type:jwt-bearer\"]}",
		  "An MCP client", 1 },
		{ "{" LOOPBACK ",\"client_name\":\"\",\"application_type\":7}", "An MCP client",
		  1 },
		{ "{" LOOPBACK ",\"client_name\":null,\"grant_types\":null}", "An MCP client", 1 },
		{ "{" LOOPBACK ",\"client_name\":\" \\u202eevil\\u0007\\u200b name \\ufeff\"}",
		  "evil name", 1 },
		{ "{" LOOPBACK ",\"client_name\":\"<script>alert(1)</script>\"}",
		  "<script>alert(1)</script>", 1 },
		{ "{" LOOPBACK ",\"client_name\":\"\\u0000\"}", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_registration struct registration reg = { .document = NULL };
		const char *error = NULL;
		struct err err;
		int r = registration_parse(view_str(rows[i].body), &reg, &error, &err);

		assert_int_equal(r, rows[i].name ? 0 : -1);
		if (r < 0)
			continue;
		assert_int_equal(reg.n_redirects, rows[i].redirects);
		/* Trailing spaces may be left where hidden characters were. */
		assert_int_equal(strncmp(reg.name, rows[i].name, strlen(rows[i].name)), 0);
	}
}

static void test_refuses(void **state)
{
	static const struct {
		struct view body;
		const char *error;
	} rows[] = {
		{ VIEW_INIT(""), "invalid_client_metadata" },
		{ VIEW_INIT("[]"), "invalid_client_metadata" },
		{ VIEW_INIT("{"), "invalid_client_metadata" },
		{ VIEW_INIT("\xef\xbb\xbf{}"), "invalid_client_metadata" },
		{ VIEW_INIT("{\"a\":\"\xff\"}"), "invalid_client_metadata" },
		{ VIEW_INIT("{\"a\":1,\"a\":2," LOOPBACK "}"), "invalid_client_metadata" },
		{ VIEW_INIT("{}"), "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[]}"), "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":\"https://a/b\"}"), "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[1]}"), "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[\"https://a/b\",null]}"), "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[\"javascript:alert(1)\"]}"),
		  "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[\"https://a/b\\nhttps://c\"]}"),
		  "invalid_redirect_uri" },
		{ VIEW_INIT("{\"redirect_uris\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
			    "\"a\",\"a\",\"https://a/b\"]}"),
		  "invalid_redirect_uri" },
		{ VIEW_INIT("{" LOOPBACK ",\"grant_types\":[\"client_credentials\"]}"),
		  "invalid_client_metadata" },
		{ VIEW_INIT("{" LOOPBACK ",\"grant_types\":[]}"), "invalid_client_metadata" },
		{ VIEW_INIT("{" LOOPBACK ",\"response_types\":[\"token\"]}"),
		  "invalid_client_metadata" },
		{ VIEW_INIT("{" LOOPBACK ",\"client_name\":{}}"), "invalid_client_metadata" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct registration reg = { .n_redirects = 99 };
		const char *error = NULL;
		struct err err;

		assert_int_equal(registration_parse(rows[i].body, &reg, &error, &err), -1);
		assert_string_equal(error, rows[i].error);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(reg.n_redirects, 99);
	}
}

static void test_refuses_deep(void **state)
{
	struct registration reg;
	const char *error;
	char deep[10000];
	struct err err;

	(void)state;
	memset(deep, '[', sizeof(deep));
	assert_int_equal(registration_parse(view_of(deep, sizeof(deep)), &reg, &error, &err), -1);
}

static void test_long_name_is_cut(void **state)
{
	auto_buf struct buf body = BUF_INIT(20000);
	auto_registration struct registration reg = { .document = NULL };
	const char *error;
	struct err err;

	(void)state;
	assert_int_equal(buf_addf(&body, "{" LOOPBACK ",\"client_name\":\"x"), 0);
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(buf_add_str(&body, "\xc3\xbc"), 0);
	assert_int_equal(buf_add_str(&body, "\"}"), 0);
	assert_int_equal(registration_parse(buf_view(&body), &reg, &error, &err), 0);
	assert_int_equal(strlen(reg.name), 99); /* never half a character */
}

static void make_id(const char *body, const char *issuer, char ret[REGISTRATION_ID_TEXT])
{
	auto_registration struct registration reg = { .document = NULL };
	const char *error;
	struct err err;

	assert_int_equal(registration_parse(view_str(body), &reg, &error, &err), 0);
	assert_int_equal(registration_id(&reg, issuer, ret, &err), 0);
	assert_true(registration_is_id(view_str(ret)));
}

static void test_ids(void **state)
{
	static const struct {
		const char *body, *issuer;
		bool same;
	} rows[] = {
		{ "{\"redirect_uris\":[\"http://localhost:2/a\",\"https://b/c\"],"
		  "\"client_name\":\"n\"}",
		  "https://i", true },
		/* Order, repeats, ports of loopback, scope and whatever else do not count. */
		{ "{\"redirect_uris\":[\"https://b/c\",\"http://localhost/a\"],\"client_name\":"
		  "\"n\",\"scope\":\"x\",\"token_endpoint_auth_method\":\"client_secret_post\"}",
		  "https://i", true },
		{ "{\"redirect_uris\":[\"http://localhost:9/a\",\"http://localhost:8/a\","
		  "\"https://b/c\",\"http://refused/\"],\"client_name\":\"n\"}",
		  "https://i", true },
		{ "{\"redirect_uris\":[\"http://localhost:2/a\",\"https://b/c\"],"
		  "\"client_name\":\"m\"}",
		  "https://i", false },
		{ "{\"redirect_uris\":[\"http://localhost:2/a\",\"https://b/d\"],"
		  "\"client_name\":\"n\"}",
		  "https://i", false },
		{ "{\"redirect_uris\":[\"http://127.0.0.1:2/a\",\"https://b/c\"],"
		  "\"client_name\":\"n\"}",
		  "https://i", false },
		{ "{\"redirect_uris\":[\"http://localhost:2/a\",\"https://b/c\"],"
		  "\"client_name\":\"n\",\"application_type\":\"native\"}",
		  "https://i", false },
		{ "{\"redirect_uris\":[\"http://localhost:2/a\",\"https://b/c\"],"
		  "\"client_name\":\"n\"}",
		  "https://j", false },
	};
	char first[REGISTRATION_ID_TEXT], other[REGISTRATION_ID_TEXT];

	(void)state;
	make_id(rows[0].body, rows[0].issuer, first);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_id(rows[i].body, rows[i].issuer, other);
		assert_int_equal(strcmp(first, other) == 0, rows[i].same);
	}
	assert_false(registration_is_id(VIEW("")));
	assert_false(registration_is_id(VIEW("https://claude.ai/oauth/client")));
	first[5] = 'G';
	assert_false(registration_is_id(view_str(first)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),      cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_refuses_deep), cmocka_unit_test(test_long_name_is_cut),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
