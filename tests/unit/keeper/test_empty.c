/* SPDX-License-Identifier: Apache-2.0 */
/* Emptying hostile trees, measuring them, and files in and out. */
#include "fixture.h"
#include "keeper/keeper_internal.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

/* `levels` folders with long names, one in the other: no path reaches the bottom. */
static void make_deep(int top, int levels)
{
	char name[201];
	int dir = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(name, 'd', sizeof(name) - 1);
	name[200] = '\0';
	for (int i = 0; i < levels; i++) {
		int below;

		assert_int_equal(mkdirat(dir, name, 0755), 0);
		below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(dir);
		dir = below;
	}
	put_file(dir, "bottom", VIEW("x"));
	(void)close(dir);
}

static void make_nasty(int dir)
{
	static const char *const names[] = { "-rf", "new\nline", "\xff\xfe", " ",        "*", "\\",
					     "\"",  "'",         "...",      ".trash-1", "0", "1" };
	char longest[256];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_file(dir, names[i], VIEW(""));
	memset(longest, 'n', 255);
	longest[255] = '\0';
	assert_int_equal(mkdirat(dir, longest, 0755), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0), 0);
	assert_int_equal(mknodat(dir, "socket", S_IFSOCK | 0600, 0), 0);
	assert_int_equal(symlinkat("../outside", dir, "link"), 0);
	assert_int_equal(symlinkat("/", dir, "root"), 0);
	assert_int_equal(mkdirat(dir, "closed", 0755), 0);
	auto_fd int closed = openat(dir, "closed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(closed, "file", VIEW("x"));
	assert_int_equal(mkdirat(closed, "below", 0755), 0);
	assert_int_equal(fchmodat(closed, "below", geteuid() == 0 ? 0 : 0700, 0), 0);
	assert_int_equal(fchmod(closed, geteuid() == 0 ? 0 : 0700), 0);
	auto_fd int sparse = openat(dir, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
	assert_int_equal(linkat(dir, "sparse", dir, "second name", 0), 0);
}

static void make_many(int dir, int files)
{
	for (int i = 0; i < files; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "file%d", i);
		assert_int_equal(mknodat(dir, name, S_IFREG | 0644, 0), 0);
	}
}

/* Folders with folders with a file each: more in the trash at once than one level. */
static void make_wide(int dir, int width)
{
	for (int i = 0; i < width; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "wide%d", i);
		assert_int_equal(mkdirat(dir, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "wide%d/0", i);
		assert_int_equal(mkdirat(dir, name, 0755), 0);
		(void)snprintf(name, sizeof(name), "wide%d/0/0", i);
		put_file(dir, name, VIEW(""));
	}
}

