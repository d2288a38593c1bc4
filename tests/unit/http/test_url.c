/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding and form pairs. */
#include "http/url.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_encode(void **state)
{
	auto_buf struct buf out = BUF_INIT(256);

	(void)state;
	assert_int_equal(url_encode(&out, VIEW("a-Z_0.~/ %\n\xc3\xa9")), 0);
	assert_string_equal(buf_str(&out), "a-Z_0.~%2F%20%25%0A%C3%A9");
	buf_truncate(&out, 0);
	assert_int_equal(url_encode_path(&out, VIEW("/a b/#?;&")), 0);
	assert_string_equal(buf_str(&out), "/a%20b/%23%3F%3B%26");
}

static void test_encode_keeps_out_when_full(void **state)
{
	auto_buf struct buf out = BUF_INIT(4);

	(void)state;
	assert_int_equal(buf_add_str(&out, "xy"), 0);
	assert_int_equal(url_encode(&out, VIEW("a/")), -ENOSPC);
	assert_string_equal(buf_str(&out), "xy");
}

static void test_round_trip(void **state)
{
	auto_buf struct buf all = BUF_INIT(256), encoded = BUF_INIT(1024), back = BUF_INIT(256);

	(void)state;
	for (int c = 0; c < 256; c++)
		assert_int_equal(buf_add_char(&all, (char)c), 0);
	assert_int_equal(url_encode(&encoded, buf_view(&all)), 0);
	assert_int_equal(url_decode(&back, buf_view(&encoded)), 0);
	assert_true(view_eq(buf_view(&all), buf_view(&back)));
}

static void test_decode_refuses(void **state)
{
	static const char *const bad[] = { "%",   "%4",   "a%",   "a%4", "%4g",
					   "%g4", "%%41", "% 41", "%+1" };
	auto_buf struct buf out = BUF_INIT(64);

	(void)state;
	assert_int_equal(buf_add_str(&out, "kept"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(url_decode(&out, view_str(bad[i])), -EINVAL);
		assert_string_equal(buf_str(&out), "kept");
	}
	assert_int_equal(url_decode(&out, VIEW("+%41")), 0);
	assert_string_equal(buf_str(&out), "kept+A");
}

static void test_form(void **state)
{
	auto_url_form struct url_form form = { 0 };
	struct view name;

	(void)state;
	assert_int_equal(url_form_parse(&form, VIEW("a=1&b=x+y%2B&&c&=v&d==")), 0);
	assert_int_equal(form.n, 5);
	assert_true(view_is(url_form_get(&form, "a"), "1"));
	assert_true(view_is(url_form_get(&form, "b"), "x y+"));
	assert_true(view_is(url_form_get(&form, "c"), ""));
	assert_non_null(url_form_get(&form, "c").p);
	assert_true(view_is(url_form_get(&form, ""), "v"));
	assert_true(view_is(url_form_get(&form, "d"), "="));
	assert_null(url_form_get(&form, "e").p);
	assert_false(url_form_has_duplicate(&form, &name));
}

static void test_form_duplicates(void **state)
{
	auto_url_form struct url_form form = { 0 };
	struct view name;

	(void)state;
	/* After decoding. */
	assert_int_equal(url_form_parse(&form, VIEW("code=1&x=2&c%6Fde=3")), 0);
	assert_int_equal(url_form_count(&form, "code"), 2);
	assert_true(view_is(url_form_get(&form, "code"), "1"));
	assert_true(url_form_has_duplicate(&form, &name));
	assert_true(view_is(name, "code"));
}

static void test_form_refuses(void **state)
{
	static const struct view bad[] = { VIEW_INIT("a=%"),   VIEW_INIT("a%zz=1"),
					   VIEW_INIT("a=%00"), VIEW_INIT("a=%ff"),
					   VIEW_INIT("a=\0b"), VIEW_INIT("a=%c0%80") };
	auto_url_form struct url_form form = { 0 };
	auto_buf struct buf many = BUF_INIT(1024);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(url_form_parse(&form, bad[i]), -EINVAL);
		assert_int_equal(form.n, 0);
	}
	for (int i = 0; i <= URL_MAX_PAIRS; i++)
		assert_int_equal(buf_add_str(&many, "a&"), 0);
	assert_int_equal(url_form_parse(&form, buf_view(&many)), -E2BIG);
	assert_int_equal(url_form_parse(&form, VIEW("")), 0);
	assert_int_equal(form.n, 0);
}

static void test_control(void **state)
{
	(void)state;
	assert_false(url_has_control(VIEW("plain \xc3\xa9")));
	assert_true(url_has_control(VIEW("a\nb")));
	assert_true(url_has_control(VIEW("a\x7f")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_encode_keeps_out_when_full),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_decode_refuses),
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_form_duplicates),
		cmocka_unit_test(test_form_refuses),
		cmocka_unit_test(test_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
