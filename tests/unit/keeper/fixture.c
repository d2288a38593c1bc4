/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper in a child process over two temporary folders. */
#include "fixture.h"

#include "keeper/keeper.h"
#include "keeper/keeper_internal.h"
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char *program; /* NULL: no exec */
static bool large;

void fixture_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "large") == 0)
			large = true;
		else
			program = argv[i];
	}
}

bool fixture_is_large(void)
{
	return large;
}

bool fixture_hides_files(void)
{
	return !program || geteuid() == 0;
}

static int make_dir(int parent, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(parent, name, 0755), 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* As the spawner does it: three descriptors at their places. */
static void execute(const struct fixture *f, int sock)
{
	const int from[] = { sock, f->workspace, f->layer };
	int high[ARRAY_SIZE(from)];

	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 32);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		(void)dup2(high[i], KEEPER_SOCKET_FD + (int)i);
	(void)execl(program, program, NULL);
	_exit(127);
}

static void serve(struct fixture *f, int sock)
{
	if (program)
		execute(f, sock);

	int self = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct keeper *k = keeper_new(sock, f->workspace, f->layer, self);
	struct err err;
	int r = k ? keeper_serve(k, &err) : -1;

	keeper_free(k);
	_exit(r == 0 ? 0 : 1);
}

static void start(struct fixture *f)
{
	int sock[2];

	assert_int_equal(io_seqpacket_pair(sock), 0);
	f->socket = sock[0];
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		(void)close(sock[0]);
		serve(f, sock[1]);
	}
	(void)close(sock[1]);
}

void fixture_restart(struct fixture *f)
{
	(void)close(f->socket);
	start(f);
}

int fixture_set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->message = malloc(KEEPER_MAX_MESSAGE);
	assert_non_null(f->message);
	/* In memory where possible: the tests sync a lot. The large trees are for a real disk. */
	(void)snprintf(f->dir, sizeof(f->dir), "%s/berth-keeper-test.XXXXXX",
		       !large && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(f->dir));
	auto_fd int top = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->workspace = make_dir(top, "workspace");
	f->layer = make_dir(top, "layer");
	f->outside = make_dir(top, "outside");
	(void)close(make_dir(f->layer, "upper"));
	(void)close(make_dir(f->layer, "work"));
	start(f);
	*state = f;
	return 0;
}

int fixture_tear_down(void **state)
{
	struct fixture *f = *state;
	int status;

	(void)close(f->socket);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	auto_fd int top = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(empty_folder(top), 0);
	assert_int_equal(rmdir(f->dir), 0);
	(void)close(f->workspace);
	(void)close(f->layer);
	(void)close(f->outside);
	free(f->message);
	free(f);
	return 0;
}

uint64_t ask_only(struct fixture *f, const struct keeper_request *request, int in_fd)
{
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_MESSAGE);

	assert_int_equal(keeper_request_encode(&b, ++f->last_id, request), 0);
	assert_int_equal(io_send_fds(f->socket, b.p, b.len, &in_fd, in_fd >= 0 ? 1 : 0), 0);
	return f->last_id;
}

uint64_t next_reply(struct fixture *f, struct keeper_reply *ret, int *ret_fd)
{
	uint64_t id = 0;
	size_t n_fds = 1;
	int fd = -1;
	ssize_t n = io_recv_fds(f->socket, f->message, KEEPER_MAX_MESSAGE, &fd, &n_fds);

	assert_true(n > 0);
	assert_int_equal(keeper_reply_decode(view_of(f->message, (size_t)n), &id, ret), 0);
	if (ret_fd)
		*ret_fd = fd;
	else if (fd >= 0)
		(void)close(fd);
	return id;
}

int ask(struct fixture *f, const struct keeper_request *request, int in_fd,
	struct keeper_reply *ret, int *ret_fd)
{
	uint64_t id = ask_only(f, request, in_fd);

	if (in_fd >= 0)
		(void)close(in_fd);
	assert_int_equal(next_reply(f, ret, ret_fd), id);
	return ret->error;
}

uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

int content_fd(struct view content)
{
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, content.p, content.len), 0);
	return fd;
}

void put_file(int dir, const char *path, struct view content)
{
	auto_fd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, content.p, content.len), 0);
}

void check_file(int dir, const char *path, struct view content)
{
	auto_buf struct buf b = BUF_INIT(64 << 20);

	assert_int_equal(io_read_file(dir, path, &b), 0);
	assert_int_equal(b.len, content.len);
	assert_memory_equal(buf_str(&b), content.p, content.len);
}

int64_t count_entries(int dir)
{
	DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int64_t n = -2; /* "." and ".." */

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}