static void test_empty(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request request = { .verb = KEEPER_EMPTY };
	struct keeper_reply reply;
	/* The large trees take minutes on a slow disk. */
	int scale = fixture_is_large() ? 100 : 1;
	int files = fixture_is_large() ? 1000000 : 300;
	usec begun;
	struct stat st;

	put_file(f->outside, "kept", VIEW("kept"));
	make_deep(f->workspace, 200 * scale);
	make_nasty(f->workspace);
	make_many(f->workspace, files);
	make_wide(f->workspace, 20 * scale);
	auto_fd int upper = openat(f->layer, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_nasty(upper);
	assert_int_equal(mkdirat(f->layer, "trash", 0700), 0);
	assert_int_equal(mkdirat(f->layer, "trash/old", 0700), 0);

	begun = clock_monotonic(&clock_system);
	assert_int_equal(ask(f, &request, -1, &reply, NULL), 0);
	if (fixture_is_large())
		print_message("%d files and %d levels were emptied in %.1f s\n", files, 200 * scale,
			      (double)(clock_monotonic(&clock_system) - begun) / 1e6);
	assert_int_equal(count_entries(f->workspace), 0);
	check_file(f->outside, "kept", VIEW("kept"));
	assert_int_equal(fstatat(f->layer, "upper", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	assert_int_equal(fstatat(f->layer, "work", &st, 0), 0);
	assert_int_equal(fstatat(f->layer, "upper/fifo", &st, 0), -1);
	assert_int_equal(unlinkat(f->layer, "trash", AT_REMOVEDIR), 0);
}

static void test_empty_resets_the_folder_itself(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request request = { .verb = KEEPER_EMPTY };
	struct keeper_reply reply;
	struct stat st;
	char value[8];

	assert_int_equal(fchmod(f->workspace, 01777), 0);
	if (fsetxattr(f->workspace, "user.note", "mine", 4, 0) < 0)
		assert_int_equal(errno, ENOTSUP);
	assert_int_equal(ask(f, &request, -1, &reply, NULL), 0);
	assert_int_equal(fstat(f->workspace, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	assert_int_equal(fgetxattr(f->workspace, "user.note", value, sizeof(value)), -1);
	/* Empty is fine to be emptied again. */
	assert_int_equal(ask(f, &request, -1, &reply, NULL), 0);
}

/*
 * Asks for the emptying and holds the child that does it before its first step, as a debugger
 * would. Returns its pid; 0 where nobody may do that.
 */
static pid_t hold_emptying(struct fixture *f, uint64_t *ret_id)
{
	const struct keeper_request empty = { .verb = KEEPER_EMPTY };
	const int is_fork = SIGTRAP | PTRACE_EVENT_FORK << 8;
	unsigned long pid;
	int status;

	if (ptrace(PTRACE_SEIZE, f->pid, NULL, PTRACE_O_TRACEFORK) < 0)
		return 0;
	*ret_id = ask_only(f, &empty, -1);
	/* The end of an older child may come before. */
	while (waitpid(f->pid, &status, 0) == f->pid && status >> 8 != is_fork)
		assert_int_equal(ptrace(PTRACE_CONT, f->pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, f->pid, NULL, &pid), 0);
	assert_int_equal(waitpid((pid_t)pid, &status, __WALL), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_DETACH, f->pid, NULL, NULL), 0);
	return (pid_t)pid;
}

/* Requests that come while the workspace is emptied are refused, and it ends up empty. */
static void test_nothing_is_served_meanwhile(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request empty = { .verb = KEEPER_EMPTY };
	const struct keeper_request create = { .verb = KEEPER_CREATE, .path = VIEW_INIT("x") };
	struct keeper_reply reply;
	uint64_t first;
	pid_t child;

	assert_int_equal(ask(f, &create, -1, &reply, NULL), 0); /* dropped by EMPTY */
	put_file(f->workspace, "file", VIEW("x"));
	child = hold_emptying(f, &first);
	if (!child)
		skip();
	assert_int_equal(ask(f, &create, -1, &reply, NULL), EBUSY);
	assert_int_equal(ask(f, &empty, -1, &reply, NULL), EBUSY);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	assert_int_equal(next_reply(f, &reply, NULL), first);
	assert_int_equal(reply.error, 0);
	assert_int_equal(count_entries(f->workspace), 0);
}

/* As test_jail.c's: a file system with no inode left, in a mount namespace of its own. */
static int empty_what_is_full(const struct fixture *f)
{
	char target[96];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	(void)snprintf(target, sizeof(target), "%s/workspace", f->dir);
	if (mount("tmpfs", target, "tmpfs", 0, "nr_inodes=60,size=1M") < 0)
		return 77;
	auto_fd int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_deep(dir, 20);
	for (int i = 0; i < 100; i++) {
		char name[300];

		(void)snprintf(name, sizeof(name), "%s%d", i < 20 ? "d" : "f", i);
		if (i < 20)
			(void)mkdirat(dir, name, 0755);
		else
			(void)mknodat(dir, name, S_IFREG | 0644, 0);
	}
	if (mkdirat(dir, "one more", 0755) == 0)
		return 1; /* it is not full */
	if (empty_folder(dir) < 0)
		return 2;
	return count_entries(dir) == 0 ? 0 : 3;
}

static void test_empty_what_is_full(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(empty_what_is_full(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_drop_layer(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request drop = { .verb = KEEPER_DROP_LAYER };
	const struct keeper_request usage = { .verb = KEEPER_USAGE };
	struct keeper_reply reply;
	struct stat st;

	put_file(f->workspace, "kept", VIEW("kept"));
	put_file(f->layer, "upper/old", VIEW("old"));
	assert_int_equal(ask(f, &drop, -1, &reply, NULL), 0);
	assert_int_equal(fstatat(f->layer, "upper/old", &st, 0), -1);
	assert_int_equal(ask(f, &drop, -1, &reply, NULL), 0);
	/* The old ones go in the background. */
	do {
		assert_int_equal(ask(f, &usage, -1, &reply, NULL), 0);
		assert_int_equal(fstatat(f->layer, "trash", &st, 0), 0);
	} while (st.st_nlink > 2);
	check_file(f->workspace, "kept", VIEW("kept"));
}

static void test_usage(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request usage = { .verb = KEEPER_USAGE };
	const struct keeper_request all = { .verb = KEEPER_USAGE, .flags = KEEPER_ALL };
	struct keeper_reply reply;
	static char megabyte[1 << 20];

	put_file(f->workspace, "big", view_of(megabyte, sizeof(megabyte)));
	assert_int_equal(linkat(f->workspace, "big", f->workspace, "again", 0), 0);
	put_file(f->layer, "upper/big", view_of(megabyte, sizeof(megabyte)));
	auto_fd int fd = openat(f->workspace, "big", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fsync(fd), 0);
	auto_fd int other = openat(f->layer, "upper/big", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fsync(other), 0);
	assert_int_equal(ask(f, &usage, -1, &reply, NULL), 0);
	assert_int_equal(reply.count, 2); /* each name */
	assert_in_range(reply.number, 1 << 20, (1 << 20) + 65536);
	assert_in_range(reply.size, 2 << 20, (2 << 20) + 131072);
	assert_true(reply.mtime_ns > 0);
	assert_int_equal(ask(f, &all, -1, &reply, NULL), 0);
	assert_int_equal(reply.count, 2 + 3); /* upper, what is in it, work */
	assert_in_range(reply.number, 1 << 20, (1 << 20) + 65536);
}

/* Where there is some; full ones: tests/e2e/disk.test.mjs. */
static void test_room(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request room = { .verb = KEEPER_ROOM };
	struct keeper_reply reply;

	assert_int_equal(ask(f, &room, -1, &reply, NULL), 0);
	assert_int_equal(count_entries(f->workspace), 0);
	assert_int_equal(fchmod(f->workspace, 0), 0); /* not a matter of room */
	assert_int_equal(ask(f, &room, -1, &reply, NULL), 0);
	assert_int_equal(fchmod(f->workspace, 0755), 0);
}

static void test_usage_of_what_is_too_deep(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request usage = { .verb = KEEPER_USAGE };
	struct keeper_reply reply;

	if (!fixture_is_large())
		skip();
	make_deep(f->workspace, 4200);
	assert_int_equal(ask(f, &usage, -1, &reply, NULL), EOVERFLOW);
	assert_true(reply.number > 4000U * 4096);
}

static void write_and_close(int fd, struct view content)
{
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, content.p, content.len), 0);
	(void)close(fd);
}

static void test_create_and_commit(void **state)
{
	struct fixture *f = *state;
	struct keeper_request create = { .verb = KEEPER_CREATE,
					 .flags = KEEPER_NOREPLACE,
					 .path = VIEW_INIT("a/b/new file") };
	struct keeper_request commit = { .verb = KEEPER_COMMIT, .flags = KEEPER_NOREPLACE };
	struct keeper_request again;
	struct keeper_reply reply;
	struct stat st;
	int fd;

	assert_int_equal(ask(f, &create, -1, &reply, &fd), 0);
	write_and_close(fd, VIEW("content"));
	assert_int_equal(fstatat(f->workspace, "a/b/new file", &st, 0), -1);
	commit.number = reply.number;
	assert_int_equal(ask(f, &commit, -1, &reply, NULL), 0);
	assert_int_equal(reply.size, 7);
	assert_int_equal(reply.mode, S_IFREG | 0644);
	check_file(f->workspace, "a/b/new file", VIEW("content"));

	/* Never over an existing one unasked, neither at the start nor at the end. */
	assert_int_equal(ask(f, &create, -1, &reply, NULL), EEXIST);
	create.flags = 0;
	create.mode = 0755;
	assert_int_equal(ask(f, &create, -1, &reply, &fd), 0);
	write_and_close(fd, VIEW("second"));
	commit.number = reply.number;
	assert_int_equal(ask(f, &commit, -1, &reply, NULL), EEXIST);
	check_file(f->workspace, "a/b/new file", VIEW("content"));
	again = commit;
	again.flags = 0;
	assert_int_equal(ask(f, &again, -1, &reply, NULL), 0);
	check_file(f->workspace, "a/b/new file", VIEW("second"));
	assert_int_equal(reply.mode, S_IFREG | 0755);
	assert_int_equal(ask(f, &again, -1, &reply, NULL), ENOENT);
	auto_fd int folder = openat(f->workspace, "a/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(count_entries(folder), 1);
}

/* What is replaced is the link, wherever it leads. */
static void test_create_over_a_link(void **state)
{
	static const char *const targets[] = { "kept", "nothing", "../outside/secret", "/etc/motd",
					       "link" };
	struct fixture *f = *state;

	put_file(f->workspace, "kept", VIEW("kept"));
	put_file(f->outside, "secret", VIEW("secret"));
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct keeper_request create = { .verb = KEEPER_CREATE,
						 .flags = KEEPER_NOREPLACE,
						 .path = VIEW_INIT("link") };
		struct keeper_request commit = { .verb = KEEPER_COMMIT };
		struct keeper_reply reply;
		struct stat st;
		int fd;

		assert_int_equal(symlinkat(targets[i], f->workspace, "link"), 0);
		assert_int_equal(ask(f, &create, -1, &reply, NULL), EEXIST);
		create.flags = 0;
		assert_int_equal(ask(f, &create, -1, &reply, &fd), 0);
		write_and_close(fd, VIEW("new"));
		commit.number = reply.number;
		assert_int_equal(ask(f, &commit, -1, &reply, NULL), 0);
		assert_int_equal(fstatat(f->workspace, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_size == 3);
		check_file(f->workspace, "kept", VIEW("kept"));
		check_file(f->outside, "secret", VIEW("secret"));
		assert_int_equal(unlinkat(f->workspace, "link", 0), 0);
	}
	assert_int_equal(count_entries(f->workspace), 1);
}

/* Nothing of a file that is being made shows, or stays when the keeper is killed. */
static void test_killed_in_the_middle(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request create = { .verb = KEEPER_CREATE, .path = VIEW_INIT("d/x") };
	struct keeper_reply reply;
	int fd, status;

	if (!fixture_hides_files())
		skip();
	assert_int_equal(ask(f, &create, -1, &reply, &fd), 0);
	write_and_close(fd, VIEW("half"));
	assert_int_equal(kill(f->pid, SIGKILL), 0);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	auto_fd int folder = openat(f->workspace, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(count_entries(folder), 0);
	fixture_restart(f);
}

static void test_create_refuses(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path;
		int error;
	} rows[] = {
		{ "", EISDIR },     { "..", EXDEV },    { "dir", EISDIR },
		{ "fifo", EISDIR }, { "out/x", EXDEV }, { "file/x", ENOTDIR },
	};
	struct keeper_reply reply;
	char long_name[300];

	assert_int_equal(mkdirat(f->workspace, "dir", 0755), 0);
	put_file(f->workspace, "file", VIEW(""));
	assert_int_equal(mkfifoat(f->workspace, "fifo", 0644), 0);
	assert_int_equal(symlinkat("../outside", f->workspace, "out"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct keeper_request create = { .verb = KEEPER_CREATE,
						       .path = view_str(rows[i].path) };

		assert_int_equal(ask(f, &create, -1, &reply, NULL), rows[i].error);
		assert_true(reply.text.len > 10);
	}
	memset(long_name, 'x', sizeof(long_name));
	const struct keeper_request create = { .verb = KEEPER_CREATE,
					       .path = view_of(long_name, sizeof(long_name)) };
	assert_int_equal(ask(f, &create, -1, &reply, NULL), ENAMETOOLONG);
	assert_int_equal(count_entries(f->outside), 0);
}

static void test_tokens_are_bounded_and_dropped(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request create = { .verb = KEEPER_CREATE, .path = VIEW_INIT("x") };
	struct keeper_request abort_it = { .verb = KEEPER_ABORT };
	struct keeper_reply reply;

	for (int i = 0; i < KEEPER_MAX_TOKENS; i++)
		assert_int_equal(ask(f, &create, -1, &reply, NULL), 0);
	abort_it.number = reply.number;
	assert_int_equal(ask(f, &create, -1, &reply, NULL), EBUSY);
	assert_int_equal(ask(f, &abort_it, -1, &reply, NULL), 0);
	assert_int_equal(ask(f, &abort_it, -1, &reply, NULL), ENOENT);
	assert_int_equal(ask(f, &create, -1, &reply, NULL), 0);
	assert_int_equal(count_entries(f->workspace),
			 fixture_hides_files() ? 0 : KEEPER_MAX_TOKENS);
}

/* Each request has exactly one reply, however its child ends. */
static void test_one_reply_each(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request usage = { .verb = KEEPER_USAGE };
	const struct keeper_request empty = { .verb = KEEPER_EMPTY };
	bool answered[256] = { false };
	struct keeper_reply reply;

	make_many(f->workspace, 200);
	for (int round = 0; round < 20; round++) {
		/* The child of the first has replied, and may or may not have ended. */
		assert_int_equal(ask(f, &usage, -1, &reply, NULL), 0);
		answered[f->last_id] = true;
		(void)ask_only(f, &usage, -1);
		(void)ask_only(f, &empty, -1);
		for (int i = 0; i < 2; i++) {
			uint64_t id = next_reply(f, &reply, NULL);

			assert_true(id > 0 && id < ARRAY_SIZE(answered) && !answered[id]);
			answered[id] = true;
			assert_true(reply.error == 0 || reply.error == ECANCELED);
		}
	}
}

static void test_open_and_stat(void **state)
{
	struct fixture *f = *state;
	struct keeper_request request = { .verb = KEEPER_OPEN, .path = VIEW_INIT("link") };
	struct keeper_reply reply;
	char bytes[8];
	int fd;

	put_file(f->workspace, "file", VIEW("bytes"));
	assert_int_equal(symlinkat("file", f->workspace, "link"), 0);
	assert_int_equal(ask(f, &request, -1, &reply, &fd), 0);
	assert_int_equal(io_read_all(fd, bytes, sizeof(bytes)), 5);
	assert_int_equal(write(fd, "x", 1), -1);
	(void)close(fd);
	assert_int_equal(reply.size, 5);
	request.flags = KEEPER_NOFOLLOW;
	assert_int_equal(ask(f, &request, -1, &reply, NULL), ELOOP);
	request.verb = KEEPER_STAT;
	request.path = VIEW("");
	assert_int_equal(ask(f, &request, -1, &reply, NULL), 0);
	assert_true(view_is(reply.text, "a folder") && S_ISDIR(reply.mode));
}

#define WITH_FIXTURE(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_empty),
		WITH_FIXTURE(test_empty_resets_the_folder_itself),
		WITH_FIXTURE(test_nothing_is_served_meanwhile),
		WITH_FIXTURE(test_empty_what_is_full),
		WITH_FIXTURE(test_drop_layer),
		WITH_FIXTURE(test_usage),
		WITH_FIXTURE(test_room),
		WITH_FIXTURE(test_usage_of_what_is_too_deep),
		WITH_FIXTURE(test_create_and_commit),
		WITH_FIXTURE(test_create_over_a_link),
		WITH_FIXTURE(test_killed_in_the_middle),
		WITH_FIXTURE(test_create_refuses),
		WITH_FIXTURE(test_tokens_are_bounded_and_dropped),
		WITH_FIXTURE(test_one_reply_each),
		WITH_FIXTURE(test_open_and_stat),
	};

	fixture_options(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
