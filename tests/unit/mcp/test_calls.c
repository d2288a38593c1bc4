/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that take their time: streams, losses, cancelling, limits. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define HOLD REQ("2", "tools/call", "\"name\":\"hold\"")
#define HOLD_WITH(tok)                                                                             \
	REQ("2", "tools/call", "\"name\":\"hold\",\"_meta\":{\"progressToken\":" tok "}")
#define HOLD_MODERN REQ("2", "tools/call", "\"name\":\"hold\"," MODERN_META)
#define PROGRESS(token, value, message)                                                            \
	"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","        \
	"\"params\":{\"progressToken\":" token ",\"progress\":" value ",\"message\":\"" message    \
	"\"}}\n\n"

static void test_quick_enough(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE, HOLD);
	assert_int_equal(mcp_server_calls(w.server), 1);
	pass(MCP_STREAM_AFTER - 1);
	assert_int_equal(req.status, 0);
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	assert_int_equal(req.status, 200);
	assert_string_equal(buf_str(&req.out), RESULT("2", TEXT("done")));
	assert_int_equal(mcp_server_calls(w.server), 0);
	fake_http_done(&req);
}

static void test_stream(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE "Origin: https://chat.example.org\n", HOLD);
	pass(MCP_STREAM_AFTER);
	assert_int_equal(req.status, 200);
	assert_string_equal(buf_str(&req.head),
			    "Content-Type: text/event-stream\nAccess-Control-Allow-Origin: *\n"
			    "Access-Control-Expose-Headers: WWW-Authenticate, Mcp-Session-Id, "
			    "MCP-Protocol-Version, Retry-After\n"
			    "Cache-Control: no-cache, no-transform\nX-Accel-Buffering: no\n");
	assert_string_equal(buf_str(&req.out), ": ka\n\n");
	pass(MCP_KEEPALIVE - 1);
	assert_string_equal(buf_str(&req.out), ": ka\n\n");
	pass(1);
	assert_string_equal(buf_str(&req.out), ": ka\n\n: ka\n\n");
	mcp_call_progress(w.held[0], "nobody asked");
	mcp_call_finish(w.held[0], MCP_OK, VIEW("two\nlines"));
	assert_true(req.ended);
	assert_string_equal(buf_str(&req.out), ": ka\n\n: ka\n\nevent: message\ndata: " RESULT(
						       "2", TEXT("two\\nlines")) "\n\n");
	fake_http_done(&req);
}

static void test_json_only_client(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE "Accept: application/json\n", HOLD_WITH("1"));
	pass(MCP_STREAM_AFTER * 10);
	mcp_call_progress(w.held[0], "waiting");
	assert_int_equal(req.status, 0);
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	assert_string_equal(buf_str(&req.head), "Content-Type: application/json\n");
	fake_http_done(&req);
}

static void test_progress(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE, HOLD_WITH("\"tok\""));
	mcp_call_progress(w.held[0], "first");
	assert_string_equal(buf_str(&req.out), ": ka\n\n" PROGRESS("\"tok\"", "1", "first"));
	/* Too soon: the last one waits for the next sign of life. */
	pass(USEC_PER_SEC);
	mcp_call_progress(w.held[0], "lost");
	mcp_call_progress(w.held[0], "position 3");
	buf_truncate(&req.out, 0);
	pass(MCP_KEEPALIVE - USEC_PER_SEC);
	assert_string_equal(buf_str(&req.out),
			    ": ka\n\n" PROGRESS("\"tok\"", "8000", "position 3"));
	buf_truncate(&req.out, 0);
	pass(MCP_KEEPALIVE);
	assert_string_equal(buf_str(&req.out),
			    ": ka\n\n" PROGRESS("\"tok\"", "16000", "running, 16 s"));
	buf_truncate(&req.out, 0);
	w.now += MCP_PROGRESS_EVERY;
	mcp_call_progress(w.held[0], "position 2");
	assert_string_equal(buf_str(&req.out), PROGRESS("\"tok\"", "18000", "position 2"));
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	fake_http_done(&req);
}

