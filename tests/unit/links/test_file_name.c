/* SPDX-License-Identifier: Apache-2.0 */
/* Names of uploaded files: what comes out can do no harm. */
#include "links/file_name.h"

#include "base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NAME(in, out)                                                                              \
	{                                                                                          \
		VIEW_INIT(in), out                                                                 \
	}

static void test_table(void **state)
{
	static const struct {
		struct view in;
		const char *out; /* NULL: refused */
	} rows[] = {
		NAME("a.txt", "a.txt"),
		NAME("  a b .txt ", "a b .txt"),
		NAME("../../etc/passwd", "passwd"),
		NAME("C:\\Users\\me\\photo.jpg", "photo.jpg"),
		NAME("/etc/passwd", "passwd"),
		NAME("a\nb\tc\x7f.txt", "a_b_c_.txt"),
		NAME("a\0b", "a_b"),
		NAME("-rf", "-rf"),
		NAME(".bashrc", ".bashrc"),
		NAME("...", "..."),
		NAME("\xf0\x9f\xa6\xa6.png", "\xf0\x9f\xa6\xa6.png"),
		NAME("bad\xff\xfe.txt", "bad\xef\xbf\xbd\xef\xbf\xbd.txt"),
		NAME("#%?;&", "#%?;&"),
		NAME("", NULL),
		NAME(".", NULL),
		NAME("..", NULL),
		NAME("a/..", NULL),
		NAME("a/", NULL),
		NAME("   ", NULL),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[FILE_NAME_MAX + 1];
		int r = file_name_clean(rows[i].in, out);

		assert_int_equal(r, rows[i].out ? 0 : -EINVAL);
		if (rows[i].out)
			assert_string_equal(out, rows[i].out);
	}
}

/* Cut between characters, with the extension kept. */
static void test_long(void **state)
{
	char in[4 * FILE_NAME_MAX], out[FILE_NAME_MAX + 1];
	size_t len = 0;

	(void)state;
	memset(in, 'x', sizeof(in));
	assert_int_equal(file_name_clean(view_of(in, FILE_NAME_MAX), out), 0);
	assert_int_equal(strlen(out), FILE_NAME_MAX);
	assert_int_equal(file_name_clean(view_of(in, FILE_NAME_MAX + 1), out), 0);
	assert_int_equal(strlen(out), FILE_NAME_MAX);

	while (len + 4 < sizeof(in) - 8) {
		memcpy(in + len, "\xf0\x9f\xa6\xa6", 4);
		len += 4;
	}
	memcpy(in + len, ".tar", 4);
	assert_int_equal(file_name_clean(view_of(in, len + 4), out), 0);
	assert_true(strlen(out) <= FILE_NAME_MAX && strlen(out) > FILE_NAME_MAX - 4);
	assert_true(utf8_valid(view_str(out)));
	assert_true(view_ends(view_str(out), VIEW(".tar")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
