/* SPDX-License-Identifier: Apache-2.0 */
/* Finding programs. */
#include "sys/programs.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_find(void **state)
{
	char path[PATH_MAX], small[6];

	(void)state;
	(void)setenv("PATH", "/nowhere", 1); /* is not looked at */
	assert_int_equal(program_find("env", path, sizeof(path)), 0);
	assert_string_equal(path, "/usr/bin/env");
	assert_int_equal(program_find("/bin/sh", path, sizeof(path)), 0);
	assert_string_equal(path, "/bin/sh");
	assert_int_equal(program_find("/etc/passwd", path, sizeof(path)), -EACCES);
	assert_int_equal(program_find("/nowhere/env", path, sizeof(path)), -ENOENT);
	assert_int_equal(program_find("no-such-program", path, sizeof(path)), -ENOENT);
	assert_int_equal(program_find("/bin/sh", small, sizeof(small)), -ENAMETOOLONG);
	assert_int_equal(program_find("env", small, sizeof(small)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_find) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
