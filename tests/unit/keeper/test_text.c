/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings, kinds, patterns and the diagnosis of near misses: the keeper's pure parts. */
#include "base/utf8.h"
#include "keeper/glob.h"
#include "keeper/lines.h"
#include "keeper/match.h"
#include "keeper/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_detect(void **state)
{
	static const struct {
		struct view head;
		enum text_encoding encoding;
		size_t bom_len;
	} rows[] = {
		{ VIEW_INIT(""), TEXT_UTF8, 0 },
		{ VIEW_INIT("plain\n"), TEXT_UTF8, 0 },
		{ VIEW_INIT("na\xc3\xafve"), TEXT_UTF8, 0 },
		{ VIEW_INIT("valid \xef\xbf\xbd"), TEXT_UTF8, 0 },
		{ VIEW_INIT("\xef\xbb\xbfmarked"), TEXT_UTF8, 3 },
		{ VIEW_INIT("\xff\xfe"
			    "a\0"),
		  TEXT_UTF16LE, 2 },
		{ VIEW_INIT("\xfe\xff\0a"), TEXT_UTF16BE, 2 },
		{ VIEW_INIT("a\0b\0\n\0"), TEXT_UTF16LE, 0 },
		{ VIEW_INIT("\0a\0b\0\n"), TEXT_UTF16BE, 0 },
		{ VIEW_INIT("na\xefve caf\xe9\n"), TEXT_LATIN1, 0 },
		{ VIEW_INIT("a\0b"), TEXT_BINARY, 0 },
		{ VIEW_INIT("\xff\xfe\0\0a\0\0\0"), TEXT_BINARY, 0 },
		{ VIEW_INIT("\x01\x02\x03\xff\x04\x05"), TEXT_BINARY, 0 },
		{ VIEW_INIT("%PDF-1.7 text"), TEXT_BINARY, 0 },
		{ VIEW_INIT("\x1b[31mred\x1b[0m"), TEXT_UTF8, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text_format f = text_detect(rows[i].head, true);

		assert_int_equal(f.encoding, rows[i].encoding);
		assert_int_equal(f.bom_len, rows[i].bom_len);
	}
	/* A character cut at the end of what was looked at. */
	assert_int_equal(text_detect(VIEW("abc\xe2\x82"), false).encoding, TEXT_UTF8);
	assert_int_equal(text_detect(VIEW("abc\xe2\x82"), true).encoding, TEXT_LATIN1);
}

static void test_kinds(void **state)
{
	(void)state;
	assert_string_equal(kind_of_binary(VIEW("\x89PNG\r\n\x1a\n....")), "PNG image");
	assert_string_equal(kind_of_binary(VIEW("RIFF....WEBPVP8 ")), "WebP image");
	assert_string_equal(kind_of_binary(VIEW("\0\1\2")), "binary data");
	assert_null(kind_by_magic(VIEW("")));
}

static void check_round_trip(enum text_encoding encoding, struct view raw, struct view body)
{
	auto_buf struct buf decoded = BUF_INIT(4096);
	auto_buf struct buf encoded = BUF_INIT(4096);
	struct text_walk walk = { .encoding = encoding, .raw = raw };
	uint32_t bad = 0;

	assert_int_equal(text_decode(&decoded, encoding, raw), 0);
	assert_true(view_eq(buf_view(&decoded), body));
	assert_int_equal(text_walk_to(&walk, decoded.len), raw.len);
	assert_int_equal(
		text_encode(&encoded, encoding, &(struct text_span){ raw, 0, raw.len }, body, &bad),
		0);
	assert_true(view_eq(buf_view(&encoded), raw));
}

static void test_round_trips(void **state)
{
	(void)state;
	check_round_trip(TEXT_UTF8, VIEW("a\r\nb\nc\r\n"), VIEW("a\nb\nc\n"));
	check_round_trip(TEXT_UTF8, VIEW("lone\rcr\r\r\n"), VIEW("lone\rcr\r\n"));
	check_round_trip(TEXT_UTF16LE, VIEW("a\0\r\0\n\0\x3d\xd8\x00\xde"), VIEW("a\n😀"));
	check_round_trip(TEXT_UTF16BE, VIEW("\0a\0\r\0\n\xd8\x3d\xde\x00\0\n"), VIEW("a\n😀\n"));
	check_round_trip(TEXT_LATIN1, VIEW("caf\xe9 \x93q\x94\x81\r\n"),
			 VIEW("café “q”\xc2\x81\n"));
}

static void test_encode_refuses_what_latin1_lacks(void **state)
{
	auto_buf struct buf out = BUF_INIT(64);
	uint32_t bad = 0;

	(void)state;
	assert_int_equal(text_encode(&out, TEXT_LATIN1, &(struct text_span){ VIEW("x"), 0, 1 },
				     VIEW("a→"), &bad),
			 -EILSEQ);
	assert_int_equal(bad, 0x2192);
	assert_int_equal(out.len, 0);
}

/* A span's new line ends are like those in it, and beyond them like those around it. */
static void test_line_ends_of_a_replacement(void **state)
{
	static const struct {
		struct view raw;
		size_t from, to;
		const char *replacement, *want;
	} rows[] = {
		{ VIEW_INIT("a\r\nb\r\n"), 0, 1, "x\ny", "x\r\ny" },
		{ VIEW_INIT("a\nb\n"), 0, 1, "x\ny", "x\ny" },
		{ VIEW_INIT("a\r\nb\nc\n"), 0, 5, "1\n2\n3\n", "1\r\n2\n3\n" },
		{ VIEW_INIT("a\r\nlast"), 3, 7, "x\ny", "x\r\ny" },
		{ VIEW_INIT("\r\nabc"), 2, 5, "x\ny", "x\r\ny" },
		{ VIEW_INIT("one"), 0, 3, "x\ny", "x\ny" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(64);
		uint32_t bad;

		const struct text_span span = { rows[i].raw, rows[i].from, rows[i].to };
		assert_int_equal(
			text_encode(&out, TEXT_UTF8, &span, view_str(rows[i].replacement), &bad),
			0);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

static void test_lines(void **state)
{
	struct view body = VIEW("one\ntwo\n\nfour");

	(void)state;
	assert_int_equal(text_line_of(body, 0), 1);
	assert_int_equal(text_line_of(body, 4), 2);
	assert_int_equal(text_line_of(body, body.len), 4);
	assert_int_equal(text_line_start(body, 1), 0);
	assert_int_equal(text_line_start(body, 3), 8);
	assert_int_equal(text_line_start(body, 4), 9);
	assert_int_equal(text_line_start(body, 5), body.len);
}

static void test_counts_and_sizes(void **state)
{
	auto_buf struct buf b = BUF_INIT(256);

	(void)state;
	assert_int_equal(add_count(&b, 1, "line") | add_count(&b, 1234567, NULL) |
				 add_count(&b, 0, "byte") | add_size(&b, 1023) |
				 add_size(&b, 14541) | add_size(&b, UINT64_MAX),
			 0);
	assert_string_equal(buf_str(&b), "1 line1,234,5670 bytes1,023 bytes14.2 KiB15.9 EiB");
}

static void test_glob(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} rows[] = {
		{ "*.c", "a.c", true },
		{ "*.c", "src/deep/a.c", true },
		{ "*.c", "a.h", false },
		{ "*", ".hidden", true },
		{ ".*", ".env", true },
		{ "src/*.c", "src/a.c", true },
		{ "src/*.c", "src/x/a.c", false },
		{ "src/**/*.c", "src/a.c", true },
		{ "src/**/*.c", "src/x/y/a.c", true },
		{ "**/test_*", "a/b/test_x", true },
		{ "**", "a/b", true },
		{ "a/**", "a/b/c", true },
		{ "/a", "a", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]x", "bx", false },
		{ "[]]", "]", true },
		{ "[", "[", true },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "*.{c,h}", "a.h", true },
		{ "*.{c,h}", "a.x", false },
		{ "{a,b{c,d}}.x", "bd.x", true },
		{ "{a}", "{a}", true },
		{ "*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
		{ "**/**/**/x", "a/a/a/a/a/y", false },
		{ "", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_of(glob) struct glob *g = NULL;

		assert_int_equal(glob_new(view_str(rows[i].pattern), &g), 0);
		if (glob_match(g, view_str(rows[i].path)) != rows[i].matches)
			fail_msg("%s %s", rows[i].pattern, rows[i].path);
	}
}

static void test_glob_is_bounded(void **state)
{
	struct glob *g = NULL;

	(void)state;
	assert_int_equal(glob_new(VIEW("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), &g), -EINVAL);
	assert_int_equal(
		glob_new(VIEW("/////////////////////////////////////////////////////////////"
			      "/////////"),
			 &g),
		-EINVAL);
	assert_null(g);
}

static void test_diagnosis(void **state)
{
	static const struct {
		const char *body, *old, *says;
	} rows[] = {
		{ "int a;\n\treturn 1;\n", "    return 1;\n",
		  "line 2, column 1: the file has 1 tab, old_text has 4 spaces" },
		{ "a = 1 \nb = 2\n", "a = 1\nb = 2\n",
		  "line 1, column 6: the file has 1 space, old_text has nothing more" },
		{ "x\xc2\xa0= 1;\n", "x = 1;", "the file has a no-break space (U+00A0)" },
		{ "say “hi”\n", "say \"hi\"", "the file has \"“hi”\", old_text has \"\"hi\"\"" },
		{ "foo\xe2\x80\x8b(bar)\n", "foo(bar)", "a zero-width space (U+200B)" },
		{ "Hello World\n", "hello world", "column 1" },
		{ "one\ntwo\n", "1\tone\n2\ttwo\n", "line numbers" },
		{ "one\n\nint compute_total(int a, int b)\n{\n", "int compute_totals(int a, int b)",
		  "The nearest line is 3" },
		{ "alpha\nbeta\n", "zzzzqqqq", "Nothing in the file is like it" },
		{ "a\n", " \n\t\n", "only blanks" },
		{ "if (x)\n\tfoo();\n\tbar();\n", "if (x)\n\tfoo();\n\tbaz();\n",
		  "line 3, column 4: the file has \"r();\", old_text has \"z();\"" },
		{ "same\n", "same\n\n", "only blank lines or line ends" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(8192);

		assert_int_equal(
			match_diagnose(&out, view_str(rows[i].body), 1, view_str(rows[i].old)), 0);
		if (!strstr(buf_str(&out), rows[i].says))
			fail_msg("%zu: %s", i, buf_str(&out));
		assert_true(utf8_valid(buf_view(&out)));
	}
}

static void test_match_all(void **state)
{
	size_t *at = NULL;

	(void)state;
	assert_int_equal(match_all(VIEW("aXbXXc"), VIEW("X"), &at), 3);
	assert_true(at[0] == 1 && at[1] == 3 && at[2] == 4);
	free(at);
	assert_int_equal(match_all(VIEW("aaaa"), VIEW("aa"), &at), 2);
	free(at);
	assert_int_equal(match_all(VIEW("abc"), VIEW("x"), &at), 0);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_encode_refuses_what_latin1_lacks),
		cmocka_unit_test(test_line_ends_of_a_replacement),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_counts_and_sizes),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_glob_is_bounded),
		cmocka_unit_test(test_diagnosis),
		cmocka_unit_test(test_match_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
