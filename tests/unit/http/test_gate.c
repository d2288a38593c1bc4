/* SPDX-License-Identifier: Apache-2.0 */
/* The request gate: every row is fed whole, byte by byte, and cut in two at every place. */
#include "http/gate.h"

#include "http/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct outcome {
	unsigned status; /* of the refusal; 0: none */
	unsigned n_heads, n_requests;
	bool is_between; /* nothing is half done */
};

/* Feeds one piece; false when refused. */
static bool feed(struct gate *g, struct view in, struct outcome *o)
{
	for (;;) {
		size_t taken;
		enum gate_event event = gate_feed(g, in, &taken);

		assert_true(taken <= in.len);
		in = view_from(in, taken);
		switch (event) {
		case GATE_MORE:
			assert_int_equal(in.len, 0);
			return true;
		case GATE_HEAD_ENDS:
			assert_true(gate_has_head(g));
			o->n_heads++;
			break;
		case GATE_REQUEST_ENDS:
			o->n_requests++;
			gate_reset(g);
			if (in.len == 0)
				return true;
			break;
		case GATE_REFUSAL:
			assert_non_null(g->reason);
			o->status = g->status;
			return false;
		}
	}
}

static struct outcome run(struct view in, size_t cut, size_t step)
{
	struct outcome o = { 0 };
	struct gate g;
	size_t at = 0;

	gate_reset(&g);
	while (at < in.len) {
		size_t n = at < cut ? cut - at : step;

		if (!feed(&g, view_first(view_from(in, at), n), &o))
			return o;
		at += n < in.len - at ? n : in.len - at;
	}
	o.is_between = g.state == GATE_METHOD && g.line_bytes == 0;
	return o;
}

static void check(const char *name, struct view in, unsigned status, unsigned n_requests)
{
	for (size_t cut = 0; cut <= in.len + 1; cut++) {
		/* The last round feeds single bytes. */
		struct outcome o = cut > in.len ? run(in, 0, 1) : run(in, cut, in.len);

		if (o.status != status || o.n_requests != n_requests ||
		    o.is_between != (status == 0))
			fail_msg("%s, cut at %zu: status %u, %u requests, %s", name, cut, o.status,
				 o.n_requests, o.is_between ? "between" : "half done");
	}
}

struct row {
	const char *name;
	struct view in;
	unsigned status, n_requests;
};

#define H "Host: x\r\n"
#define ROW(name, text, status, n)                                                                 \
	{                                                                                          \
		name, VIEW_INIT(text), status, n                                                   \
	}

