/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's HTTP headers. */
#include "mcp/headers.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void add(struct mcp_headers *h, const char *name, const char *value)
{
	mcp_headers_add(h, view_str(name), view_str(value));
}

static void test_content_type(void **state)
{
	static const struct {
		const char *value;
		bool json;
	} rows[] = {
		{ "application/json", true },
		{ "Application/JSON", true },
		{ "application/json; charset=utf-8", true },
		{ "application/json ;charset=utf-8", true },
		{ " application/json", true },
		{ "text/plain", false },
		{ "application/jsonp", false },
		{ "application/x-www-form-urlencoded", false },
		{ "", false },
	};
	struct mcp_headers none = { 0 };

	(void)state;
	assert_false(mcp_headers_are_json(&none));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_headers h = { 0 };

		add(&h, "content-TYPE", rows[i].value);
		assert_int_equal(mcp_headers_are_json(&h), rows[i].json);
	}
}

static void test_accept(void **state)
{
	static const struct {
		const char *first, *second;
		bool stream;
	} rows[] = {
		{ NULL, NULL, true },
		{ "application/json, text/event-stream", NULL, true },
		{ "text/event-stream", NULL, true },
		{ "application/json", "text/event-stream", true },
		{ "*/*", NULL, true },
		{ "application/json, */*;q=0.1", NULL, true },
		{ "application/json", NULL, false },
		{ "application/*", NULL, false },
		{ "application/json;q=0.9 , application/xml", NULL, false },
		{ "TEXT/Event-Stream;q=1", NULL, true },
		{ "text/html", NULL, true },
		{ "", NULL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_headers h = { 0 };

		if (rows[i].first)
			add(&h, "Accept", rows[i].first);
		if (rows[i].second)
			add(&h, "accept", rows[i].second);
		if (mcp_headers_allow_stream(&h) != rows[i].stream)
			fail_msg("row %zu", i);
	}
}

static void test_version(void **state)
{
	struct mcp_headers h = { 0 };

	(void)state;
	add(&h, "mcp-PROTOCOL-version", "  2026-07-28\t");
	assert_true(view_is(h.version, "2026-07-28"));
	add(&h, "MCP-Protocol-Version", "2026-07-28, 2026-07-28");
	assert_true(view_is(h.version, "2026-07-28"));
	add(&h, "MCP-Protocol-Version", "2025-11-25");
	assert_true(view_is(h.version, "(sent twice)"));
	h = (struct mcp_headers){ 0 };
	add(&h, "MCP-Protocol-Version", "2026-07-28, 2025-11-25");
	assert_true(view_is(h.version, "2026-07-28, 2025-11-25"));
}

static const char call_body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
				"\"params\":{\"name\":\"run \xc3\xa4\"}}";
static const char list_body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
static const char nameless_body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}";

static void test_check(void **state)
{
	static const struct {
		const char *body, *method, *name;
		bool required, optional; /* whether it passes under either duty */
	} rows[] = {
		{ list_body, "tools/list", NULL, true, true },
		{ list_body, " tools/list ", NULL, true, true },
		{ list_body, "Tools/List", NULL, false, false },
		{ list_body, "tools/call", NULL, false, false },
		{ list_body, NULL, NULL, false, true },
		{ list_body, "tools/list", "ignored", true, true },
		/* base64 of "run ä" */
		{ call_body, "tools/call", "=?base64?cnVuIMOk?=", true, true },
		{ call_body, "tools/call", " =?base64?cnVuIMOk?=\t", true, true },
		{ call_body, "tools/call", "=?base64?cnVuIMO?=", false, false },
		{ call_body, "tools/call", "=?BASE64?cnVuIMOk?=", false, false },
		{ call_body, "tools/call", "=?base64?cnVu IMOk?=", false, false },
		{ call_body, "tools/call", "=?base64?cnVuIMOk", false, false },
		{ call_body, "tools/call", "run \xc3\xa4", false, false },
		{ call_body, "tools/call", "run", false, false },
		{ call_body, "tools/call", "", false, false },
		{ call_body, "tools/call", NULL, false, true },
		{ nameless_body, "tools/call", "x", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct rpc_message m;
		struct mcp_headers h = { 0 };
		auto_json json_t *body = json_parse(view_str(rows[i].body), &err);

		assert_non_null(body);
		rpc_read(body, &m);
		if (rows[i].method)
			add(&h, "Mcp-Method", rows[i].method);
		if (rows[i].name)
			add(&h, "MCP-NAME", rows[i].name);
		if ((mcp_headers_check(&h, &m, HEADERS_REQUIRED, &err) == 0) != rows[i].required ||
		    (mcp_headers_check(&h, &m, HEADERS_OPTIONAL, &err) == 0) != rows[i].optional)
			fail_msg("row %zu: %s", i, err.msg);
		if (!rows[i].required)
			assert_non_null(strstr(err.msg, "Mcp-"));
	}
}

static void test_twice(void **state)
{
	struct err err = { 0 };
	struct rpc_message m;
	struct mcp_headers h = { 0 };
	auto_json json_t *body = json_parse(view_str(list_body), &err);

	(void)state;
	rpc_read(body, &m);
	add(&h, "Mcp-Method", "tools/list");
	add(&h, "Mcp-Method", "tools/list");
	assert_int_equal(mcp_headers_check(&h, &m, HEADERS_REQUIRED, &err), 0);
	add(&h, "Mcp-Method", "tools/call");
	assert_int_equal(mcp_headers_check(&h, &m, HEADERS_REQUIRED, &err), -1);
	assert_non_null(strstr(err.msg, "Mcp-Method header value '(sent twice)'"));
}

static void test_decode(void **state)
{
	static const struct {
		const char *value;
		int want;
		struct view text;
	} rows[] = {
		{ "plain", 0, VIEW_INIT("plain") },
		{ "", 0, VIEW_INIT("") },
		{ "=?base64?", 0, VIEW_INIT("=?base64?") },
		{ "=?base64?=", 0, VIEW_INIT("=?base64?=") },
		{ "=?base64?\?=", 0, VIEW_INIT("") },
		{ "=?base64?AAE=?=", 0, VIEW_INIT("\0\1") },
		{ "=?base64?AAE?=", -EINVAL, VIEW_INIT("") },
		{ "=?base64?AA-_?=", -EINVAL, VIEW_INIT("") },
		{ "=?base64?A?=", -EINVAL, VIEW_INIT("") },
		{ "a\tb", 0, VIEW_INIT("a\tb") },
		{ "a\x7f", -EINVAL, VIEW_INIT("") },
		{ "a\x01", -EINVAL, VIEW_INIT("") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(64);

		if (mcp_header_decode(view_str(rows[i].value), &out) != rows[i].want ||
		    !view_eq(buf_view(&out), rows[i].text))
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_type), cmocka_unit_test(test_accept),
		cmocka_unit_test(test_version),      cmocka_unit_test(test_check),
		cmocka_unit_test(test_twice),        cmocka_unit_test(test_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
