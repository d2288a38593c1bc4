/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's "key value" files. */
#include "sys/counter.h"

#include "base/attr.h"
#include "sys/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static void test_find_value(void **state)
{
	static const struct {
		const char *text, *key;
		uint64_t want;
	} rows[] = {
		{ "low 0\nhigh 3\nmax 12\noom 1\noom_kill 7\n", "oom_kill", 7 },
		{ "low 0\nhigh 3\nmax 12\noom 1\noom_kill 7\n", "oom", 1 },
		{ "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill", 2 },
		{ "usage_usec 18446744073709551615\n", "usage_usec", UINT64_MAX },
		{ "max 5", "max", 5 },
		{ "max\n", "max", UINT64_MAX },
		{ "max -1\n", "max", UINT64_MAX },
		{ "", "max", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(counter_find(rows[i].text, rows[i].key) == rows[i].want);
}

static void test_read(void **state)
{
	auto_fd int fd = io_memory_file("counters", VIEW("oom 1\noom_kill 7\n"));
	int pipe_fds[2];

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 2; i++) /* from the start each time */
		assert_true(counter_read(fd, "oom_kill") == 7);
	assert_true(counter_read(fd, "max") == UINT64_MAX);
	assert_true(counter_read(-1, "oom_kill") == UINT64_MAX);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_true(counter_read(pipe_fds[0], "oom_kill") == UINT64_MAX); /* it cannot seek */
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find_value),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