static void test_describe_on_a_stream(void **state)
{
	struct http_request req;
	auto_buf struct buf text = BUF_INIT(4096);

	(void)state;
	send_request(&req, BASE "Cookie: secret\n", HOLD);
	pass(MCP_STREAM_AFTER);
	assert_int_equal(mcp_call_describe_request(w.held[0], &text), 0);
	assert_string_equal(buf_str(&text), BASE "Cookie: (hidden)\n");
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	fake_http_done(&req);
}

static void test_batch_becomes_a_stream(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE, "[" REQ("1", "ping", "") "," HOLD "]");
	assert_int_equal(req.status, 0);
	pass(MCP_STREAM_AFTER);
	assert_string_equal(buf_str(&req.out),
			    ": ka\n\nevent: message\ndata: [" RESULT("1", "") "]\n\n");
	buf_truncate(&req.out, 0);
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	assert_string_equal(buf_str(&req.out),
			    "event: message\ndata: " RESULT("2", TEXT("done")) "\n\n");
	assert_true(req.ended);
	fake_http_done(&req);
}

/* ---- the client goes away ---- */

static void test_modern_loss_is_cancel(void **state)
{
	(void)state;
	for (int streaming = 0; streaming < 2; streaming++) {
		struct http_request req;

		w.cancelled = 0;
		send_request(&req, CALLS("hold"), HOLD_MODERN);
		if (streaming)
			pass(MCP_STREAM_AFTER);
		fake_http_lose(&req);
		assert_int_equal(w.cancelled, 1);
		assert_int_equal(mcp_server_calls(w.server), 0);
		fake_http_done(&req);
	}
}

static void test_legacy_loss_has_a_grace(void **state)
{
	(void)state;
	for (int streaming = 0; streaming < 2; streaming++) {
		struct http_request req;

		w.cancelled = 0;
		send_request(&req, BASE, HOLD_WITH("5"));
		if (streaming)
			pass(MCP_STREAM_AFTER);
		fake_http_lose(&req);
		pass(MCP_CANCEL_GRACE - 1);
		mcp_call_progress(w.held[w.n_held - 1], "to nobody");
		assert_int_equal(w.cancelled, 0);
		pass(1);
		assert_int_equal(w.cancelled, 1);
		assert_int_equal(mcp_server_calls(w.server), 0);
		fake_http_done(&req);
	}
}

static void test_result_after_loss(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE, HOLD);
	fake_http_lose(&req);
	mcp_call_finish(w.held[0], MCP_OK, VIEW("for nobody"));
	assert_int_equal(req.status, 0);
	assert_true(list_is_empty(&w.server->exchanges));
	fake_http_done(&req);
}

static void test_detached(void **state)
{
	struct http_request req;
	auto_buf struct buf text = BUF_INIT(64);

	(void)state;
	send_request(&req, CALLS("deaf"), REQ("2", "tools/call", "\"name\":\"deaf\"," MODERN_META));
	fake_http_lose(&req);
	assert_int_equal(mcp_server_calls(w.server), 1);
	mcp_call_progress(w.held[0], "to nobody");
	assert_int_equal(mcp_call_describe_request(w.held[0], &text), 0);
	assert_string_equal(mcp_call_principal(w.held[0])->id, "p");
	mcp_call_finish(w.held[0], MCP_OK, VIEW("done"));
	assert_int_equal(mcp_server_calls(w.server), 0);
	fake_http_done(&req);
}

#define CANCEL(id)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                         \
	"cancelled\",\"params\":{\"requestId\":" id ",\"reason\":\"x\"}}"

static void cancel(const char *principal, const char *headers, const char *body)
{
	struct http_request req;

	w.principal = principal;
	send_request(&req, headers, body);
	assert_int_equal(req.status, 202);
	fake_http_done(&req);
	w.principal = "p";
}

