/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint as a whole: requests and their answers. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct row {
	const char *headers, *body;
	unsigned status;
	const char *answer; /* NULL: an empty body without type */
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct http_request req;

		send_request(&req, rows[i].headers, rows[i].body);
		if (req.status != rows[i].status)
			fail_msg("row %zu: status %u: %s", i, req.status, buf_str(&req.out));
		if (strcmp(buf_str(&req.out), rows[i].answer ? rows[i].answer : "") != 0)
			fail_msg("row %zu: %s", i, buf_str(&req.out));
		if (rows[i].answer)
			assert_string_equal(buf_str(&req.head), "Content-Type: application/json\n");
		else
			assert_string_equal(buf_str(&req.head), "");
		fake_http_done(&req);
	}
	assert_int_equal(mcp_server_calls(w.server), 0);
	assert_true(list_is_empty(&w.server->exchanges));
}

static void test_legacy(void **state)
{
#define INITIALIZED(version)                                                                       \
	RESULT("0", "\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}},"         \
		    "\"serverInfo\":" MCP_SERVER_INFO ",\"instructions\":\"Plain \\\"text\\\"\"")
#define INITIALIZE(version)                                                                        \
	REQ("0", "initialize", "\"protocolVersion\":\"" version "\",\"capabilities\":{}")
	static const struct row rows[] = {
		{ BASE, INITIALIZE("2025-11-25"), 200, INITIALIZED("2025-11-25") },
		{ BASE, INITIALIZE("2024-11-05"), 200, INITIALIZED("2024-11-05") },
		{ BASE, INITIALIZE("2026-07-28"), 200, INITIALIZED("2025-11-25") },
		{ BASE, INITIALIZE("x"), 200, INITIALIZED("2025-11-25") },
		{ WITH_VERSION("2026-07-28"), INITIALIZE("2025-06-18"), 200,
		  INITIALIZED("2025-06-18") },
		{ BASE, REQ("0", "initialize", ""), 200,
		  ERROR("0", "-32602", "params.protocolVersion must be a string") },
		{ BASE, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202,
		  NULL },
		{ BASE, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}", 202, NULL },
		{ WITH_VERSION("bogus"),
		  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 400,
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32022,\"message\":\"Unsupported "
		  "protocol version\",\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":"
		  "\"bogus\"}}}" },
		{ BASE, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}", 200,
		  RESULT("\"p\"", "") },
		{ BASE, REQ("9007199254740993", "ping", ""), 200, RESULT("9007199254740993", "") },
		{ BASE, REQ("1", "logging/setLevel", "\"level\":\"info\""), 200, RESULT("1", "") },
		{ BASE, REQ("1", "resources/list", ""), 200,
		  ERROR("1", "-32601", "Method not found: resources/list") },
		{ BASE, REQ("1", "server/discover", ""), 200,
		  ERROR("1", "-32601", "Method not found: server/discover") },
		{ BASE, REQ("1", "tools/list", "\"cursor\":\"\""), 200,
		  ERROR("1", "-32602", "Unknown cursor") },
		{ BASE, REQ("1", "tools/call", "\"name\":\"echo\""), 200,
		  RESULT("1", TEXT("nothing")) },
		/* A modern header on legacy traffic is nobody's business. */
		{ BASE "Mcp-Method: wrong\nMcp-Name: wrong\nMcp-Session-Id: x\nLast-Event-ID: 7\n",
		  REQ("1", "tools/call", "\"name\":\"echo\",\"arguments\":null,\"task\":{}"), 200,
		  RESULT("1", TEXT("nothing")) },
		{ BASE, REQ("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"\"}"),
		  200, RESULT("1", TEXT("nothing")) },
		{ BASE,
		  REQ("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"a\\u0000\"}"),
		  200,
		  RESULT("1", TEXT("text must not contain a NUL character: there is one at byte "
				   "1") ",\"isError\":true") },
		{ BASE, REQ("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"txt\":1}"), 200,
		  RESULT("1",
			 TEXT("[call error] no argument \\\"txt\\\". echo takes: text. Nothing "
			      "was done.") ",\"isError\":true") },
		{ BASE, REQ("1", "tools/call", "\"name\":\"nope\""), 200,
		  ERROR("1", "-32602", "Unknown tool: nope") },
		{ BASE, REQ("1", "tools/call", "\"name\":5"), 200,
		  ERROR("1", "-32602", "params.name must be a string") },
		{ BASE, REQ("1", "tools/call", ""), 200,
		  ERROR("1", "-32602", "params.name must be a string") },
		{ BASE, REQ("1", "tools/call", "\"name\":\"echo\",\"arguments\":[]"), 200,
		  ERROR("1", "-32602", "params.arguments must be an object") },
		/* Needs a capability, but legacy clients cannot say theirs with a call. */
		{ BASE, REQ("1", "tools/call", "\"name\":\"sampler\""), 200,
		  RESULT("1", TEXT("nothing")) },
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_modern(void **state)
{
	static const struct row rows[] = {
		{ METHOD("server/discover"), REQ("\"probe-1\"", "server/discover", MODERN_META),
		  200,
		  RESULT("\"probe-1\"",
			 "\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
			 "\"capabilities\":{\"tools\":{}},\"instructions\":\"Plain \\\"text\\\"\","
			 "\"ttlMs\":3600000,\"cacheScope\":\"private\"," INFO) },
		{ CALLS("describe"), REQ("1", "tools/call", "\"name\":\"echo\"," MODERN_META), 400,
		  ERROR("1", "-32020",
			"Header mismatch: Mcp-Name header value 'describe' does not match body "
			"value 'echo'") },
		{ METHOD("tools/call"), REQ("1", "tools/call", "\"name\":\"echo\"," MODERN_META),
		  400, ERROR("1", "-32020", "Header mismatch: the Mcp-Name header is missing") },
		{ MODERN, REQ("1", "tools/list", MODERN_META), 400,
		  ERROR("1", "-32020", "Header mismatch: the Mcp-Method header is missing") },
		{ CALLS("echo"), REQ("0", "tools/call", "\"name\":\"echo\"," MODERN_META), 200,
		  RESULT("0", "\"resultType\":\"complete\"," TEXT("nothing") "," INFO) },
		{ CALLS("echo"),
		  REQ("0", "tools/call", "\"name\":\"echo\",\"arguments\":{\"x\":1}," MODERN_META),
		  200,
		  RESULT("0", "\"resultType\":\"complete\"," TEXT(
				      "[call error] no argument \\\"x\\\". echo takes: text. "
				      "Nothing was done.") ",\"isError\":true," INFO) },
		{ CALLS("nope"), REQ("1", "tools/call", "\"name\":\"nope\"," MODERN_META), 200,
		  ERROR("1", "-32602", "Unknown tool: nope") },
		{ CALLS("sampler"), REQ("1", "tools/call", "\"name\":\"sampler\"," MODERN_META),
		  400,
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,\"message\":\"Missing "
		  "required client capability\",\"data\":{\"requiredCapabilities\":{\"sampling\":"
		  "{}}}}}" },
		{ METHOD("ping"), REQ("1", "ping", MODERN_META), 404,
		  ERROR("1", "-32601", "Method not found: ping") },
		{ METHOD("initialize"), REQ("1", "initialize", MODERN_META), 404,
		  ERROR("1", "-32601", "Method not found: initialize") },
		{ METHOD("logging/setLevel"), REQ("1", "logging/setLevel", MODERN_META), 404,
		  ERROR("1", "-32601", "Method not found: logging/setLevel") },
		{ METHOD("tools/list"), REQ("1", "tools/list", "\"cursor\":\"\"," MODERN_META), 200,
		  ERROR("1", "-32602", "Unknown cursor") },
		{ METHOD("tools/list"), REQ("1", "tools/list", ""), 400,
		  ERROR("1", "-32602", "Missing required _meta key " V "protocolVersion") },
		{ METHOD("tools/list"),
		  REQ("1", "tools/list", "\"_meta\":{\"" V "protocolVersion\":\"2026-07-28\"}"),
		  400, ERROR("1", "-32602", "Missing required _meta key " V "clientCapabilities") },
		{ METHOD("tools/list"),
		  REQ("1", "tools/list",
		      "\"_meta\":{\"" V "protocolVersion\":\"2026-07-28\",\"" V
		      "clientCapabilities\":[]}"),
		  400,
		  ERROR("1", "-32602", "_meta key " V "clientCapabilities must be an object") },
		{ METHOD("tools/list"),
		  REQ("1", "tools/list",
		      "\"_meta\":{\"" V "protocolVersion\":\"2026-07-28\"," CAPABILITIES ",\"" V
		      "clientInfo\":{\"name\":1}}"),
		  400,
		  ERROR("1", "-32602",
			"_meta key " V "clientInfo must have a name and a version") },
		{ WITH_VERSION("v9") "Mcp-Method: tools/list\n",
		  REQ("1", "tools/list", "\"_meta\":{\"" V "protocolVersion\":\"v9\"}"), 400,
		  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
		  "\"Unsupported protocol version\",\"data\":{\"supported\":[\"2026-07-28\"],"
		  "\"requested\":\"v9\"}}}" },
		/* An old version header from a connector in between, without the new headers. */
		{ WITH_VERSION("2025-11-25"),
		  REQ("1", "tools/call", "\"name\":\"echo\"," MODERN_META), 200,
		  RESULT("1", "\"resultType\":\"complete\"," TEXT("nothing") "," INFO) },
		{ MODERN, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 202,
		  NULL },
		/* Arguments that are repeated in headers. */
		{ CALLS("echo") "Mcp-Param-Text: hey\n",
		  REQ("1", "tools/call",
		      "\"name\":\"echo\",\"arguments\":{\"text\":\"hey\"}," MODERN_META),
		  200, RESULT("1", "\"resultType\":\"complete\"," TEXT("hey") "," INFO) },
		{ CALLS("echo"),
		  REQ("1", "tools/call",
		      "\"name\":\"echo\",\"arguments\":{\"text\":\"hey\"}," MODERN_META),
		  400,
		  ERROR("1", "-32020", "Header mismatch: the Mcp-Param-Text header is missing") },
		{ CALLS("echo") "Mcp-Param-Text: hey\n",
		  REQ("1", "tools/call", "\"name\":\"echo\"," MODERN_META), 400,
		  ERROR("1", "-32020",
			"Header mismatch: Mcp-Param-Text was sent without its argument") },
		{ CALLS("echo") "Mcp-Param-Text: =?base64?aGV5=?=\n",
		  REQ("1", "tools/call",
		      "\"name\":\"echo\",\"arguments\":{\"text\":\"hey\"}," MODERN_META),
		  400,
		  ERROR("1", "-32020",
			"Header mismatch: the Mcp-Param-Text header is not encoded correctly") },
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_bad_bodies(void **state)
{
	static const struct row rows[] = {
		{ BASE, "{", 400,
		  ERROR_NO_ID("-32700", "Parse error: not JSON: string or '}' expected near end of "
					"file (line 1, column 1)") },
		{ BASE, "5", 400,
		  ERROR_NO_ID("-32600", "Invalid Request: a message must be an object") },
		{ BASE, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400,
		  ERROR_NO_ID("-32600",
			      "Invalid Request: id must be an integer or a short string") },
		{ BASE, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", 400,
		  ERROR("1", "-32600", "Invalid Request: method must be a string") },
		{ BASE, "[]", 400, ERROR_NO_ID("-32600", "an empty batch") },
		{ WITH_VERSION("2025-11-25"), "[" REQ("1", "ping", "") "]", 400,
		  ERROR_NO_ID("-32600", "batches exist in revision 2025-03-26 only") },
		{ "Host: 127.0.0.1\nContent-Type: text/plain\n", "{}", 415,
		  ERROR_NO_ID("-32600", "Content-Type must be application/json") },
		{ "Host: 127.0.0.1\n", "{}", 415,
		  ERROR_NO_ID("-32600", "Content-Type must be application/json") },
		{ "Host: evil.example.com\nContent-Type: application/json\n", REQ("1", "ping", ""),
		  403,
		  ERROR_NO_ID("-32600", "Host not allowed: public_url or allowed_hosts must "
					"name it") },
		{ BASE "Origin: http://evil.example.com\n", REQ("1", "ping", ""), 403,
		  ERROR_NO_ID("-32600", "Origin not allowed: allowed_origins must list it") },
		{ "Host: 127.0.0.1\nContent-Type: APPLICATION/json;charset=UTF-8\nAccept: */*\n",
		  REQ("1", "ping", ""), 200, RESULT("1", "") },
	};
	struct http_request req;

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
	send_request(&req, BASE, "");
	assert_int_equal(req.status, 400);
	assert_non_null(strstr(buf_str(&req.out), "-32700"));
	fake_http_done(&req);
}

static void test_batch(void **state)
{
	static const struct row rows[] = {
		{ BASE,
		  "[" REQ("1", "ping", "") "," REQ("\"a\"", "tools/call", "\"name\":\"echo\"") "]",
		  200, "[" RESULT("1", "") "," RESULT("\"a\"", TEXT("nothing")) "]" },
		{ BASE, "[" REQ("1", "nope", "") "]", 200,
		  "[" ERROR("1", "-32601", "Method not found: nope") "]" },
		{ BASE, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]", 202,
		  NULL },
	};

	(void)state;
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_tools_list(void **state)
{
	struct http_request plain, labels, modern;

	(void)state;
	send_request(&plain, BASE, REQ("1", "tools/list", ""));
	assert_true(
		view_starts(buf_view(&plain.out),
			    VIEW("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":"
				 "\"echo\"")));
	assert_true(view_ends(buf_view(&plain.out), VIEW("}]}}")));
	assert_null(strstr(buf_str(&plain.out), "sandbox"));

	w.principal = "labels";
	send_request(&labels, BASE, REQ("1", "tools/list", ""));
	assert_non_null(strstr(buf_str(&labels.out), "\"sandbox\":{\"type\":\"string\"}"));

	send_request(&modern, METHOD("tools/list"), REQ("1", "tools/list", MODERN_META));
	assert_non_null(strstr(buf_str(&modern.out), "\"resultType\":\"complete\",\"tools\":[{"));
	assert_non_null(strstr(buf_str(&modern.out),
			       "}],\"ttlMs\":300000,\"cacheScope\":\"private\"," INFO "}}"));
	fake_http_done(&plain);
	fake_http_done(&labels);
	fake_http_done(&modern);
}

static void test_other_methods(void **state)
{
	static const struct {
		enum http_method method;
		const char *headers;
		unsigned status;
		const char *head; /* part of it */
	} rows[] = {
		{ HTTP_GET, BASE "Accept: text/event-stream\n", 405, "Allow: POST\n" },
		{ HTTP_HEAD, BASE, 405, "Allow: POST\n" },
		{ HTTP_DELETE, BASE, 405, "Allow: POST\n" },
		{ HTTP_PUT, BASE, 405, "Allow: POST\n" },
		{ HTTP_PATCH, BASE, 405, "Allow: POST\n" },
		{ HTTP_OTHER, BASE, 405, "Allow: POST\n" },
		{ HTTP_OPTIONS, BASE, 204, "Allow: POST\n" },
		{ HTTP_OPTIONS, BASE "Origin: https://chat.example.org\n", 204,
		  "Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS\n" },
		{ HTTP_OPTIONS, BASE "Origin: https://evil.example.org\n", 403, "" },
		{ HTTP_GET, "Host: evil.example.com\n", 403, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int how = 0; how < 4; how++) {
			struct http_request req = { .method = rows[i].method,
						    .headers = rows[i].headers };

			w.refuse = how & 1;
			fake_http_request(&w.http, how & 2 ? "/mcp/" : "/mcp", &req);
			/* Clients read the challenge from the answer to a GET: it comes first. */
			if (w.refuse && rows[i].status == 405) {
				assert_int_equal(req.status, 401);
			} else {
				assert_int_equal(req.status, rows[i].status);
				assert_non_null(strstr(buf_str(&req.head), rows[i].head));
			}
			fake_http_done(&req);
		}
	}
}

static void test_authentication_comes_first(void **state)
{
	struct http_request req;

	(void)state;
	w.refuse = true;
	send_request(&req, BASE, "{");
	assert_int_equal(req.status, 401);
	fake_http_done(&req);
}

static void test_cors(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE "Origin: https://chat.example.org\n", REQ("1", "ping", ""));
	assert_non_null(strstr(buf_str(&req.head), "Access-Control-Allow-Origin: "));
	fake_http_done(&req);
	send_request(&req, BASE "Origin: https://evil.example.org\n", REQ("1", "ping", ""));
	assert_null(strstr(buf_str(&req.head), "Access-Control"));
	fake_http_done(&req);
}

static void test_describe(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, CALLS("describe") "Authorization: Bearer secret\nX-Api-Key: secret\n",
		     REQ("1", "tools/call",
			 "\"name\":\"describe\",\"_meta\":{\"" V
			 "protocolVersion\":\"2026-07-28\"," CAPABILITIES ",\"" V
			 "clientInfo\":{\"name\":\"chat\",\"version\":\"9\"}}"));
	assert_non_null(strstr(buf_str(&req.out), "chat/9|describe|p|Host: 127.0.0.1:3000\\n"));
	assert_non_null(strstr(buf_str(&req.out), "Authorization: (hidden)\\n"));
	assert_null(strstr(buf_str(&req.out), "secret"));
	fake_http_done(&req);

	send_request(&req, BASE, REQ("1", "tools/call", "\"name\":\"describe\""));
	assert_non_null(strstr(buf_str(&req.out), "tests/1|describe|p|"));
	fake_http_done(&req);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_legacy),
		WORLD_TEST(test_modern),
		WORLD_TEST(test_bad_bodies),
		WORLD_TEST(test_batch),
		WORLD_TEST(test_tools_list),
		WORLD_TEST(test_other_methods),
		WORLD_TEST(test_authentication_comes_first),
		WORLD_TEST(test_cors),
		WORLD_TEST(test_describe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
