/* SPDX-License-Identifier: Apache-2.0 */
/* Which revision serves which message: the whole decision table, row by row. */
#include "mcp/era.h"

#include "mcp/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define META(claim) "\"_meta\":{\"" MCP_META_VERSION "\":" claim "}"
#define REQUEST(method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(params) REQUEST("tools/list", params)
#define NOTE         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static struct view header_of(const char *value)
{
	return value ? view_str(value) : (struct view){ 0 };
}

static void test_decide(void **state)
{
	static const struct {
		const char *body;
		const char *header; /* NULL: absent */
		enum era_action action;
		enum mcp_era era;
		int code;
		const char *message; /* part of it */
	} rows[] = {
		/* A client's answer to a question that was never asked. */
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "bogus", ERA_ACCEPT },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", NULL, ERA_ACCEPT },
		/* Notifications. */
		{ NOTE, NULL, ERA_ACCEPT },
		{ NOTE, "2025-11-25", ERA_ACCEPT },
		{ NOTE, "2025-03-26", ERA_ACCEPT },
		{ NOTE, "2024-10-07", ERA_ACCEPT },
		{ NOTE, "2026-07-28", ERA_ACCEPT, MCP_MODERN },
		{ NOTE, "v999.0.0", ERA_REFUSE, 0, RPC_UNSUPPORTED_VERSION },
		{ NOTE, "", ERA_REFUSE, 0, RPC_UNSUPPORTED_VERSION },
		/* initialize says its version in its own parameter; the header does not count. */
		{ REQUEST("initialize", ""), NULL, ERA_SERVE, MCP_LEGACY },
		{ REQUEST("initialize", ""), "2025-06-18", ERA_SERVE, MCP_LEGACY },
		{ REQUEST("initialize", ""), "2026-07-28", ERA_SERVE, MCP_LEGACY },
		{ REQUEST("initialize", ""), "nonsense", ERA_SERVE, MCP_LEGACY },
		/* Requests without a claim. */
		{ CALL(""), NULL, ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2025-11-25", ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2025-06-18", ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2025-03-26", ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2024-11-05", ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2024-10-07", ERA_SERVE, MCP_LEGACY },
		/* Other reserved keys without the version are no claim. */
		{ CALL("\"_meta\":{\"" MCP_META_CLIENT "\":{},\"" MCP_META_CAPABILITIES "\":{}}"),
		  "2025-11-25", ERA_SERVE, MCP_LEGACY },
		{ CALL("\"_meta\":\"text\""), NULL, ERA_SERVE, MCP_LEGACY },
		{ CALL(""), "2026-07-28", ERA_REFUSE, 0, RPC_INVALID_PARAMS, MCP_META_VERSION },
		{ CALL(""), "2027-01-01", ERA_REFUSE, 0, RPC_INVALID_PARAMS, MCP_META_VERSION },
		{ CALL("\"_meta\":[]"), "2026-07-28", ERA_REFUSE, 0, RPC_INVALID_PARAMS },
		{ CALL(""), "v999.0.0", ERA_REFUSE, 0, RPC_LEGACY_BAD_VERSION,
		  "Unsupported protocol version: v999.0.0 (supported versions: 2025-11-25" },
		{ CALL(""), "2025-11-26", ERA_REFUSE, 0, RPC_LEGACY_BAD_VERSION },
		{ CALL(""), "2026-07-28x", ERA_REFUSE, 0, RPC_LEGACY_BAD_VERSION },
		{ CALL(""), "", ERA_REFUSE, 0, RPC_LEGACY_BAD_VERSION },
		/* A claim of the wrong type. */
		{ CALL(META("5")), "2026-07-28", ERA_REFUSE, 0, RPC_INVALID_PARAMS, "string" },
		{ CALL(META("null")), NULL, ERA_REFUSE, 0, RPC_INVALID_PARAMS, "string" },
		/* A supported claim. */
		{ CALL(META("\"2026-07-28\"")), "2026-07-28", ERA_SERVE, MCP_MODERN },
		{ CALL(META("\"2026-07-28\"")), "2025-11-25", ERA_SERVE, MCP_MODERN },
		{ CALL(META("\"2026-07-28\"")), NULL, ERA_REFUSE, 0, RPC_HEADER_MISMATCH,
		  "missing" },
		{ CALL(META("\"2026-07-28\"")), "", ERA_REFUSE, 0, RPC_HEADER_MISMATCH },
		{ CALL(META("\"2026-07-28\"")), "2026-07-29", ERA_REFUSE, 0, RPC_HEADER_MISMATCH,
		  "'2026-07-29' does not match body value '2026-07-28'" },
		/* Unsupported claims. */
		{ CALL(META("\"v999.0.0\"")), "2026-07-28", ERA_REFUSE, 0, RPC_HEADER_MISMATCH },
		{ CALL(META("\"v999.0.0\"")), NULL, ERA_REFUSE, 0, RPC_HEADER_MISMATCH },
		{ CALL(META("\"v999.0.0\"")), "v999.0.0", ERA_REFUSE, 0, RPC_UNSUPPORTED_VERSION },
		{ CALL(META("\"2025-11-25\"")), "2025-11-25", ERA_REFUSE, 0,
		  RPC_UNSUPPORTED_VERSION },
		{ CALL(META("\"DRAFT-2026\"")), "DRAFT-2026", ERA_REFUSE, 0,
		  RPC_UNSUPPORTED_VERSION },
		/* initialize with a claim is a modern request (for a method that is not there). */
		{ REQUEST("initialize", META("\"2026-07-28\"")), "2026-07-28", ERA_SERVE,
		  MCP_MODERN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct rpc_message message;
		struct era_verdict v;
		auto_json json_t *body = json_parse(view_str(rows[i].body), &err);

		assert_non_null(body);
		rpc_read(body, &message);
		assert_int_not_equal(message.kind, RPC_INVALID);
		era_decide(&message, header_of(rows[i].header), ERA_SKEW_ACCEPTED, &v);
		if (v.action != rows[i].action || v.era != rows[i].era)
			fail_msg("row %zu: action %d, era %d: %s", i, v.action, v.era, v.message);
		if (v.action == ERA_REFUSE)
			assert_int_equal(v.code, rows[i].code);
		if (rows[i].message && !strstr(v.message, rows[i].message))
			fail_msg("row %zu: %s", i, v.message);
	}
}

static void decide(const char *text, const char *header, enum era_skew skew, struct era_verdict *v)
{
	struct err err = { 0 };
	struct rpc_message message;
	auto_json json_t *body = json_parse(view_str(text), &err);

	assert_non_null(body);
	rpc_read(body, &message);
	era_decide(&message, header_of(header), skew, v);
}

static void test_skew(void **state)
{
	struct era_verdict v;

	(void)state;
	decide(CALL(META("\"2026-07-28\"")), "2025-11-25", ERA_SKEW_ACCEPTED, &v);
	assert_true(v.headers_optional);
	decide(CALL(META("\"2026-07-28\"")), "2026-07-28", ERA_SKEW_ACCEPTED, &v);
	assert_false(v.headers_optional);
	decide(CALL(META("\"2026-07-28\"")), "2025-11-25", ERA_SKEW_REFUSED, &v);
	assert_int_equal(v.action, ERA_REFUSE);
	assert_int_equal(v.code, RPC_HEADER_MISMATCH);
}

/* -32022 says what is supported and what was asked for, however long that is. */
static void test_unsupported_data(void **state)
{
	char claim[400], text[800];
	struct era_verdict v;
	struct err err = { 0 };

	(void)state;
	decide(CALL(META("\"v9\"")), "v9", ERA_SKEW_ACCEPTED, &v);
	assert_string_equal(v.data, "{\"supported\":[\"2026-07-28\"],\"requested\":\"v9\"}");

	claim[sizeof(claim) - 1] = '\0';
	for (size_t i = 0; i < sizeof(claim) - 1; i++)
		claim[i] = i % 2 ? 'x' : '&';
	(void)snprintf(text, sizeof(text), CALL(META("\"%s\"")), claim);
	decide(text, claim, ERA_SKEW_ACCEPTED, &v);

	auto_json json_t *data = json_parse(view_str(v.data), &err);
	assert_non_null(data);
	assert_true(json_is_string(json_object_get(data, "requested")));
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static void test_batch(void **state)
{
	static const struct {
		const char *body, *header;
		bool good;
	} rows[] = {
		{ "[" PING "]", NULL, true },
		{ "[" PING "," NOTE "]", "2025-03-26", true },
		{ "[" NOTE "]", "2024-11-05", true },
		{ "[" PING "]", "2025-06-18", false },
		{ "[" PING "]", "2025-11-25", false },
		{ "[" PING "]", "2026-07-28", false },
		{ "[" PING "]", "bogus", false },
		{ "[]", NULL, false },
		{ "[1]", NULL, false },
		{ "[" PING ",{}]", NULL, false },
		{ "[[" PING "]]", NULL, false },
		{ "[" CALL(META("\"2026-07-28\"")) "]", NULL, false },
		{ "[" REQUEST("initialize", "") "]", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		auto_json json_t *body = json_parse(view_str(rows[i].body), &err);

		assert_non_null(body);
		if (!era_refuse_batch(body, header_of(rows[i].header)) != rows[i].good)
			fail_msg("row %zu", i);
	}
}

static void test_batch_is_bounded(void **state)
{
	struct err err = { 0 };

	(void)state;
	for (int over = 0; over < 2; over++) {
		auto_json json_t *batch = json_array();

		for (int i = 0; i < MCP_MAX_BATCH + over; i++)
			assert_int_equal(
				json_array_append_new(batch, json_parse(view_str(PING), &err)), 0);
		assert_int_equal(era_refuse_batch(batch, header_of(NULL)) != NULL, over);
	}
}

static void test_negotiate(void **state)
{
	static const char *const rows[][2] = {
		{ "2025-11-25", "2025-11-25" }, { "2025-06-18", "2025-06-18" },
		{ "2025-03-26", "2025-03-26" }, { "2024-11-05", "2024-11-05" },
		{ "2024-10-07", "2024-10-07" }, { "2026-07-28", "2025-11-25" },
		{ "1999-01-01", "2025-11-25" }, { "9999-99-99", "2025-11-25" },
		{ "", "2025-11-25" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(era_negotiate(view_str(rows[i][0])), rows[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),           cmocka_unit_test(test_skew),
		cmocka_unit_test(test_unsupported_data), cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_is_bounded), cmocka_unit_test(test_negotiate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