static void test_cancel_by_notification(void **state)
{
	struct http_request req;

	(void)state;
	send_request(&req, BASE, HOLD);
	pass(MCP_STREAM_AFTER);
	cancel("p", BASE, CANCEL("3"));
	cancel("p", BASE, CANCEL("\"2\""));
	cancel("p", BASE, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
	cancel("q", BASE, CANCEL("2"));
	cancel("p", MODERN, CANCEL("2"));
	assert_int_equal(w.cancelled, 0);
	cancel("p", BASE, CANCEL("2"));
	assert_int_equal(w.cancelled, 1);
	/* The stream is closed without a response. */
	assert_true(req.ended);
	assert_string_equal(buf_str(&req.out), ": ka\n\n");
	assert_int_equal(mcp_server_calls(w.server), 0);
	fake_http_done(&req);
}

static void test_cancel_of_an_ambiguous_id(void **state)
{
	struct http_request one, two, modern;

	(void)state;
	send_request(&one, BASE, HOLD);
	send_request(&modern, CALLS("hold"), HOLD_MODERN);
	send_request(&two, BASE, HOLD);
	cancel("p", BASE, CANCEL("2"));
	assert_int_equal(w.cancelled, 0);
	mcp_call_finish(w.held[2], MCP_OK, VIEW("done"));
	cancel("p", BASE, CANCEL("2"));
	assert_int_equal(w.cancelled, 1);
	assert_int_equal(one.status, 202);
	assert_int_equal(modern.status, 0);
	fake_http_lose(&modern);
	fake_http_done(&one);
	fake_http_done(&two);
	fake_http_done(&modern);
}

/* ---- the server goes away ---- */

static void test_shut_down(void **state)
{
	struct http_request quick, slow, deaf, late;

	(void)state;
	send_request(&slow, BASE, HOLD);
	pass(MCP_STREAM_AFTER);
	send_request(&quick, BASE, HOLD);
	send_request(&deaf, BASE, REQ("3", "tools/call", "\"name\":\"deaf\""));
	mcp_server_shut_down(w.server);
	assert_int_equal(w.cancelled, 2);
	assert_true(slow.ended && quick.ended && deaf.ended);
	assert_true(view_starts(buf_view(&slow.out), VIEW(": ka\n\nevent: message\ndata: ")));
	assert_non_null(strstr(buf_str(&slow.out), "is restarting"));
	assert_non_null(strstr(buf_str(&quick.out), "\"isError\":true"));
	assert_non_null(strstr(buf_str(&deaf.out), "\"isError\":true"));
	send_request(&late, BASE, REQ("1", "ping", ""));
	assert_int_equal(late.status, 503);
	assert_string_equal(buf_str(&late.head), "Retry-After: 2\n");
	mcp_call_finish(w.held[2], MCP_OK, VIEW("too late"));
	assert_int_equal(mcp_server_calls(w.server), 0);
	fake_http_done(&quick);
	fake_http_done(&slow);
	fake_http_done(&deaf);
	fake_http_done(&late);
}

/* Freed with everything open. */
static void test_free_under_way(void **state)
{
	struct http_request quick, slow, deaf;

	(void)state;
	send_request(&slow, BASE, HOLD);
	pass(MCP_STREAM_AFTER);
	send_request(&quick, BASE, HOLD);
	send_request(&deaf, CALLS("deaf"),
		     REQ("3", "tools/call", "\"name\":\"deaf\"," MODERN_META));
	fake_http_lose(&deaf);
	mcp_server_free(w.server);
	w.server = NULL;
	assert_int_equal(w.cancelled, 2);
	assert_null(quick.gone);
	fake_http_done(&quick);
	fake_http_done(&slow);
	fake_http_done(&deaf);
}

/* ---- limits ---- */

static void test_calls_are_bounded(void **state)
{
	struct http_request reqs[MCP_MAX_CALLS_PER_PRINCIPAL], over, other;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reqs); i++)
		send_request(&reqs[i], BASE, HOLD);
	send_request(&over, BASE, HOLD);
	assert_int_equal(over.status, 200);
	assert_non_null(strstr(buf_str(&over.out), "You have 32 calls under way"));
	assert_non_null(strstr(buf_str(&over.out), "\"isError\":true"));
	w.principal = "q";
	send_request(&other, BASE, REQ("1", "tools/call", "\"name\":\"echo\""));
	assert_non_null(strstr(buf_str(&other.out), "nothing"));
	for (size_t i = 0; i < ARRAY_SIZE(reqs); i++) {
		mcp_call_finish(w.held[i], MCP_OK, VIEW("done"));
		fake_http_done(&reqs[i]);
	}
	fake_http_done(&over);
	fake_http_done(&other);
}

