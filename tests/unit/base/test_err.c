/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, quoting for the log, lists. */
#include "base/err.h"
#include "base/list.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_filling(void **state)
{
	struct err err;
	char longer[600];

	(void)state;
	assert_int_equal(err_set(&err, ERR_BUSY, "slot %d", 7), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.msg, "slot 7");
	assert_int_equal(err_wrap(&err, "grant to %s", "x"), -1);
	assert_string_equal(err.msg, "grant to x: slot 7");
	assert_int_equal(err.code, ERR_BUSY);

	assert_int_equal(err_sys(&err, ENOENT, "open %s", "f"), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.msg, "open f: No such file or directory");

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(err_set(&err, ERR_BUG, "%s", longer), -1);
	assert_int_equal(err_wrap(&err, "outer"), -1);
	assert_true(strlen(err.msg) == sizeof(err.msg) - 1);
	assert_memory_equal(err.msg, "outer: xx", 9);
	assert_int_equal(err_sys(&err, ENOENT, "%s", longer), -1);
	assert_true(strlen(err.msg) == sizeof(err.msg) - 1);
}

/* What may name host paths is not for users. */
static void test_what_users_see(void **state)
{
	(void)state;
	for (int code = ERR_NONE; code < ERR_NUM_CODES; code++) {
		struct err err;
		bool is_inner = code == ERR_SYSTEM || code == ERR_BUG;

		(void)err_set(&err, (enum err_code)code, "/var/lib/berth/x");
		assert_int_equal(strstr(err_public(&err), "/var") == NULL, is_inner);
		assert_true(err_code_name((enum err_code)code)[0] != '\0');
	}
	assert_string_equal(err_code_name(ERR_NUM_CODES), "unknown");
}

static void test_quoting(void **state)
{
	static const struct {
		struct view in;
		size_t size;
		const char *want;
	} rows[] = {
		{ VIEW_INIT(""), 64, "\"\"" },
		{ VIEW_INIT("abc"), 64, "\"abc\"" },
		{ VIEW_INIT("a\nb"), 64, "\"a\\x0ab\"" },
		{ VIEW_INIT("a\"b\\c"), 64, "\"a\\x22b\\x5cc\"" },
		{ VIEW_INIT("\x1b[31m\xc3\xa4"), 64, "\"\\x1b[31m\\xc3\\xa4\"" },
		{ VIEW_INIT("a\0b"), 64, "\"a\\x00b\"" },
		{ VIEW_INIT("0123456789"), 16, "\"0123456\xe2\x80\xa6\"" },
		{ VIEW_INIT("0123456789"), 8, "\"\xe2\x80\xa6\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *out = malloc(rows[i].size); /* of its size exactly: sanitizers watch */

		assert_non_null(out);
		assert_ptr_equal(log_quote(rows[i].in, out, rows[i].size), out);
		assert_string_equal(out, rows[i].want);
		free(out);
	}
}

static void test_quoting_at_every_size(void **state)
{
	static const char in[] = "ab\ncd\xff\xff\xff\xff\"efghij";

	(void)state;
	for (size_t size = 8; size < 80; size++) {
		char *out = malloc(size);

		assert_non_null(out);
		(void)log_quote(view_of(in, sizeof(in) - 1), out, size);
		assert_true(strlen(out) < size);
		assert_true(out[0] == '"' && out[strlen(out) - 1] == '"');
		free(out);
	}
}

static void test_levels(void **state)
{
	enum log_level level = LOG_LEVEL_DEBUG;

	(void)state;
	assert_int_equal(log_level_parse(VIEW("warning"), &level), 0);
	assert_int_equal(level, LOG_LEVEL_WARNING);
	assert_int_equal(log_level_parse(VIEW("loud"), &level), -EINVAL);
	assert_int_equal(level, LOG_LEVEL_WARNING);
}

struct item {
	int number;
	struct list link;
};

static int sum_in_order(struct list *head)
{
	struct list *it, *tmp;
	int digits = 0;

	list_each(it, tmp, head) digits = digits * 10 + container_of(it, struct item, link)->number;
	return digits;
}

static void test_lists(void **state)
{
	struct item items[4] = {
		{ .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 }
	};
	struct list head, *it, *tmp;

	(void)state;
	list_init(&head);
	assert_true(list_is_empty(&head));
	for (int i = 0; i < 3; i++)
		list_add_tail(&head, &items[i].link);
	list_add_head(&head, &items[3].link);
	assert_int_equal(sum_in_order(&head), 4123);
	list_remove(&items[1].link);
	list_remove(&items[1].link); /* harmless */
	assert_int_equal(sum_in_order(&head), 413);
	list_each(it, tmp, &head) list_remove(it);
	assert_true(list_is_empty(&head));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filling), cmocka_unit_test(test_what_users_see),
		cmocka_unit_test(test_quoting), cmocka_unit_test(test_quoting_at_every_size),
		cmocka_unit_test(test_levels),  cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
