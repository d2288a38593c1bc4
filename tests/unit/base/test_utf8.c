/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, with the awkward sequences of Unicode's chapter 3.9. */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define R "\xef\xbf\xbd" /* U+FFFD */

static void test_characters(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		uint32_t cp;
	} rows[] = {
		{ "A", 1, 'A' },
		{ "\x7f", 1, 0x7f },
		{ "\xc2\x80", 2, 0x80 },
		{ "\xdf\xbf", 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 0x800 },
		{ "\xed\x9f\xbf", 3, 0xd7ff },
		{ "\xee\x80\x80", 3, 0xe000 },
		{ "\xef\xbf\xbf", 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		{ "", 0, 0 },
		{ "\x80", 0, 0 },                 /* continuation alone */
		{ "\xc0\x80", 0, 0 },             /* overlong NUL */
		{ "\xc1\xbf", 0, 0 },             /* overlong */
		{ "\xe0\x9f\xbf", 0, 0 },         /* overlong */
		{ "\xf0\x8f\xbf\xbf", 0, 0 },     /* overlong */
		{ "\xed\xa0\x80", 0, 0 },         /* surrogate */
		{ "\xf4\x90\x80\x80", 0, 0 },     /* above U+10FFFF */
		{ "\xf5\x80\x80\x80", 0, 0 },     /* above */
		{ "\xf8\x88\x80\x80\x80", 0, 0 }, /* five bytes */
		{ "\xff", 0, 0 },
		{ "\xc2", 0, 0 },     /* cut off */
		{ "\xe2\x82", 0, 0 }, /* cut off */
		{ "\xe2\x41", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t cp = 77;

		assert_int_equal(utf8_char(view_str(rows[i].in), &cp), rows[i].len);
		assert_int_equal(cp, rows[i].len ? rows[i].cp : 77);
		assert_int_equal(utf8_char(view_str(rows[i].in), NULL), rows[i].len);
		assert_int_equal(utf8_valid(view_str(rows[i].in)),
				 rows[i].len == strlen(rows[i].in));
	}
}

static void test_replacing(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "", "" },
		{ "plain \xe2\x82\xac", "plain \xe2\x82\xac" },
		{ "a\x80z", "a" R "z" },
		/* one for each maximal part, as the Unicode standard recommends (table 3-8) */
		{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A" },
		{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A" },
		{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B" },
		{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A" },
		{ "end\xe2\x82", "end" R },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(256);

		assert_int_equal(utf8_add_valid(&out, view_str(rows[i].in)), 0);
		assert_string_equal(buf_str(&out), rows[i].want);
		assert_true(utf8_valid(buf_view(&out)));
	}
}

static void test_replacing_is_all_or_nothing(void **state)
{
	auto_buf struct buf out = BUF_INIT(6);

	(void)state;
	assert_int_equal(buf_add_str(&out, "x"), 0);
	assert_int_equal(utf8_add_valid(&out, VIEW("ab\x80\x80")), -ENOSPC);
	assert_string_equal(buf_str(&out), "x");
	assert_int_equal(utf8_add_valid(&out, VIEW("ab\x80")), 0);
	assert_string_equal(buf_str(&out), "xab" R);
}

static void test_counting_and_cutting(void **state)
{
	static const struct {
		const char *in;
		size_t chars, count;
		const char *first, *last;
	} rows[] = {
		{ "", 3, 0, "", "" },
		{ "abc", 0, 3, "", "" },
		{ "abc", 2, 3, "ab", "bc" },
		{ "abc", 9, 3, "abc", "abc" },
		{ "\xe2\x82\xac"
		  "a\xf0\x9f\x98\x80",
		  1, 3, "\xe2\x82\xac", "\xf0\x9f\x98\x80" },
		{ "\xe2\x82\xac"
		  "a\xf0\x9f\x98\x80",
		  2, 3,
		  "\xe2\x82\xac"
		  "a",
		  "a\xf0\x9f\x98\x80" },
		/* invalid bytes count as one each */
		{ "a\x80\x80", 2, 3, "a\x80", "\x80\x80" },
		{ "\xe2\x82", 1, 2, "\xe2", "\x82" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view in = view_str(rows[i].in);

		assert_int_equal(utf8_count(in), rows[i].count);
		assert_true(view_is(utf8_first(in, rows[i].chars), rows[i].first));
		assert_true(view_is(utf8_last(in, rows[i].chars), rows[i].last));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_replacing),
		cmocka_unit_test(test_replacing_is_all_or_nothing),
		cmocka_unit_test(test_counting_and_cutting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