static void check_long_text(char c, size_t len)
{
	struct http_request req;
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, c, len);
	w.n_held = 0;
	send_request(&req, CALLS("hold"), HOLD_MODERN);
	mcp_call_finish(w.held[0], MCP_OK, view_of(text, len));
	assert_int_equal(req.status, 200);
	assert_true(req.out.len <= MCP_MAX_RESULT);
	assert_non_null(strstr(buf_str(&req.out), "[the rest was too long to be sent]\"}]"));
	free(text);
	fake_http_done(&req);
}

static void test_long_texts_are_cut(void **state)
{
	(void)state;
	check_long_text('x', MCP_MAX_RESULT);
	check_long_text('x', MCP_MAX_RESULT * 5);
	check_long_text('\x01', MCP_MAX_RESULT / 4);
	check_long_text('\xff', MCP_MAX_RESULT / 2);
}

static void test_images(void **state)
{
	struct http_request req;
	char *image = calloc(1, MCP_MAX_RESULT);

	(void)state;
	assert_non_null(image);
	send_request(&req, BASE, HOLD);
	mcp_call_finish_image(w.held[0], VIEW("a"), VIEW("PNG"), "image/png");
	assert_string_equal(buf_str(&req.out),
			    RESULT("2",
				   "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
				   "\"image\",\"mimeType\":\"image/png\",\"data\":\"UE5H\"}]"));
	fake_http_done(&req);

	send_request(&req, BASE, HOLD);
	mcp_call_finish_image(w.held[1], VIEW("a"), view_of(image, MCP_MAX_IMAGE_BYTES),
			      "image/png");
	assert_true(req.out.len > MCP_MAX_IMAGE_BYTES && req.out.len < MCP_MAX_RESULT);
	fake_http_done(&req);

	send_request(&req, BASE, HOLD);
	mcp_call_finish_image(w.held[2], VIEW("a"), view_of(image, MCP_MAX_RESULT), "image/png");
	assert_string_equal(buf_str(&req.out),
			    RESULT("2", TEXT("a\\n[the image is too large to be attached]")));
	fake_http_done(&req);
	free(image);
}

/* All answers of a batch together are bounded: what does not fit becomes an error. */
static void test_batch_answers_are_bounded(void **state)
{
	struct http_request req;
	char *text = malloc(MCP_MAX_RESULT);
	size_t errors = 0;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', MCP_MAX_RESULT);
	send_request(&req, BASE "Accept: application/json\n",
		     "[" HOLD "," HOLD "," HOLD "," HOLD "," HOLD "," HOLD "]");
	for (size_t i = 0; i < 6; i++)
		mcp_call_finish(w.held[i], MCP_OK, view_of(text, MCP_MAX_RESULT / 10 * 9));
	assert_true(req.out.len < MCP_MAX_ANSWERS + 4096);
	for (const char *p = buf_str(&req.out); (p = strstr(p, "-32603")); p++)
		errors++;
	assert_int_equal(errors, 2);
	free(text);
	fake_http_done(&req);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_quick_enough),
		WORLD_TEST(test_stream),
		WORLD_TEST(test_json_only_client),
		WORLD_TEST(test_progress),
		WORLD_TEST(test_describe_on_a_stream),
		WORLD_TEST(test_batch_becomes_a_stream),
		WORLD_TEST(test_modern_loss_is_cancel),
		WORLD_TEST(test_legacy_loss_has_a_grace),
		WORLD_TEST(test_result_after_loss),
		WORLD_TEST(test_detached),
		WORLD_TEST(test_cancel_by_notification),
		WORLD_TEST(test_cancel_of_an_ambiguous_id),
		WORLD_TEST(test_shut_down),
		WORLD_TEST(test_free_under_way),
		WORLD_TEST(test_calls_are_bounded),
		WORLD_TEST(test_long_texts_are_cut),
		WORLD_TEST(test_images),
		WORLD_TEST(test_batch_answers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
