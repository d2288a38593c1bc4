/* SPDX-License-Identifier: Apache-2.0 */
/* Redirect URIs: which are acceptable, which match, and the Location made of them. */
#include "oauth/redirect.h"

#include "oauth/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_accepts(void **state)
{
	static const struct {
		const char *uri;
		enum redirect_kind kind;
		const char *host;
	} rows[] = {
		{ "https://claude.ai/api/mcp/auth_callback", REDIRECT_WEB, "claude.ai" },
		{ "https://claude.com/api/mcp/auth_callback", REDIRECT_WEB, "claude.com" },
		{ "https://chatgpt.com/connector/oauth/abc-DEF_1", REDIRECT_WEB, "chatgpt.com" },
		{ "https://vscode.dev/redirect", REDIRECT_WEB, "vscode.dev" },
		{ "https://host:8443/cb?a=1", REDIRECT_WEB, "host" },
		{ "https://[2001:db8::1]:8443/cb", REDIRECT_WEB, "[2001:db8::1]" },
		{ "https://UPPER.example/cb", REDIRECT_WEB, "UPPER.example" },
		{ "https://grok.com/connectors-oauth-exchange-code/", REDIRECT_WEB, "grok.com" },
		{ "http://localhost/callback", REDIRECT_LOOPBACK, "localhost" },
		{ "http://localhost:6274/oauth/callback", REDIRECT_LOOPBACK, "localhost" },
		{ "http://127.0.0.1:33418/", REDIRECT_LOOPBACK, "127.0.0.1" },
		{ "http://127.0.0.1:33418", REDIRECT_LOOPBACK, "127.0.0.1" },
		{ "http://[::1]:9/cb", REDIRECT_LOOPBACK, "[::1]" },
		{ "cursor://anysphere.cursor-mcp/oauth/callback", REDIRECT_APP, "" },
		{ "claude://claude.ai/mcp-auth-callback/sdk", REDIRECT_APP, "" },
		{ "vscode-insiders://x/y", REDIRECT_APP, "" },
		{ "com.example.app:/cb", REDIRECT_APP, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct redirect r = { .host = VIEW("") };

		assert_int_equal(redirect_parse(view_str(rows[i].uri), &r), 0);
		assert_int_equal(r.kind, rows[i].kind);
		if (r.kind != REDIRECT_APP)
			assert_true(view_is(r.host, rows[i].host));
	}
}

static void test_refuses(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT(""),
		VIEW_INIT("https"),
		VIEW_INIT("https:"),
		VIEW_INIT("https://"),
		VIEW_INIT("https:///cb"),
		VIEW_INIT("https:/cb"),
		VIEW_INIT("/cb"),
		VIEW_INIT("//host/cb"),
		VIEW_INIT("javascript:alert(1)"),
		VIEW_INIT("javascript://x/%0aalert(1)"),
		VIEW_INIT("JaVaScRiPt://x/"),
		VIEW_INIT("data:text/html,x"),
		VIEW_INIT("data://x/y"),
		VIEW_INIT("file:///etc/passwd"),
		VIEW_INIT("vbscript://x"),
		VIEW_INIT("blob:https://a/b"),
		VIEW_INIT("about://blank"),
		VIEW_INIT("view-source:https://a"),
		VIEW_INIT("chrome://settings"),
		VIEW_INIT("chrome-extension://x/y"),
		VIEW_INIT("intent://x#Intent;end"),
		VIEW_INIT("ms-msdt://x"),
		VIEW_INIT("MS-word://x"),
		VIEW_INIT("mailto:a@b.c"),
		VIEW_INIT("ftp://a/b"),
		VIEW_INIT("ws://a/b"),
		VIEW_INIT("c:/windows"),
		VIEW_INIT("c://windows"),
		VIEW_INIT("1ab://x"),
		VIEW_INIT("app:cb"),
		VIEW_INIT("app:/cb"),
		VIEW_INIT("app://"),
		VIEW_INIT("http://evil.example/cb"),
		VIEW_INIT("http://localhost.evil.example/cb"),
		VIEW_INIT("http://LOCALHOST/cb"),
		VIEW_INIT("http://127.0.0.1.nip.io/cb"),
		VIEW_INIT("http://127.0.0.1@evil.example/cb"),
		VIEW_INIT("http://127.0.0.1:80@evil.example/cb"),
		VIEW_INIT("http://127.0.0.1:@evil.example/cb"),
		VIEW_INIT("http://evil.example\\@127.0.0.1/cb"),
		VIEW_INIT("http://127.1/cb"),
		VIEW_INIT("http://2130706433/cb"),
		VIEW_INIT("http://0x7f.0.0.1/cb"),
		VIEW_INIT("http://0.0.0.0/cb"),
		VIEW_INIT("http://[::]/cb"),
		VIEW_INIT("http://[::ffff:127.0.0.1]/cb"),
		VIEW_INIT("http://[::1/cb"),
		VIEW_INIT("http://127.0.0.1:/cb"),
		VIEW_INIT("http://127.0.0.1:0/cb"),
		VIEW_INIT("http://127.0.0.1:65536/cb"),
		VIEW_INIT("http://127.0.0.1:8x/cb"),
		VIEW_INIT("http://127.0.0.1:+80/cb"),
		VIEW_INIT("https://user@host/cb"),
		VIEW_INIT("https://user:pw@host/cb"),
		VIEW_INIT("https://ho%73t/cb"),
		VIEW_INIT("https://h\xc3\xb6st/cb"),
		VIEW_INIT("https://host/cb#frag"),
		VIEW_INIT("https://host/cb#"),
		VIEW_INIT("https://host/c b"),
		VIEW_INIT("https://host/\r\nSet-Cookie: x=y"),
		VIEW_INIT("https://host/\0x"),
		VIEW_INIT("https://host/<script>"),
		VIEW_INIT("https://host/\""),
		VIEW_INIT("https://host\\evil/"),
		VIEW_INIT("https://host/`x`"),
		VIEW_INIT(" https://host/cb"),
		VIEW_INIT("https://host/cb\x7f"),
	};
	char longer[OAUTH_MAX_REDIRECT + 2] = "https://host/";
	struct redirect r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (redirect_parse(rows[i], &r) == 0)
			print_error("accepted: %.*s\n", VIEW_ARG(rows[i]));
		assert_int_equal(redirect_parse(rows[i], &r), -EINVAL);
	}
	memset(longer + 13, 'a', sizeof(longer) - 14);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(redirect_parse(view_str(longer), &r), -EINVAL);
	longer[sizeof(longer) - 2] = '\0';
	assert_int_equal(redirect_parse(view_str(longer), &r), 0);
}

