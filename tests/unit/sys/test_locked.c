/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that stays in the process: asked of the kernel, page by page. */
#include "sys/clock.h"
#include "sys/locked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

/* The VmFlags of the mapping that starts at `p` ("lo": locked, "dd": not dumped, "wf": wiped). */
static void flags_of(const void *p, char *out, size_t size)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[256], start[32];
	int found = 0;

	assert_non_null(smaps);
	(void)snprintf(start, sizeof(start), "%lx-", (unsigned long)(uintptr_t)p);
	out[0] = '\0';
	while (fgets(line, sizeof(line), smaps)) {
		if (!strncmp(line, start, strlen(start)))
			found = 1;
		if (found && !strncmp(line, "VmFlags:", 8)) {
			(void)snprintf(out, size, "%s", line + 8);
			break;
		}
	}
	(void)fclose(smaps);
}

static void test_what_the_kernel_says(void **state)
{
	char flags[512];
	char *mine;
	void *p;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(locked_new(10000, &p), 0);
	mine = p;
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(mine[i], 0);
	flags_of(p, flags, sizeof(flags));
	if (!BERTH_SANITIZED) /* whose mlock() does nothing */
		assert_non_null(strstr(flags, " lo"));
	assert_non_null(strstr(flags, " dd"));
	assert_non_null(strstr(flags, " wf"));

	strcpy(mine, "secret");
	pid = fork();
	if (pid == 0)
		_exit(mine[0]); /* a child finds nothing */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_string_equal(mine, "secret");
	locked_free(p, 10000);
	locked_free(NULL, 10000);
}

static void test_a_low_limit_is_an_error(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (BERTH_SANITIZED)
		skip(); /* mlock() does nothing there */
	pid = fork();
	if (pid == 0) {
		static const struct rlimit none = { 0, 0 };
		void *p;

		/* Root may lock whatever the limit: look as somebody else does. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
			_exit(77);
		_exit(locked_new(4096, &p) < 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static usec later(void *userdata)
{
	return *(usec *)userdata;
}

static void test_clocks(void **state)
{
	usec a = clock_monotonic(&clock_system), b = clock_monotonic(&clock_system);
	usec fixed = 1700000000999999;
	struct clock mine = { later, later, &fixed };

	(void)state;
	assert_true(a > 0 && b >= a);
	assert_true(clock_wall(&clock_system) > 1700000000 * USEC_PER_SEC);
	assert_true(clock_wall_seconds(&mine) == 1700000000);
	assert_true(clock_thread_cpu() > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_kernel_says),
		cmocka_unit_test(test_a_low_limit_is_an_error),
		cmocka_unit_test(test_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
