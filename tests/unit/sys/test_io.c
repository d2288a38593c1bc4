/* SPDX-License-Identifier: Apache-2.0 */
/* Files and sockets. */
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

struct folder {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)snprintf(f->path, sizeof(f->path), "/tmp/berth-test-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *f = *state;

	(void)unlinkat(f->fd, "file", 0);
	(void)unlinkat(f->fd, "link", 0);
	(void)unlinkat(f->fd, "sub/file", 0);
	(void)unlinkat(f->fd, "sub", AT_REMOVEDIR);
	(void)close(f->fd);
	assert_int_equal(rmdir(f->path), 0); /* no temporary file was left */
	free(f);
	return 0;
}

static void test_writing_and_reading(void **state)
{
	struct folder *f = *state;
	auto_buf struct buf got = BUF_INIT(100000);
	char big[50000];
	struct stat st;

	memset(big, 'x', sizeof(big));
	assert_int_equal(io_write_file(f->fd, "file", view_of(big, sizeof(big)), 0640), 0);
	assert_int_equal(fstatat(f->fd, "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(io_read_file(f->fd, "file", &got), 0);
	assert_true(view_eq(buf_view(&got), view_of(big, sizeof(big))));

	/* replaced as a whole; readers of the old one keep it */
	assert_int_equal(io_write_file(f->fd, "file", VIEW("new"), 0600), 0);
	buf_truncate(&got, 0);
	assert_int_equal(io_read_file(f->fd, "file", &got), 0);
	assert_string_equal(buf_str(&got), "new");
	assert_int_equal(io_write_file(f->fd, "file", VIEW(""), 0600), 0);
	buf_truncate(&got, 0);
	assert_int_equal(io_read_file(f->fd, "file", &got), 0);
	assert_int_equal(got.len, 0);

	assert_int_equal(mkdirat(f->fd, "sub", 0700), 0);
	assert_int_equal(io_write_file(f->fd, "sub/file", VIEW("x"), 0600), 0);
}

static void test_what_a_kill_leaves(void **state)
{
	static const char *const others[] = { "file", "file.0123456.tmp", "file.01234567.tmq",
					      "other.01234567.tmp" };
	struct folder *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(io_write_file(f->fd, others[i], VIEW("x"), 0600), 0);
	assert_int_equal(io_write_file(f->fd, "file.01234567.tmp", VIEW("x"), 0600), 0);
	io_remove_unfinished(f->fd, "file");
	assert_int_equal(faccessat(f->fd, "file.01234567.tmp", F_OK, 0), -1);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(unlinkat(f->fd, others[i], 0), 0);
}

static void test_failing(void **state)
{
	struct folder *f = *state;
	auto_buf struct buf small = BUF_INIT(3);
	char name[5000];

	assert_int_equal(io_read_file(f->fd, "file", &small), -ENOENT);
	assert_int_equal(io_write_file(f->fd, "nowhere/file", VIEW("x"), 0600), -ENOENT);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(io_write_file(f->fd, name, VIEW("x"), 0600), -ENAMETOOLONG);
	assert_int_equal(io_write_file(f->fd, "file", VIEW("four"), 0600), 0);
	assert_int_equal(io_read_file(f->fd, "file", &small), -ENOSPC);
	assert_int_equal(io_put(f->fd, "nofile", "x"), -ENOENT);
}

/* A link is replaced, what it points to is not touched. */
static void test_links(void **state)
{
	struct folder *f = *state;
	auto_buf struct buf got = BUF_INIT(100);

	assert_int_equal(io_write_file(f->fd, "file", VIEW("target"), 0600), 0);
	assert_int_equal(symlinkat("file", f->fd, "link"), 0);
	assert_int_equal(io_write_file(f->fd, "link", VIEW("new"), 0600), 0);
	assert_int_equal(io_read_file(f->fd, "file", &got), 0);
	assert_string_equal(buf_str(&got), "target");
}

static void test_put(void **state)
{
	struct folder *f = *state;
	auto_buf struct buf got = BUF_INIT(100);

	assert_int_equal(io_write_file(f->fd, "file", VIEW("12345"), 0600), 0);
	assert_int_equal(io_put(f->fd, "file", "ab"), 0); /* as it is for /proc: no truncation */
	assert_int_equal(io_read_file(f->fd, "file", &got), 0);
	assert_string_equal(buf_str(&got), "ab345");
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static void test_passing_descriptors(void **state)
{
	int pair[2], fds[IO_MAX_FDS], sent[IO_MAX_FDS], before;
	size_t n;
	char text[8];

	(void)state;
	assert_int_equal(io_seqpacket_pair(pair), 0);
	for (int i = 0; i < IO_MAX_FDS; i++)
		sent[i] = pair[0];
	before = count_fds();
	for (size_t want = 0; want <= IO_MAX_FDS; want++) {
		assert_int_equal(io_send_fds(pair[0], "abc", 3, sent, want), 0);
		n = IO_MAX_FDS;
		assert_int_equal(io_recv_fds(pair[1], text, sizeof(text), fds, &n), 3);
		assert_int_equal(n, want);
		for (size_t i = 0; i < n; i++) {
			assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
			assert_int_equal(close(fds[i]), 0);
		}
	}
	assert_int_equal(count_fds(), before);
	(void)close(pair[0]);
	n = IO_MAX_FDS;
	assert_int_equal(io_recv_fds(pair[1], text, sizeof(text), fds, &n), 0); /* the end */
	assert_int_equal(n, 0);
	assert_int_equal(io_send_fds(pair[1], "abc", 3, NULL, 0), -EPIPE); /* and no signal */
	(void)close(pair[1]);
}

static void test_what_does_not_fit_is_closed(void **state)
{
	static const struct {
		size_t text, fds, room_text, room_fds;
	} rows[] = {
		{ 9, 0, 8, 8 }, { 9, 3, 8, 8 }, { 3, 2, 8, 1 }, { 3, 1, 8, 0 }, { 3, 8, 8, 7 },
	};
	int pair[2], fds[IO_MAX_FDS], sent[IO_MAX_FDS], before;
	char text[16];

	(void)state;
	assert_int_equal(io_seqpacket_pair(pair), 0);
	for (int i = 0; i < IO_MAX_FDS; i++)
		sent[i] = pair[0];
	before = count_fds();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = rows[i].room_fds;

		assert_int_equal(
			io_send_fds(pair[0], "0123456789", rows[i].text, sent, rows[i].fds), 0);
		assert_int_equal(io_recv_fds(pair[1], text, rows[i].room_text, fds, &n), -EMSGSIZE);
		assert_int_equal(count_fds(), before);
	}
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_a_full_queue(void **state)
{
	int pair[2], sent = 0, r = 0;

	(void)state;
	assert_int_equal(io_seqpacket_pair(pair), 0);
	assert_int_equal(io_set_nonblocking(pair[0]), 0);
	while (sent < 100000 && (r = io_send_fds(pair[0], "abc", 3, NULL, 0)) == 0)
		sent++;
	assert_int_equal(r, -EAGAIN);
	assert_true(sent > 0);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(io_set_nonblocking(-1), -EBADF);
}

static void test_all_of_a_pipe(void **state)
{
	char text[16];
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(io_write_all(fds[1], "01234567", 8), 0);
	assert_int_equal(io_read_all(fds[0], text, 5), 5);
	assert_memory_equal(text, "01234", 5);
	(void)close(fds[1]);
	assert_int_equal(io_read_all(fds[0], text, sizeof(text)), 3); /* up to the end */
	(void)close(fds[0]);
	assert_int_equal(io_read_all(fds[0], text, 1), -EBADF);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_writing_and_reading),
		TEST(test_what_a_kill_leaves),
		TEST(test_failing),
		TEST(test_links),
		TEST(test_put),
		cmocka_unit_test(test_passing_descriptors),
		cmocka_unit_test(test_what_does_not_fit_is_closed),
		cmocka_unit_test(test_a_full_queue),
		cmocka_unit_test(test_all_of_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
