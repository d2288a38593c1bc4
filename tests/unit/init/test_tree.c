/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc/PID/stat, and signals to whatever descends from a process. */
#include "init/tree.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_parse(void **state)
{
	static const struct {
		const char *line;
		bool is_good;
		char state;
		pid_t parent, group;
	} rows[] = {
		{ "12 (sh) S 7 11 12 0", true, 'S', 7, 11 },
		{ "12 (a) Z 9 8) R 3 12", true, 'R', 3, 12 }, /* a name like the rest */
		{ "12 () D 0 1", true, 'D', 0, 1 },
		{ "12 (sh)", false, 0, 0, 0 },
		{ "12 (sh) S", false, 0, 0, 0 },
		{ "12 (sh) S x", false, 0, 0, 0 },
		{ "12 (sh) S -1 12", false, 0, 0, 0 },
		{ "12 (sh) S 7", false, 0, 0, 0 },
		{ "12 (sh) S 7 ", false, 0, 0, 0 },
		{ "12 (sh) S 7 -1", false, 0, 0, 0 },
		{ "12 sh S 7 12", false, 0, 0, 0 },
		{ "", false, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t parent = 0, group = 0;
		char letter = 0;

		assert_int_equal(tree_parse_stat(rows[i].line, &letter, &parent, &group),
				 rows[i].is_good);
		assert_int_equal(letter, rows[i].state);
		assert_int_equal(parent, rows[i].parent);
		assert_int_equal(group, rows[i].group);
	}
}

/* A chain of three in sessions of their own; returns the first, once all are there. */
static pid_t make_chain(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)setsid();
		if (fork() == 0) {
			(void)setsid();
			if (fork() == 0)
				(void)!write(ready[1], "", 1);
		}
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static void test_signal(void **state)
{
	pid_t other = make_chain(), pid = make_chain();
	int status, deaths = 0;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(tree_signal(pid, TREE_BELOW_ROOT, 0), 2);
	assert_int_equal(tree_signal(pid, TREE_WITH_ROOT, SIGKILL), 3);
	/* The others were left alone. */
	while (deaths < 3 && waitpid(-1, &status, 0) > 0)
		deaths++;
	assert_int_equal(tree_signal(other, TREE_WITH_ROOT, SIGKILL), 3);
	while (waitpid(-1, &status, 0) > 0)
		deaths++;
	assert_int_equal(deaths, 6);
}

/* Goes on as its own child all the time: whoever is listed is gone. Until nobody reads `out`. */
static _Noreturn void hop(int out)
{
	struct pollfd reader = { .fd = out };

	while (poll(&reader, 1, 0) == 0)
		if (fork() > 0)
			_exit(0);
	_exit(0);
}

/*
 * Below the process that is returned, which is like a leader: one that waits, and one in the same
 * group that hops. From *ret_end comes the group, then the end when both are gone.
 */
static pid_t make_hopper(int *ret_end)
{
	int end[2];
	pid_t pid, group;

	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(end[0]);
		(void)signal(SIGCHLD, SIG_IGN);
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		if (fork() == 0) {
			group = setsid();
			if (fork() == 0)
				hop(end[1]);
			(void)!write(end[1], &group, sizeof(group));
			for (;;)
				(void)pause();
		}
		(void)close(end[1]);
		for (;;)
			(void)pause();
	}
	(void)close(end[1]);
	*ret_end = end[0];
	return pid;
}

static void test_what_is_forked_meanwhile(void **state)
{
	struct pollfd end = { .events = POLLIN };
	pid_t leader = make_hopper(&end.fd), group;
	bool has_ended;
	int sent;

	(void)state;
	assert_int_equal(read(end.fd, &group, sizeof(group)), sizeof(group));
	sent = tree_signal(leader, TREE_BELOW_ROOT, SIGTERM);
	has_ended = poll(&end, 1, 20000) == 1;
	(void)kill(-group, SIGKILL);
	(void)close(end.fd);
	assert_true(sent > 0);
	assert_int_equal(kill(leader, SIGKILL), 0);
	assert_int_equal(waitpid(leader, NULL, 0), leader);
	assert_true(has_ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_what_is_forked_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