static void test_accepts(void **state)
{
	static const struct row rows[] = {
		ROW("plain", "GET / HTTP/1.1\r\n" H "\r\n", 0, 1),
		ROW("no space after colon", "GET / HTTP/1.1\r\nHost:x\r\n\r\n", 0, 1),
		ROW("space around a value", "GET / HTTP/1.1\r\nHost: \t x:80 \t\r\n\r\n", 0, 1),
		ROW("ipv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 0, 1),
		ROW("empty value", "GET / HTTP/1.1\r\n" H "X:\r\n\r\n", 0, 1),
		ROW("obs-text", "GET / HTTP/1.1\r\n" H "X: caf\xc3\xa9\r\n\r\n", 0, 1),
		ROW("any token", "M-SEARCH /a?b=c%20d HTTP/1.1\r\n" H "\r\n", 0, 1),
		ROW("1.0", "GET / HTTP/1.0\r\n\r\n", 0, 1),
		ROW("1.0 with host", "GET / HTTP/1.0\r\n" H "\r\n", 0, 1),
		ROW("body", "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", 0, 1),
		ROW("empty body", "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 0, 1),
		ROW("body looks like a request",
		    "POST / HTTP/1.1\r\n" H "content-length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n", 0,
		    1),
		ROW("chunked",
		    "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
		    "3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
		    0, 1),
		ROW("chunked in capitals",
		    "POST / HTTP/1.1\r\n" H "TRANSFER-ENCODING:CHUNKED\r\n\r\n0\r\n\r\n", 0, 1),
		ROW("expect", "POST / HTTP/1.1\r\n" H "Expect: 100-Continue\r\n\r\n", 0, 1),
		ROW("pipelined",
		    "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\nx"
		    "GET / HTTP/1.1\r\n" H "\r\nGET / HTTP/1.1\r\n" H "\r\n",
		    0, 3),
		ROW("a name that begins like another",
		    "GET / HTTP/1.1\r\n" H "Host-Name: a b\r\nHos: c d\r\n\r\n", 0, 1),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].name, rows[i].in, rows[i].status, rows[i].n_requests);
}

static void test_refuses_heads(void **state)
{
	static const struct row rows[] = {
		ROW("bare LF in the request line", "GET / HTTP/1.1\n" H "\r\n", 400, 0),
		ROW("bare LF after a field", "GET / HTTP/1.1\r\nHost: x\n\r\n", 400, 0),
		ROW("bare LF at the end", "GET / HTTP/1.1\r\n" H "\n", 400, 0),
		ROW("bare CR", "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", 400, 0),
		ROW("empty line first", "\r\nGET / HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("no method", " / HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("bad method", "G(T / HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("TLS", "\x16\x03\x01\x02", 400, 0),
		ROW("double space", "GET  / HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("space in the target", "GET /a b HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("tab in the target", "GET /a\tb HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("high byte in the target", "GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("absolute form", "GET http://x/ HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("authority form", "CONNECT x:443 HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("asterisk form", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("HTTP/0.9", "GET /\r\n", 400, 0),
		ROW("HTTP/1.2", "GET / HTTP/1.2\r\n" H "\r\n", 505, 0),
		ROW("HTTP/2.0", "GET / HTTP/2.0\r\n" H "\r\n", 505, 0),
		ROW("http/1.1", "GET / http/1.1\r\n" H "\r\n", 400, 0),
		ROW("HTTP/1.10", "GET / HTTP/1.10\r\n" H "\r\n", 400, 0),
		ROW("HTTP/11", "GET / HTTP/11\r\n" H "\r\n", 400, 0),
		ROW("space after the version", "GET / HTTP/1.1 \r\n" H "\r\n", 400, 0),
		ROW("no host", "GET / HTTP/1.1\r\nX: y\r\n\r\n", 400, 0),
		ROW("two hosts", "GET / HTTP/1.1\r\n" H "host: x\r\n\r\n", 400, 0),
		ROW("two hosts in 1.0", "GET / HTTP/1.0\r\n" H "Host: x\r\n\r\n", 400, 0),
		ROW("empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, 0),
		ROW("host with user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400, 0),
		ROW("host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, 0),
		ROW("host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400, 0),
		ROW("space before colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, 0),
		ROW("no colon", "GET / HTTP/1.1\r\n" H "X\r\n\r\n", 400, 0),
		ROW("no name", "GET / HTTP/1.1\r\n" H ": y\r\n\r\n", 400, 0),
		ROW("folded", "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", 400, 0),
		ROW("folded with a tab", "GET / HTTP/1.1\r\n" H "X: a\r\n\tb\r\n\r\n", 400, 0),
		ROW("folded first", "GET / HTTP/1.1\r\n X: a\r\n" H "\r\n", 400, 0),
		ROW("NUL in a value", "GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n", 400, 0),
		ROW("NUL in a name", "GET / HTTP/1.1\r\n" H "X\0: a\r\n\r\n", 400, 0),
		ROW("NUL in the target", "GET /\0 HTTP/1.1\r\n" H "\r\n", 400, 0),
		ROW("escape in a value", "GET / HTTP/1.1\r\n" H "X: \033[0m\r\n\r\n", 400, 0),
		ROW("DEL in a value", "GET / HTTP/1.1\r\n" H "X: \x7f\r\n\r\n", 400, 0),
		ROW("expectation", "POST / HTTP/1.1\r\n" H "Expect: tea\r\n\r\n", 417, 0),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].name, rows[i].in, rows[i].status, rows[i].n_requests);
}

#define P "POST / HTTP/1.1\r\n" H

static void test_refuses_framing(void **state)
{
	static const struct row rows[] = {
		ROW("length and coding",
		    P "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400, 0),
		ROW("coding and length",
		    P "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", 400, 0),
		ROW("two lengths", P "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400, 0),
		ROW("two equal lengths", P "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400,
		    0),
		ROW("length list", P "Content-Length: 3, 3\r\n\r\nabc", 400, 0),
		ROW("length +5", P "Content-Length: +5\r\n\r\nabcde", 400, 0),
		ROW("length -1", P "Content-Length: -1\r\n\r\n", 400, 0),
		ROW("length 0x3", P "Content-Length: 0x3\r\n\r\nabc", 400, 0),
		ROW("length 3 3", P "Content-Length: 3 3\r\n\r\nabc", 400, 0),
		ROW("empty length", P "Content-Length:\r\n\r\n", 400, 0),
		ROW("huge length", P "Content-Length: 18446744073709551617\r\n\r\n", 400, 0),
		ROW("long length", P "Content-Length: 00000000000000000000000003\r\n\r\n", 400, 0),
		ROW("space after chunked", P "Transfer-Encoding: chunked \r\n\r\n", 400, 0),
		ROW("tab after a length", P "Content-Length: 3\t\r\n\r\n", 400, 0),
		ROW("xchunked", P "Transfer-Encoding: xchunked\r\n\r\n", 501, 0),
		ROW("gzip, chunked", P "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, 0),
		ROW("chunked, identity", P "Transfer-Encoding: chunked, identity\r\n\r\n", 501, 0),
		ROW("identity", P "Transfer-Encoding: identity\r\n\r\n", 501, 0),
		ROW("empty coding", P "Transfer-Encoding:\r\n\r\n", 501, 0),
		ROW("quoted coding", P "Transfer-Encoding: \"chunked\"\r\n\r\n", 501, 0),
		ROW("vertical tab",
		    P "Transfer-Encoding: \x0b"
		      "chunked\r\n\r\n",
		    400, 0),
		ROW("two codings",
		    P "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 0),
		ROW("coding in 1.0",
		    "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, 0),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].name, rows[i].in, rows[i].status, rows[i].n_requests);
}

#define C P "Transfer-Encoding: chunked\r\n\r\n"

static void test_refuses_chunks(void **state)
{
	static const struct row rows[] = {
		ROW("size 0x3", C "0x3\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("size +3", C "+3\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("size -3", C "-3\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("space before the size", C " 3\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("space after the size", C "3 \r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("no size", C "\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("extension", C "3;a=b\r\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("bare LF after the size", C "3\nabc\r\n0\r\n\r\n", 400, 0),
		ROW("bare LF after the data", C "3\r\nabc\n0\r\n\r\n", 400, 0),
		ROW("data longer than the size", C "3\r\nabcd\r\n0\r\n\r\n", 400, 0),
		ROW("trailer", C "0\r\nX: y\r\n\r\n", 400, 0),
		ROW("nine digits", C "000000003\r\nabc\r\n0\r\n\r\n", 413, 0),
		ROW("overflow", C "fffffffffffffffff\r\n", 413, 0),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(rows[i].name, rows[i].in, rows[i].status, rows[i].n_requests);
}

/* A request with `n` bytes of 'a' (in lines of `line` bytes, 0: one line) between two texts. */
static struct outcome run_long(const char *before, size_t n, size_t line, const char *after)
{
	auto_buf struct buf text = BUF_INIT(1024 * 1024);

	assert_int_equal(buf_add_str(&text, before), 0);
	for (size_t i = 0; i < n; i++) {
		if (line && i % line == 0)
			assert_int_equal(buf_add_str(&text, i ? "\r\nX:" : "X:"), 0);
		assert_int_equal(buf_add_char(&text, 'a'), 0);
	}
	assert_int_equal(buf_add_str(&text, after), 0);
	return run(buf_view(&text), 0, 1);
}

static void test_limits(void **state)
{
	static const char end[] = " HTTP/1.1\r\n" H "\r\n";
	static const char head[] = "GET / HTTP/1.1\r\n" H;

	(void)state;
	assert_int_equal(run_long("GET /", HTTP_MAX_TARGET - 1, 0, end).n_requests, 1);
	assert_int_equal(run_long("GET /", HTTP_MAX_TARGET, 0, end).status, 414);
	assert_int_equal(run_long("", HTTP_MAX_METHOD + 1, 0, " /").status, 501);
	assert_int_equal(run_long(head, 1000, 10, "\r\n\r\n").status, 431);
	assert_int_equal(run_long(head, 10 * (HTTP_MAX_FIELDS - 1), 10, "\r\n\r\n").n_requests, 1);
	assert_int_equal(run_long(head, 200000, 0, "").status, 431);
	assert_int_equal(run_long(head, HTTP_MAX_FIELD_BYTES - 40, 15000, "\r\n\r\n").n_requests,
			 1);
	assert_int_equal(run_long(head, HTTP_MAX_FIELD_BYTES, 15000, "\r\n\r\n").status, 431);
	assert_int_equal(run_long("GET / HTTP/1.1\r\n" H, HTTP_MAX_FIELD_NAME + 1, 0, ":").status,
			 431);
}

static void test_query_parts(void **state)
{
	auto_buf struct buf text = BUF_INIT(4096);

	(void)state;
	assert_int_equal(buf_add_str(&text, "GET /?"), 0);
	for (int i = 0; i <= HTTP_MAX_QUERY_PARTS; i++)
		assert_int_equal(buf_add_char(&text, '&'), 0);
	assert_int_equal(run(buf_view(&text), 0, 1).status, 414);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),         cmocka_unit_test(test_refuses_heads),
		cmocka_unit_test(test_refuses_framing), cmocka_unit_test(test_refuses_chunks),
		cmocka_unit_test(test_limits),          cmocka_unit_test(test_query_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
