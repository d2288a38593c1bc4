/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from outside and back. */
#include "json/json.h"

#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_parse_refuses(void **state)
{
	static const struct {
		struct view text;
		const char *why; /* part of the message */
	} rows[] = {
		{ VIEW_INIT(""), "not JSON" },
		{ VIEW_INIT("{"), "line 1" },
		{ VIEW_INIT("{} {}"), "end of file expected" },
		{ VIEW_INIT("{\"a\":1,\"a\":2}"), "duplicate" },
		{ VIEW_INIT("\"\xff\""), "decode byte 0xff" },
		{ VIEW_INIT("\"\xed\xa0\x80\""), "decode byte 0xed" },
		{ VIEW_INIT("\"\\ud800\""), "Unicode" },
		{ VIEW_INIT("\"\\u0000\""), "NUL" },
		{ VIEW_INIT("{\"\\u0000\":1}"), "NUL" },
		{ VIEW_INIT("\"a\0b\""), "control" },
		{ VIEW_INIT("9223372036854775808"), "too big" },
		{ VIEW_INIT("1e400"), "overflow" },
		{ VIEW_INIT("01"), "invalid token" },
		{ VIEW_INIT("NaN"), "invalid token" },
		{ VIEW_INIT("'a'"), "invalid token" },
		{ VIEW_INIT("[1,]"), "unexpected" },
		{ VIEW_INIT("\"\\"), "not JSON" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		assert_null(json_parse(rows[i].text, &err));
		assert_int_equal(err.code, ERR_INVALID);
		if (!strstr(err.msg, rows[i].why))
			fail_msg("row %zu: %s", i, err.msg);
	}
}

/* `open` n times, then `middle`, then `close` n times. */
static void nest(struct buf *out, const char *open, const char *middle, const char *close, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(buf_add_str(out, open), 0);
	assert_int_equal(buf_add_str(out, middle), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(buf_add_str(out, close), 0);
}

static bool parses(const struct buf *text)
{
	struct err err = { 0 };
	auto_json json_t *value = json_parse(buf_view(text), &err);

	assert_true(value || err.code == ERR_INVALID);
	return value != NULL;
}

static void test_parse_is_bounded(void **state)
{
	static const struct {
		const char *open, *middle, *close;
		int times;
		bool good;
	} rows[] = {
		{ "[", "", "]", JSON_MAX_DEPTH, true },
		{ "[", "", "]", JSON_MAX_DEPTH + 1, false },
		{ "[", "", "]", 100000, false },
		{ "{\"a\":", "1", "}", JSON_MAX_DEPTH, true },
		{ "{\"a\":", "1", "}", JSON_MAX_DEPTH + 1, false },
		/* Brackets and commas inside strings count for nothing. */
		{ "",
		  "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"]",
		  "", 1, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf text = BUF_INIT(1 << 20);

		nest(&text, rows[i].open, rows[i].middle, rows[i].close, rows[i].times);
		if (parses(&text) != rows[i].good)
			fail_msg("row %zu", i);
	}
	for (int over = 0; over < 2; over++) {
		auto_buf struct buf text = BUF_INIT(1 << 20);

		/* The array, and one value a comma: JSON_MAX_NODES in all, or one more. */
		assert_int_equal(buf_add_str(&text, "[0"), 0);
		for (int i = 0; i < JSON_MAX_NODES - 2 + over; i++)
			assert_int_equal(buf_add_str(&text, ",0"), 0);
		assert_int_equal(buf_add_str(&text, "]"), 0);
		assert_int_equal(parses(&text), !over);
	}
}

static void test_get_strings(void **state)
{
	static const struct {
		const char *text;
		int string, value; /* what json_get_string and json_get_text return */
	} rows[] = {
		{ "{}", 0, 0 },
		{ "{\"x\":null}", 0, 0 },
		{ "{\"x\":\"\"}", 0, 1 },
		{ "{\"x\":\"abc\"}", 1, 1 },
		{ "{\"x\":5}", -1, -1 },
		{ "{\"x\":[]}", -1, -1 },
		{ "{\"x\":\"a\\u0000b\"}", -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view got = VIEW("before"), text = VIEW("before");
		struct err err = { 0 };
		auto_json json_t *obj = json_parse_allow_nul(view_str(rows[i].text), &err);

		assert_non_null(obj);
		assert_int_equal(json_get_string(obj, "x", &got, &err), rows[i].string);
		assert_int_equal(json_get_text(obj, "x", &text, &err), rows[i].value);
		assert_true(view_is(got, rows[i].string == 1 ? "abc" : "before"));
		if (rows[i].value != 1)
			assert_true(view_is(text, "before"));
		if (rows[i].value < 0)
			assert_true(strncmp(err.msg, "x must", 6) == 0);
	}
}

static void test_get_u32(void **state)
{
	static const struct {
		const char *text;
		int want;
		uint32_t value;
	} rows[] = {
		{ "{}", 0, 0 },
		{ "{\"x\":null}", 0, 0 },
		{ "{\"x\":\"\"}", 0, 0 },
		{ "{\"x\":30}", 1, 30 },
		{ "{\"x\":\"30\"}", 1, 30 },
		{ "{\"x\":30.0}", 1, 30 },
		{ "{\"x\":3e1}", 1, 30 },
		{ "{\"x\":1}", 1, 1 },
		{ "{\"x\":900}", 1, 900 },
		{ "{\"x\":0}", -1, 0 },
		{ "{\"x\":901}", -1, 0 },
		{ "{\"x\":-1}", -1, 0 },
		{ "{\"x\":-1.0}", -1, 0 },
		{ "{\"x\":30.5}", -1, 0 },
		{ "{\"x\":1e300}", -1, 0 },
		{ "{\"x\":4294967326}", -1, 0 },
		{ "{\"x\":\"30s\"}", -1, 0 },
		{ "{\"x\":\" 30\"}", -1, 0 },
		{ "{\"x\":\"99999999999999999999\"}", -1, 0 },
		{ "{\"x\":true}", -1, 0 },
		{ "{\"x\":[30]}", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t got = 7;
		struct err err = { 0 };
		auto_json json_t *obj = json_parse(view_str(rows[i].text), &err);

		assert_non_null(obj);
		if (json_get_u32(obj, "x", 1, 900, &got, &err) != rows[i].want)
			fail_msg("row %zu", i);
		assert_int_equal(got, rows[i].want == 1 ? rows[i].value : 7);
		if (rows[i].want < 0)
			assert_string_equal(err.msg, "x must be a whole number from 1 to 900");
	}
}

static void test_get_bool(void **state)
{
	static const struct {
		const char *text;
		int want;
		bool value;
	} rows[] = {
		{ "{}", 0, false },
		{ "{\"x\":\"\"}", 0, false },
		{ "{\"x\":true}", 1, true },
		{ "{\"x\":\"True\"}", 1, true },
		{ "{\"x\":false}", 1, false },
		{ "{\"x\":\"false\"}", 1, false },
		{ "{\"x\":1}", -1, false },
		{ "{\"x\":\"yes\"}", -1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool got = !rows[i].value;
		struct err err = { 0 };
		auto_json json_t *obj = json_parse(view_str(rows[i].text), &err);

		assert_non_null(obj);
		assert_int_equal(json_get_bool(obj, "x", &got, &err), rows[i].want);
		assert_int_equal(got, rows[i].want == 1 ? rows[i].value : !rows[i].value);
	}
}

static const struct {
	struct view in;
	const char *out;
} string_rows[] = {
	{ VIEW_INIT(""), "\"\"" },
	{ VIEW_INIT("plain"), "\"plain\"" },
	{ VIEW_INIT("a\"b\\c"), "\"a\\\"b\\\\c\"" },
	{ VIEW_INIT("\n\r\t"), "\"\\n\\r\\t\"" },
	{ VIEW_INIT("\x01\x1b\x7f"), "\"\\u0001\\u001b\\u007f\"" },
	{ VIEW_INIT("a\0b\0"), "\"a\xe2\x90\x80"
			       "b\xe2\x90\x80\"" },
	{ VIEW_INIT("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"" },
	{ VIEW_INIT("\xff-\x80"), "\"\xef\xbf\xbd-\xef\xbf\xbd\"" },
	{ VIEW_INIT("cut \xe2\x82"), "\"cut \xef\xbf\xbd\"" },
	{ VIEW_INIT("\xe2\x82(\xf0\x9f\x98"), "\"\xef\xbf\xbd(\xef\xbf\xbd\"" },
	{ VIEW_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ VIEW_INIT("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u0085\\u2028\\u2029\"" },
};

static void test_add_string(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(string_rows); i++) {
		auto_buf struct buf out = BUF_INIT(256);
		auto_buf struct buf small = BUF_INIT(strlen(string_rows[i].out) - 1);

		assert_int_equal(json_add_string(&out, string_rows[i].in), 0);
		assert_string_equal(buf_str(&out), string_rows[i].out);
		assert_int_equal(json_add_string(&small, string_rows[i].in), -ENOSPC);
		assert_int_equal(small.len, 0);
	}
}

/* The same bytes as a value, printed, mean the same string. */
static void test_text_and_print(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(string_rows); i++) {
		struct err err = { 0 };
		auto_buf struct buf out = BUF_INIT(256);
		auto_json json_t *value = json_text(string_rows[i].in);
		auto_json json_t *want = json_parse(view_str(string_rows[i].out), &err);

		assert_non_null(value);
		assert_true(json_equal(value, want));
		assert_int_equal(json_print(&out, value, &err), 0);
		for (size_t at = 0; at < out.len; at++)
			assert_true((unsigned char)out.p[at] >= 0x20);
		assert_null(strstr(buf_str(&out), "\xe2\x80\xa8"));
	}
}

static void test_print(void **state)
{
	const char *text = "{\"a\":[1,-2.5,true,null,\"x\\ny\"],\"b\":{}}";
	struct err err = { 0 };
	auto_json json_t *value = json_parse(view_str(text), &err);
	auto_buf struct buf out = BUF_INIT(256);
	auto_buf struct buf small = BUF_INIT(12);

	(void)state;
	assert_int_equal(json_print(&out, value, &err), 0);
	assert_string_equal(buf_str(&out), text);
	assert_int_equal(buf_add_str(&small, "keep"), 0);
	assert_int_equal(json_print(&small, value, &err), -1);
	assert_int_equal(err.code, ERR_FULL);
	assert_string_equal(buf_str(&small), "keep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_refuses),  cmocka_unit_test(test_parse_is_bounded),
		cmocka_unit_test(test_get_strings),    cmocka_unit_test(test_get_u32),
		cmocka_unit_test(test_get_bool),       cmocka_unit_test(test_add_string),
		cmocka_unit_test(test_text_and_print), cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
