/* SPDX-License-Identifier: Apache-2.0 */
/* Runs another program to its end. */
#include "sys/run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

static int start(const char *const *argv, int out_fd, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out_fd, STDERR_FILENO);
	/* posix_spawn() takes the arguments without const, but does not change them. */
	if (r == 0)
		r = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
				 environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Reads to the end, so that the program never blocks on a full pipe; keeps what fits. */
static void collect(int fd, struct buf *output)
{
	for (;;) {
		char chunk[4096];
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (output && buf_add(output, chunk, (size_t)n) < 0)
			output = NULL;
	}
}

int run_program(const char *const *argv, struct buf *output, int *ret_status)
{
	int pipe_fds[2], status, r;
	pid_t pid = -1;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, pipe_fds[1], &pid);
	(void)close(pipe_fds[1]);
	if (r == 0)
		collect(pipe_fds[0], output);
	(void)close(pipe_fds[0]);
	if (r < 0)
		return r;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}
