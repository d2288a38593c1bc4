/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the mail program on behalf of a server that cannot. */
#include "mail/postman.h"

#include "sys/io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	OWN_FD = 3, /* the socket, in the new process */
	/* The mail program has its own, shorter limits; this one is for a program that hangs. */
	PATIENCE_MS = 120 * 1000,
};

/* ---- the new process ---- */

static int spawn(const char *path, const posix_spawn_file_actions_t *actions, pid_t *ret)
{
	char name[] = "berth-mail";
	char *const argv[] = { name, NULL };
	char *const env[] = { NULL }; /* nothing of ours in it */
	posix_spawnattr_t attr;
	sigset_t none;
	int r = posix_spawnattr_init(&attr);

	if (r != 0)
		return r;
	/* The loop blocks the signals it reads; a child would inherit that. */
	(void)sigemptyset(&none);
	r = posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (r == 0)
		r = posix_spawn(ret, path, actions, &attr, argv, env);
	(void)posix_spawnattr_destroy(&attr);
	return r;
}

static int start_program(const char *path, int input, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = spawn(path, &actions, ret);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Until it ends; it is killed when it takes too long or the server is gone. */
static int wait_for(pid_t pid)
{
	auto_fd int pidfd = pidfd_open(pid, 0);
	struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN }, { .fd = OWN_FD, .events = 0 } };
	siginfo_t info = { 0 };

	if (pidfd < 0 || poll(fds, ARRAY_SIZE(fds), PATIENCE_MS) <= 0 || fds[0].revents == 0)
		(void)kill(pid, SIGKILL);
	if (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 || info.si_code != CLD_EXITED)
		return POSTMAN_KILLED;
	return info.si_status;
}

static _Noreturn void serve(const char *program)
{
	char byte;

	for (;;) {
		size_t n_fds = 1;
		int input = -1, status;
		pid_t pid = -1;

		if (io_recv_fds(OWN_FD, &byte, 1, &input, &n_fds) != 1 || n_fds != 1)
			_exit(0);
		status = start_program(program, input, &pid);
		(void)close(input);
		if (status == 0)
			status = wait_for(pid);
		if (send(OWN_FD, &status, sizeof(status), MSG_NOSIGNAL) != sizeof(status))
			_exit(0);
	}
}

/* Nothing of the server's comes along but standard error. */
static _Noreturn void become_postman(int sock, const char *program)
{
	(void)prctl(PR_SET_NAME, "berth-postman");
	if (dup2(sock, OWN_FD) < 0 || fcntl(OWN_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(OWN_FD + 1, ~0U, 0) < 0)
		_exit(1);
	serve(program);
}

/* ---- the server's side ---- */

int postman_start(const char *program, struct postman *ret)
{
	int pair[2], r = io_seqpacket_pair(pair);
	pid_t pid;

	if (r < 0)
		return r;
	auto_fd int ours = pair[0];
	auto_fd int theirs = pair[1];
	r = io_set_nonblocking(ours);
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		become_postman(theirs, program);
	if (pid < 0)
		return -errno;
	*ret = (struct postman){ .sock = take_fd(ours), .pid = pid };
	return 0;
}

int postman_run(const struct postman *postman, int input)
{
	return io_send_fds(postman->sock, "", 1, &input, 1);
}

int postman_result(const struct postman *postman, int *ret)
{
	int status;
	ssize_t n = recv(postman->sock, &status, sizeof(status), 0);

	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n != sizeof(status))
		return -EPIPE;
	*ret = status;
	return 0;
}

void postman_stop(struct postman *postman)
{
	if (postman->sock < 0)
		return;
	(void)close(postman->sock);
	postman->sock = -1;
	(void)waitpid(postman->pid, NULL, 0);
}
