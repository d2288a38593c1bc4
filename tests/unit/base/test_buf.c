/* SPDX-License-Identifier: Apache-2.0 */
/* Views and bounded buffers. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_view_comparisons(void **state)
{
	static const struct {
		const char *a, *b;
		bool eq, nocase, starts, ends;
	} rows[] = {
		{ "", "", true, true, true, true },
		{ "abc", "abc", true, true, true, true },
		{ "abc", "ABC", false, true, false, false },
		{ "abc", "ab", false, false, true, false },
		{ "abc", "bc", false, false, false, true },
		{ "abc", "abcd", false, false, false, false },
		{ "abc", "", false, false, true, true },
		/* ASCII case only */
		{ "\xc3\x84", "\xc3\xa4", false, false, false, false },
		{ "[", "{", false, false, false, false },
		{ "@", "`", false, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view a = view_str(rows[i].a), b = view_str(rows[i].b);

		assert_int_equal(view_eq(a, b), rows[i].eq);
		assert_int_equal(view_is(a, rows[i].b), rows[i].eq);
		assert_int_equal(view_is_nocase(a, rows[i].b), rows[i].nocase);
		assert_int_equal(view_starts(a, b), rows[i].starts);
		assert_int_equal(view_ends(a, b), rows[i].ends);
	}
	assert_true(view_is(view_str(NULL), ""));
	assert_false(view_eq(view_of("a\0b", 3), view_of("a\0c", 3)));
}

static void test_view_parts(void **state)
{
	struct view v = VIEW("a=b=c");

	(void)state;
	assert_int_equal(view_find(v, '='), 1);
	assert_int_equal(view_find(v, 'x'), v.len);
	assert_int_equal(view_find(VIEW(""), 'x'), 0);
	assert_true(view_is(view_base_name(VIEW("a/b.c")), "b.c"));
	assert_true(view_is(view_base_name(VIEW("b.c")), "b.c"));
	assert_true(view_is(view_base_name(VIEW("a/")), ""));
	assert_true(view_is(view_from(v, 2), "b=c"));
	assert_true(view_is(view_from(v, 99), ""));
	assert_true(view_is(view_first(v, 3), "a=b"));
	assert_true(view_is(view_first(v, 99), "a=b=c"));
	assert_true(view_is(view_trim(VIEW(" \t a b\t ")), "a b"));
	assert_true(view_is(view_trim(VIEW(" \t ")), ""));
	assert_true(view_is(view_trim(VIEW("\na\n")), "\na\n"));
}

static void test_view_split(void **state)
{
	static const struct {
		const char *in, *parts; /* joined with | */
	} rows[] = {
		{ "", "" },      { "a", "a|" },  { "a,b", "a|b|" }, { "a,,b", "a||b|" },
		{ ",a", "|a|" }, { "a,", "a|" }, { ",", "|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf got = BUF_INIT(64);
		struct view rest = view_str(rows[i].in), part;

		while (view_split(&rest, ',', &part)) {
			assert_int_equal(buf_add_view(&got, part), 0);
			assert_int_equal(buf_add_char(&got, '|'), 0);
		}
		assert_string_equal(buf_str(&got), rows[i].parts);
	}
}

static void test_view_copy(void **state)
{
	char out[4] = "xyz";
	char *dup;

	(void)state;
	assert_int_equal(view_copy(VIEW("abcd"), out, sizeof(out)), -ENOSPC);
	assert_int_equal(view_copy(view_of("a\0b", 3), out, sizeof(out)), -EINVAL);
	assert_string_equal(out, "xyz"); /* untouched on failure */
	assert_int_equal(view_copy(VIEW("abc"), out, sizeof(out)), 0);
	assert_string_equal(out, "abc");
	dup = view_dup(VIEW(""));
	assert_string_equal(dup, "");
	free(dup);
}

static void test_buf_never_exceeds_its_limit(void **state)
{
	auto_buf struct buf b = BUF_INIT(5);

	(void)state;
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_add_str(&b, "abc"), 0);
	assert_int_equal(buf_add_str(&b, "def"), -ENOSPC);
	assert_string_equal(buf_str(&b), "abc");
	assert_int_equal(buf_addf(&b, "%d", 123), -ENOSPC);
	assert_string_equal(buf_str(&b), "abc");
	assert_int_equal(buf_addf(&b, "%d", 12), 0);
	assert_string_equal(buf_str(&b), "abc12");
	assert_int_equal(buf_add(&b, "", 0), 0);
	assert_int_equal(buf_add_char(&b, 'x'), -ENOSPC);
	assert_null(buf_reserve(&b, 1));
	assert_int_equal(buf_add(&b, "x", SIZE_MAX), -ENOSPC); /* no overflow */
}

static void test_buf_editing(void **state)
{
	auto_buf struct buf b = BUF_INIT(1000);
	char *p;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(buf_addf(&b, "%d,", i), 0);
	assert_true(view_starts(buf_view(&b), VIEW("0,1,2,")));
	assert_true(view_ends(buf_view(&b), VIEW("98,99,")));
	buf_consume(&b, 4);
	assert_true(view_starts(buf_view(&b), VIEW("2,3,")));
	buf_consume(&b, 0);
	buf_truncate(&b, 3);
	assert_string_equal(buf_str(&b), "2,3");
	p = buf_reserve(&b, 2);
	assert_non_null(p);
	memcpy(p, "45", 2);
	buf_commit(&b, 1);
	assert_string_equal(buf_str(&b), "2,34");
	buf_consume(&b, 4);
	assert_string_equal(buf_str(&b), "");

	assert_int_equal(buf_add_str(&b, "mine"), 0);
	p = buf_take(&b);
	assert_string_equal(p, "mine");
	free(p);
	assert_int_equal(b.len, 0);
	assert_null(buf_take(&b));
	assert_int_equal(buf_add_str(&b, "again"), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view_comparisons),
		cmocka_unit_test(test_view_parts),
		cmocka_unit_test(test_view_split),
		cmocka_unit_test(test_view_copy),
		cmocka_unit_test(test_buf_never_exceeds_its_limit),
		cmocka_unit_test(test_buf_editing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
