/* SPDX-License-Identifier: Apache-2.0 */
/* Output as a model gets it: cutting, counting, cleaning. */
#include "tools/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

static void assert_clean(const char *in, size_t len, const char *want)
{
	auto_buf struct buf text = BUF_INIT(4096);

	assert_int_equal(output_clean(&text, view_of(in, len)), 0);
	assert_string_equal(buf_str(&text), want);
}

static void cleaning(void **state)
{
	static const struct {
		const char *in;
		size_t len; /* 0: strlen */
		const char *want;
	} rows[] = {
		{ "plain\n", 0, "plain\n" },
		{ "a\0b", 3,
		  "a\xe2\x90\x80"
		  "b" },
		{ "ok \xfe\xff end\n", 0, "ok \xef\xbf\xbd\xef\xbf\xbd end\n" },
		{ "\033[31mred\033[0m", 0, "red" },
		{ "\033[1;38;5;196mx", 0, "x" },
		{ "\033]0;title\ay", 0, "y" },
		{ "\033]8;;http://x\033\\link\033]8;;\033\\", 0, "link" },
		{ "\033(Bz", 0, "z" },
		{ "\033Mz", 0, "z" },
		{ "cut \033[3", 0, "cut " },
		{ "cut \033", 0, "cut " },
		{ "cut \033]0;never ends", 0, "cut " },
		{ "10%\r20%\r\n", 0, "10%\r20%\r\n" },
		{ "\xe2\x82", 0, "\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_clean(rows[i].in, rows[i].len ? rows[i].len : strlen(rows[i].in),
			     rows[i].want);
}

static void short_output_is_whole(void **state)
{
	auto_buf struct buf text = BUF_INIT(1 << 20);
	struct output o;

	(void)state;
	output_init(&o, 1000);
	assert_int_equal(output_add(&o, VIEW("one\n")), 0);
	assert_int_equal(output_add(&o, VIEW("two\n")), 0);
	assert_false(output_gets_long(&o, 0));
	assert_false(output_gets_long(&o, 1000 - 8));
	assert_true(output_gets_long(&o, 1000 - 8 + 1));
	assert_int_equal(output_render(&o, NULL, &text), 0);
	assert_string_equal(buf_str(&text), "one\ntwo\n");
	output_done(&o);
}

static void long_output_keeps_both_ends(void **state)
{
	auto_buf struct buf text = BUF_INIT(1 << 20);
	struct output o;
	char line[32];

	(void)state;
	output_init(&o, 1000);
	for (int i = 0; i < 100000; i++) {
		int n = snprintf(line, sizeof(line), "line %d\n", i);

		assert_int_equal(output_add(&o, view_of(line, (size_t)n)), 0);
	}
	assert_true(output_gets_long(&o, 0));
	assert_int_equal(o.lines, 100000);
	assert_int_equal(output_render(&o, "/workspace/.berth/output/x.txt", &text), 0);
	assert_non_null(strstr(buf_str(&text), "line 0\n"));
	assert_non_null(strstr(buf_str(&text), "line 99999\n"));
	assert_non_null(strstr(buf_str(&text), "/workspace/.berth/output/x.txt"));
	assert_true(text.len < 2000);
	/* Memory is bounded by what may be shown, not by what came. */
	assert_true(o.head.cap + o.tail.cap < 32 * 1024);
	output_done(&o);
}

static void cuts_fall_between_characters(void **state)
{
	auto_buf struct buf text = BUF_INIT(1 << 20);
	struct output o;

	(void)state;
	output_init(&o, 1000);
	/* In pieces that split characters. */
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(output_add(&o, VIEW("\xf0\x9f")), 0);
		assert_int_equal(output_add(&o, VIEW("\x98\x80")), 0);
	}
	assert_int_equal(output_render(&o, NULL, &text), 0);
	assert_null(strstr(buf_str(&text), "\xef\xbf\xbd"));
	output_done(&o);
}

static void reset_starts_anew(void **state)
{
	auto_buf struct buf text = BUF_INIT(4096);
	struct output o;

	(void)state;
	output_init(&o, 1000);
	assert_int_equal(output_add(&o, VIEW("old")), 0);
	output_reset(&o);
	assert_int_equal(output_add(&o, VIEW("new")), 0);
	assert_int_equal(output_render(&o, NULL, &text), 0);
	assert_string_equal(buf_str(&text), "new");
	assert_int_equal(o.bytes, 3);
	output_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cleaning),
		cmocka_unit_test(short_output_is_whole),
		cmocka_unit_test(long_output_keeps_both_ends),
		cmocka_unit_test(cuts_fall_between_characters),
		cmocka_unit_test(reset_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
