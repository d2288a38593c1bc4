/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init itself, as an ordinary process: its side of the protocol. */
#include "sys/io.h"
#include "wire/init.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char *program;

struct init {
	pid_t pid;
	int sock;
};

static struct init_event next_event(const struct init *init)
{
	struct init_event event;
	char bytes[sizeof(event) + 1];
	ssize_t n = recv(init->sock, bytes, sizeof(bytes), 0);

	assert_true(n >= 0);
	assert_int_equal(init_event_decode(bytes, (size_t)n, 0, &event), 0);
	return event;
}

static int setup(void **state)
{
	static struct init init;
	const struct timeval patience = { .tv_sec = 60 };
	int pair[2];

	assert_int_equal(io_seqpacket_pair(pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)),
			 0);
	init.pid = fork();
	if (init.pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd < 2; fd++)
			(void)dup2(null, fd);
		if (pair[1] == INIT_SOCKET_FD)
			(void)fcntl(INIT_SOCKET_FD, F_SETFD, 0);
		else
			(void)dup2(pair[1], INIT_SOCKET_FD);
		(void)execl(program, program, (char *)NULL);
		_exit(127);
	}
	(void)close(pair[1]);
	init.sock = pair[0];
	*state = &init;
	assert_int_equal(next_event(&init).type, INIT_READY);
	return 0;
}

static int teardown(void **state)
{
	struct init *init = *state;
	int status;

	(void)close(init->sock);
	assert_int_equal(waitpid(init->pid, &status, 0), init->pid);
	return 0;
}

static void start(const struct init *init, uint32_t cmd, const char *text, const char *cwd)
{
	const char *const args[] = { "/bin/sh", "-c", text, NULL };
	const struct init_exec exec = { .cmd = cmd, .cwd = cwd, .args = args };
	static char message[INIT_MAX_REQUEST];
	size_t len;
	auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	assert_int_equal(init_exec_encode(message, sizeof(message), &exec, &len), 0);
	assert_int_equal(io_send_fds(init->sock, message, len, &null, 1), 0);
}

static void test_commands(void **state)
{
	struct init *init = *state;
	struct init_event event;

	start(init, 5, "exit 3", "/");
	event = next_event(init);
	assert_int_equal(event.type, INIT_EXITED);
	assert_int_equal(event.cmd, 5);
	assert_int_equal(WEXITSTATUS((int)event.status), 3);

	start(init, 6, "true", "/nowhere");
	event = next_event(init);
	assert_int_equal(event.type, INIT_NOT_STARTED);
	assert_int_equal(event.stage, INIT_STAGE_CWD);
	assert_int_equal(event.status, ENOENT);
}

static void test_many(void **state)
{
	struct init *init = *state;
	struct init_request_head signal_all;

	for (uint32_t i = 0; i < INIT_MAX_CMDS; i++)
		start(init, 100 + i, "exec sleep 1000", "/");
	start(init, 999, "true", "/"); /* one too many */
	assert_int_equal(next_event(init).type, INIT_NOT_STARTED);
	for (uint32_t i = 0; i < INIT_MAX_CMDS; i++) {
		init_signal_encode(&signal_all, 100 + i, SIGKILL);
		assert_int_equal(io_send_fds(init->sock, &signal_all, sizeof(signal_all), NULL, 0),
				 0);
	}
	for (uint32_t i = 0; i < INIT_MAX_CMDS; i++) {
		struct init_event event = next_event(init);

		assert_int_equal(event.type, INIT_EXITED);
		assert_int_equal(WTERMSIG((int)event.status), SIGKILL);
	}
	start(init, 1000, "true", "/");
	assert_int_equal(next_event(init).type, INIT_EXITED);
}

/* A signal for a command that has just ended is no error. */
static void test_late_signal(void **state)
{
	struct init *init = *state;
	struct init_request_head late;

	init_signal_encode(&late, 4711, SIGTERM);
	assert_int_equal(io_send_fds(init->sock, &late, sizeof(late), NULL, 0), 0);
	start(init, 1, "true", "/");
	assert_int_equal(next_event(init).type, INIT_EXITED);
}

static void test_nonsense_ends_it(void **state)
{
	struct init *init = *state;
	char byte;

	assert_int_equal(io_send_fds(init->sock, "nonsense", 8, NULL, 0), 0);
	assert_int_equal(recv(init->sock, &byte, 1, 0), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_commands),
		TEST(test_many),
		TEST(test_late_signal),
		TEST(test_nonsense_ends_it),
	};

	if (argc < 2)
		return 77;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