static void test_matches(void **state)
{
	static const struct {
		const char *registered, *asked;
		bool same;
	} rows[] = {
		{ "https://a/cb", "https://a/cb", true },
		{ "https://a/cb", "https://a/cb/", false },
		{ "https://a/cb", "https://a/cb?x=1", false },
		{ "https://a/cb", "https://a/CB", false },
		{ "https://a/cb", "https://a:443/cb", false },
		{ "https://a/cb", "https://A/cb", false },
		{ "https://a/cb", "http://a/cb", false },
		{ "https://a:1/cb", "https://a:2/cb", false },
		{ "https://a", "https://a/", false },
		{ "http://localhost/cb", "http://localhost:5555/cb", true },
		{ "http://localhost:1/cb", "http://localhost/cb", true },
		{ "http://localhost:1/cb", "http://127.0.0.1:1/cb", false },
		{ "http://127.0.0.1/cb", "http://localhost/cb", false },
		{ "http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true },
		{ "http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb/x", false },
		{ "http://127.0.0.1:1/cb?a=1", "http://127.0.0.1:2/cb?a=1", true },
		{ "http://127.0.0.1:1/cb?a=1", "http://127.0.0.1:2/cb?a=2", false },
		{ "http://127.0.0.1:1/", "http://127.0.0.1:1", false },
		{ "http://[::1]:1/cb", "http://[::1]:2/cb", true },
		{ "http://localhost/cb", "https://localhost/cb", false },
		{ "cursor://a/cb", "cursor://a/cb", true },
		{ "cursor://a:1/cb", "cursor://a:2/cb", false },
		{ "http://127.0.0.1/cb", "http://127.0.0.1@evil/cb", false },
		{ "javascript://a", "javascript://a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf a = BUF_INIT(2000), b = BUF_INIT(2000);
		struct view registered = view_str(rows[i].registered);
		struct view asked = view_str(rows[i].asked);

		if (redirect_matches(registered, asked) != rows[i].same)
			print_error("%s and %s\n", rows[i].registered, rows[i].asked);
		assert_int_equal(redirect_matches(registered, asked), rows[i].same);
		/* Canonical forms agree with it. */
		if (redirect_canonical(&a, registered) == 0 && redirect_canonical(&b, asked) == 0)
			assert_int_equal(view_eq(buf_view(&a), buf_view(&b)), rows[i].same);
	}
}

static void test_location(void **state)
{
	static const struct {
		const char *uri, *want;
	} rows[] = {
		{ "https://a/cb", "https://a/cb?code=x%26y%3D%2B%25%20%C3%BC&iss=https%3A%2F%2Fb" },
		{ "https://a/cb?q=1",
		  "https://a/cb?q=1&code=x%26y%3D%2B%25%20%C3%BC&iss=https%3A%2F%2Fb" },
		{ "https://a/cb?",
		  "https://a/cb?code=x%26y%3D%2B%25%20%C3%BC&iss=https%3A%2F%2Fb" },
		{ "https://a/cb?q&",
		  "https://a/cb?q&code=x%26y%3D%2B%25%20%C3%BC&iss=https%3A%2F%2Fb" },
		{ "cursor://x", "cursor://x?code=x%26y%3D%2B%25%20%C3%BC&iss=https%3A%2F%2Fb" },
	};
	const struct redirect_param params[] = {
		{ "code", VIEW_INIT("x&y=+% \xc3\xbc") },
		{ "state", { NULL, 0 } },
		{ "iss", VIEW_INIT("https://b") },
		{ NULL, { NULL, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(2000);

		assert_int_equal(redirect_location(&out, view_str(rows[i].uri), params), 0);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_location),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
