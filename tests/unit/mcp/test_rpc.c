/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC messages: kinds, ids, errors. */
#include "mcp/rpc.h"

#include "mcp/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_kinds(void **state)
{
	static const struct {
		const char *body;
		enum rpc_kind kind;
		bool has_id;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a\"}", RPC_REQUEST, true },
		{ "{\"method\":\"a\",\"jsonrpc\":\"2.0\",\"id\":\"x\"}", RPC_REQUEST, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-9007199254740993,\"method\":\"a\"}", RPC_REQUEST,
		  true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":null}", RPC_REQUEST,
		  true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", RPC_NOTIFICATION, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, true },
		{ "{\"jsonrpc\":\"2.0\",\"error\":{}}", RPC_RESPONSE, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"a\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000\",\"method\":\"a\"}", RPC_INVALID,
		  false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}", RPC_INVALID,
		  true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":\"x\"}", RPC_INVALID,
		  true },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", RPC_INVALID, true },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", RPC_INVALID, true },
		{ "{\"id\":1,\"method\":\"a\"}", RPC_INVALID, true },
		{ "{}", RPC_INVALID, false },
		{ "[]", RPC_INVALID, false },
		{ "\"text\"", RPC_INVALID, false },
		{ "null", RPC_INVALID, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct rpc_message m;
		auto_json json_t *body = json_parse_allow_nul(view_str(rows[i].body), &err);

		assert_non_null(body);
		rpc_read(body, &m);
		if (m.kind != rows[i].kind || (m.id != NULL) != rows[i].has_id)
			fail_msg("row %zu: kind %d", i, m.kind);
		assert_int_equal(m.kind == RPC_INVALID, m.why != NULL);
	}
}

static void test_ids_are_bounded(void **state)
{
	char text[MCP_MAX_ID + 2] = { 0 };

	(void)state;
	memset(text, 'x', MCP_MAX_ID + 1);
	auto_json json_t *longer = json_string(text);
	text[MCP_MAX_ID] = '\0';
	auto_json json_t *longest = json_string(text);

	assert_true(rpc_is_token(longest));
	assert_false(rpc_is_token(longer));
	assert_false(rpc_is_token(NULL));
}

/* Echoed with the same type and every digit. */
static void test_errors(void **state)
{
	static const struct {
		const char *id;
		struct rpc_error error;
		const char *want;
	} rows[] = {
		{ NULL,
		  { RPC_PARSE_ERROR, "Parse error", NULL },
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}" },
		{ "0",
		  { RPC_METHOD_NOT_FOUND, "no \"x\"", NULL },
		  "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32601,"
		  "\"message\":\"no \\\"x\\\"\"}}" },
		{ "\"a\\\"b\"",
		  { RPC_UNSUPPORTED_VERSION, "m", "{\"requested\":\"v\"}" },
		  "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"error\":{\"code\":-32022,"
		  "\"message\":\"m\",\"data\":{\"requested\":\"v\"}}}" },
		{ "9007199254740993",
		  { RPC_INTERNAL_ERROR, "m", NULL },
		  "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"error\":{\"code\":-32603,"
		  "\"message\":\"m\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		auto_json json_t *id = rows[i].id ? json_parse(view_str(rows[i].id), &err) : NULL;
		auto_buf struct buf out = BUF_INIT(1024);
		auto_buf struct buf small = BUF_INIT(strlen(rows[i].want) - 1);

		assert_int_equal(rpc_add_error(&out, id, &rows[i].error), 0);
		assert_string_equal(buf_str(&out), rows[i].want);
		assert_int_equal(rpc_add_error(&small, id, &rows[i].error), -ENOSPC);
		assert_int_equal(small.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_ids_are_bounded),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
