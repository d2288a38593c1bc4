/* SPDX-License-Identifier: Apache-2.0 */
/* The path jail: what it follows, what it refuses, and that a race never leads outside. */
#include "keeper/jail.h"

#include "fixture.h"
#include "keeper/keeper_internal.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define RACE_TIME (USEC_PER_SEC / 2)
enum { SWAPS = 101 };

static void fill(struct fixture *f)
{
	put_file(f->outside, "secret", VIEW("secret"));
	assert_int_equal(mkdirat(f->workspace, "dir", 0755), 0);
	assert_int_equal(mkdirat(f->workspace, "dir/sub", 0755), 0);
	put_file(f->workspace, "dir/sub/file", VIEW("inside"));
	assert_int_equal(mkfifoat(f->workspace, "fifo", 0644), 0);
	assert_int_equal(symlinkat("dir/sub", f->workspace, "rel"), 0);
	assert_int_equal(symlinkat("../dir/sub/file", f->workspace, "dir/up"), 0);
	assert_int_equal(symlinkat("/workspace/dir/sub", f->workspace, "abs"), 0);
	assert_int_equal(symlinkat("/workspace", f->workspace, "self"), 0);
	assert_int_equal(symlinkat("/workspacex/secret", f->workspace, "near"), 0);
	assert_int_equal(symlinkat("/etc/passwd", f->workspace, "etc"), 0);
	assert_int_equal(symlinkat("/", f->workspace, "root"), 0);
	assert_int_equal(symlinkat("../outside/secret", f->workspace, "out"), 0);
	assert_int_equal(symlinkat("/workspace/../outside/secret", f->workspace, "abs-out"), 0);
	assert_int_equal(symlinkat("nothing", f->workspace, "dangling"), 0);
	assert_int_equal(symlinkat("loop-b", f->workspace, "loop-a"), 0);
	assert_int_equal(symlinkat("loop-a", f->workspace, "loop-b"), 0);
	assert_int_equal(symlinkat("/proc/self/fd/0", f->workspace, "magic"), 0);
}

static void test_resolve(void **state)
{
	static const struct {
		const char *path;
		enum jail_flags flags;
		int error;
		const char *place; /* when it resolves */
		size_t existing;
	} rows[] = {
		{ "", JAIL_FOLLOW, 0, "", 0 },
		{ "dir/sub/file", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "dir//sub/./file", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "dir/sub/", JAIL_FOLLOW, 0, "dir/sub", 7 },
		{ "dir/../dir/sub", JAIL_FOLLOW, 0, "dir/sub", 7 },
		{ "rel/file", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "rel/..", JAIL_FOLLOW, 0, "dir", 3 },
		{ "dir/up", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "abs/file", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "self/self/rel/file", JAIL_FOLLOW, 0, "dir/sub/file", 12 },
		{ "self", JAIL_FOLLOW, 0, "", 0 },
		{ "rel/file", JAIL_NOFOLLOW, ELOOP, NULL, 0 },
		{ "abs", JAIL_NOFOLLOW, ELOOP, NULL, 0 },
		{ "dir/sub/file", JAIL_NOFOLLOW, 0, "dir/sub/file", 12 },
		{ "..", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "dir/../../outside/secret", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "/etc/passwd", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "near", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "etc", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "root/etc/passwd", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "out", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "abs-out", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "self/..", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "magic", JAIL_FOLLOW, EXDEV, NULL, 0 },
		{ "dangling", JAIL_FOLLOW, ENOENT, NULL, 0 },
		{ "dangling", JAIL_MAY_MISS, ENOENT, NULL, 0 },
		{ "dangling/x", JAIL_MAY_MISS, ENOENT, NULL, 0 },
		{ "loop-a", JAIL_FOLLOW, ELOOP, NULL, 0 },
		{ "loop-a", JAIL_MAY_MISS, ELOOP, NULL, 0 },
		{ "missing", JAIL_FOLLOW, ENOENT, NULL, 0 },
		{ "missing/..", JAIL_MAY_MISS, ENOENT, NULL, 0 },
		{ "missing/a/b", JAIL_MAY_MISS, 0, "missing/a/b", 0 },
		{ "rel/new/x", JAIL_MAY_MISS, 0, "dir/sub/new/x", 7 },
		{ "abs/new", JAIL_MAY_MISS, 0, "dir/sub/new", 7 },
		{ "root/tmp/new", JAIL_MAY_MISS, EXDEV, NULL, 0 },
		{ "dir/sub/file/x", JAIL_MAY_MISS, ENOTDIR, NULL, 0 },
		{ "etc", JAIL_KEEP_LAST, 0, "etc", 3 },
		{ "rel", JAIL_KEEP_LAST, 0, "rel", 3 },
		{ "rel//", JAIL_KEEP_LAST, 0, "rel", 3 },
		{ "loop-a", JAIL_KEEP_LAST | JAIL_MAY_MISS, 0, "loop-a", 6 },
		{ "dir/up", JAIL_KEEP_LAST, 0, "dir/up", 6 },
		{ "rel/file", JAIL_KEEP_LAST, 0, "dir/sub/file", 12 },
		{ "rel/new", JAIL_KEEP_LAST | JAIL_MAY_MISS, 0, "dir/sub/new", 7 },
		{ "root/etc/passwd", JAIL_KEEP_LAST, EXDEV, NULL, 0 },
		{ "rel/.", JAIL_KEEP_LAST, 0, "dir/sub", 7 },
	};
	struct fixture *f = *state;

	fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place place = { .len = 7 };
		struct err err = { 0 };
		int r = jail_resolve(f->workspace, view_str(rows[i].path), rows[i].flags, &place,
				     &err);

		if (err.sys_errno != rows[i].error)
			print_message("%s: %s\n", rows[i].path, err.msg);
		assert_int_equal(r, rows[i].error ? -1 : 0);
		assert_int_equal(err.sys_errno, rows[i].error);
		if (r < 0) {
			assert_int_equal(place.len, 7);
			assert_true(*err.msg);
			continue;
		}
		assert_string_equal(place.path, rows[i].place);
		assert_int_equal(place.len, strlen(rows[i].place));
		assert_int_equal(place.existing, rows[i].existing);
	}
}

/* ---- against the C library's own resolution, on random trees ---- */

static void add_random_components(struct buf *out, uint32_t *seed)
{
	static const char *const names[] = { "a", "b", "c", "d", "a", "b", "..", ".", "" };
	uint32_t n = 1 + next_random(seed) % 5;

	for (uint32_t i = 0; i < n; i++) {
		/* Neither an absolute path nor a slash at the end, which asks for a folder. */
		size_t last = ARRAY_SIZE(names) - (i == 0 || i + 1 == n ? 1 : 0);

		assert_int_equal(
			buf_addf(out, "%s%s", i ? "/" : "", names[next_random(seed) % last]), 0);
	}
}

/* The same entry in both folders; what a link calls /workspace is the twin's real path there. */
static void make_entry(struct fixture *f, const int in[2], const char *name, uint32_t *seed)
{
	auto_buf struct buf target = BUF_INIT(256);
	bool is_absolute = next_random(seed) % 3 == 0;
	uint32_t kind = next_random(seed) % 4;
	char link[2][512];

	add_random_components(&target, seed);
	(void)snprintf(link[0], sizeof(link[0]), "/workspace/%s", buf_str(&target));
	(void)snprintf(link[1], sizeof(link[1]), "%s/twin/%s", f->dir, buf_str(&target));
	for (int i = 0; i < 2; i++) {
		int r = kind == 0 ? mkdirat(in[i], name, 0755)
			: kind == 1
				? mknodat(in[i], name, S_IFREG | 0644, 0)
				: symlinkat(is_absolute ? link[i] : buf_str(&target), in[i], name);

		assert_true(r == 0 || errno == EEXIST);
	}
}

static void make_random_entry(struct fixture *f, int twin, uint32_t *seed)
{
	static const char *const folders[] = { "", "a", "b", "a/a", "a/b", "b/a", "a/a/a" };
	static const char *const names[] = { "a", "b", "c", "d" };
	const char *folder = folders[next_random(seed) % ARRAY_SIZE(folders)];
	const char *name = names[next_random(seed) % ARRAY_SIZE(names)];
	/* Never through a link: those lead anywhere. */
	int in[] = { jail_open_at(f->workspace, folder, O_RDONLY | O_DIRECTORY),
		     jail_open_at(twin, folder, O_RDONLY | O_DIRECTORY) };

	if (in[0] >= 0 && in[1] >= 0)
		make_entry(f, in, name, seed);
	for (int i = 0; i < 2; i++)
		if (in[i] >= 0)
			(void)close(in[i]);
}

/* Whatever the jail gives, the library gives too; what it refuses, the library finds outside of the
 * workspace, nowhere, or only by way of outside. */
static uint32_t check_against_realpath(struct fixture *f, struct view path)
{
	char in_twin[512], real[PATH_MAX], want[KEEPER_MAX_PATH + 128];
	struct place place;
	struct err err = { 0 };
	int r = jail_resolve(f->workspace, path, JAIL_FOLLOW, &place, &err);

	(void)snprintf(in_twin, sizeof(in_twin), "%s/twin/%.*s", f->dir, VIEW_ARG(path));
	if (!realpath(in_twin, real)) {
		/* The jail takes the ".." after a file for what it says; nothing is reached by it.
		 */
		assert_true(r < 0 || errno == ENOTDIR);
		return 0;
	}
	if (r < 0) {
		if (err.sys_errno != EXDEV)
			fail_msg("%.*s: %s, but it is %s", VIEW_ARG(path), err.msg, real);
		return 0;
	}
	(void)snprintf(want, sizeof(want), "%s/twin%s%s", f->dir, place.len ? "/" : "", place.path);
	if (strcmp(real, want) != 0)
		fail_msg("%.*s: %s, but it is %s", VIEW_ARG(path), want, real);
	return 1;
}

static void test_random_trees(void **state)
{
	struct fixture *f = *state;
	uint32_t seed = 11, resolved = 0;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s/twin", f->dir);
	assert_int_equal(mkdir(name, 0755), 0);
	auto_fd int twin = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int round = 0; round < 40; round++) {

		for (int i = 0; i < 60; i++)
			make_random_entry(f, twin, &seed);
		for (int i = 0; i < 100; i++) {
			auto_buf struct buf path = BUF_INIT(256);

			add_random_components(&path, &seed);
			resolved += check_against_realpath(f, buf_view(&path));
		}
		assert_int_equal(empty_folder(f->workspace), 0);
		assert_int_equal(empty_folder(twin), 0);
	}
	assert_in_range(resolved, 300, 4000);
}

static void test_long_paths(void **state)
{
	struct fixture *f = *state;
	char path[KEEPER_MAX_PATH + 1], target[4001];
	struct place place;
	struct err err;

	memset(path, 'a', sizeof(path));
	assert_int_equal(jail_resolve(f->workspace, view_of(path, KEEPER_MAX_PATH), JAIL_MAY_MISS,
				      &place, &err),
			 -1);
	assert_int_equal(err.sys_errno, ENAMETOOLONG);
	/* Links that grow the path beyond every limit. */
	for (size_t i = 0; i < 4000; i += 2)
		memcpy(target + i, "./", 2);
	memcpy(target + 3996, "big", 4);
	assert_int_equal(symlinkat(target, f->workspace, "big"), 0);
	for (size_t i = 0; i < 3000; i += 4)
		memcpy(path + i, "big/", 4);
	assert_int_equal(jail_resolve(f->workspace, view_of(path, 3000), JAIL_FOLLOW, &place, &err),
			 -1);
	assert_true(err.sys_errno == ELOOP || err.sys_errno == ENAMETOOLONG);
}

static void test_open_refuses_what_is_no_file(void **state)
{
	struct fixture *f = *state;
	struct jail_file file = { .fd = -1 };
	struct err err;

	fill(f);
	assert_int_equal(jail_open(f->workspace, VIEW("fifo"), JAIL_FOLLOW, O_RDONLY, &file, &err),
			 -1);
	assert_string_equal(err.msg, "fifo is a named pipe, not a regular file");
	assert_int_equal(jail_open(f->workspace, VIEW("dir"), JAIL_FOLLOW, O_RDONLY, &file, &err),
			 -1);
	assert_int_equal(err.sys_errno, EISDIR);
	assert_int_equal(file.fd, -1);
	assert_int_equal(
		jail_open(f->workspace, VIEW("rel/file"), JAIL_FOLLOW, O_RDONLY, &file, &err), 0);
	assert_int_equal(file.st.st_size, 6);
	(void)close(file.fd);
}

/* In the child that races. The keeper ends when nobody holds its socket, after a failure too. */
static void begin_race(const struct fixture *f)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close(f->socket);
}

static void put_what_is_swapped(const struct fixture *f)
{
	assert_int_equal(mkdirat(f->workspace, "a", 0755), 0);
	put_file(f->workspace, "a/secret", VIEW("inside"));
	assert_int_equal(symlinkat("../outside", f->workspace, "b"), 0);
}

/* Swaps a folder for a link to outside, and back, until it is killed. */
static _Noreturn void swap_forever(const struct fixture *f)
{
	begin_race(f);
	for (;;) {
		for (int i = 0; i < SWAPS; i++)
			(void)renameat2(f->workspace, "a", f->workspace, "b", RENAME_EXCHANGE);
		(void)usleep(1); /* or the folder's lock is never free on a small machine */
	}
}

static void check_never_outside(struct fixture *f, const char *path, uint32_t *inside)
{
	struct jail_file file;
	char bytes[16];
	struct err err;

	if (jail_open(f->workspace, view_str(path), JAIL_FOLLOW, O_RDONLY, &file, &err) < 0) {
		assert_true(err.sys_errno == EXDEV || err.sys_errno == ENOENT ||
			    err.sys_errno == EBUSY);
		return;
	}
	assert_int_equal(io_read_all(file.fd, bytes, sizeof(bytes)), 6);
	assert_memory_equal(bytes, "inside", 6);
	(void)close(file.fd);
	(*inside)++;
}

static void test_race(void **state)
{
	struct fixture *f = *state;
	usec end = clock_monotonic(&clock_system) + RACE_TIME;
	uint32_t inside = 0;
	pid_t pid;

	put_file(f->outside, "secret", VIEW("SECRET"));
	put_what_is_swapped(f);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		swap_forever(f);
	for (int i = 0; inside < 10 || clock_monotonic(&clock_system) < end; i++)
		check_never_outside(f, i & 1 ? "a/secret" : "b/secret", &inside);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Moves a folder up to the workspace and back down, until it is killed: ".." means two things. */
static _Noreturn void move_forever(const struct fixture *f)
{
	begin_race(f);
	for (;;) {
		for (int i = 0; i < SWAPS; i++) {
			(void)renameat(f->workspace, "x/deep", f->workspace, "deep");
			(void)renameat(f->workspace, "deep", f->workspace, "x/deep");
		}
		(void)usleep(1);
	}
}

/* A folder that is moved while a path climbs out of it never lets the path climb too far. */
static void test_race_renames(void **state)
{
	usec end = clock_monotonic(&clock_system) + RACE_TIME;
	struct fixture *f = *state;
	uint32_t inside = 0;
	char name[96];
	pid_t pid;

	(void)snprintf(name, sizeof(name), "%s/secret", f->dir);
	put_file(AT_FDCWD, name, VIEW("SECRET"));
	put_file(f->workspace, "secret", VIEW("inside"));
	assert_int_equal(mkdirat(f->workspace, "x", 0755), 0);
	assert_int_equal(mkdirat(f->workspace, "x/deep", 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		move_forever(f);
	for (int i = 0; inside < 10 || clock_monotonic(&clock_system) < end; i++)
		check_never_outside(f,
				    i & 1 ? "x/deep/../../secret" : "x/deep/.././deep/../../secret",
				    &inside);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* New files under a name whose folder is swapped all the time never appear outside. */
static void test_race_create(void **state)
{
	usec end = clock_monotonic(&clock_system) + RACE_TIME;
	struct fixture *f = *state;
	pid_t pid;

	put_what_is_swapped(f);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		swap_forever(f);
	for (int i = 0; clock_monotonic(&clock_system) < end; i++) {
		const struct keeper_request create = { .verb = KEEPER_CREATE,
						       .path = VIEW_INIT("b/new/file") };
		struct keeper_reply reply;

		if (ask(f, &create, -1, &reply, NULL) == 0) {
			struct keeper_request finish = { .verb = i & 1 ? KEEPER_COMMIT
								       : KEEPER_ABORT,
							 .number = reply.number };

			(void)ask(f, &finish, -1, &reply, NULL);
		}
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(count_entries(f->outside), 0);
}

/* In a mount namespace of its own: 0, or the step that failed; 77 where that is not allowed. */
static int look_into_a_mount(const struct fixture *f)
{
	struct jail_file file;
	char target[96];
	struct err err;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	(void)snprintf(target, sizeof(target), "%s/workspace/mnt", f->dir);
	if (mkdirat(f->workspace, "mnt", 0755) < 0 || mount("tmpfs", target, "tmpfs", 0, NULL) < 0)
		return 77;
	/* The fixture's descriptor is of the old namespace, where nothing is mounted. */
	*strrchr(target, '/') = '\0';
	auto_fd int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(dir, "mnt/x", VIEW("x"));
	if (jail_open(dir, VIEW("mnt/x"), JAIL_FOLLOW, O_RDONLY, &file, &err) == 0)
		return 1;
	if (err.sys_errno != EXDEV)
		return 2;
	return jail_open(dir, VIEW("mnt"), JAIL_FOLLOW, O_PATH, &file, &err) == 0 ? 3 : 0;
}

static void test_mount_points(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_into_a_mount(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_names_are_shown_readably(void **state)
{
	static const struct {
		struct view name;
		const char *shown;
	} rows[] = {
		{ VIEW_INIT(""), "/workspace" },
		{ VIEW_INIT("a b.c"), "a b.c" },
		{ VIEW_INIT("naïve 🤣.txt"), "naïve 🤣.txt" },
		{ VIEW_INIT("notes.txt "), "$'notes.txt '" },
		{ VIEW_INIT("a\nb"), "$'a\\nb'" },
		{ VIEW_INIT("\xff\xfe"), "$'\\xff\\xfe'" },
		{ VIEW_INIT("\x1b[31m'"), "$'\\x1b[31m\\''" },
		{ VIEW_INIT("a\xe2\x80\xae"), "$'a\\xe2\\x80\\xae'" },
		{ VIEW_INIT("back\\slash"), "back\\slash" },
	};
	char shown[SHOW_MAX], long_name[2000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(show_name(rows[i].name, shown), rows[i].shown);
	for (size_t i = 0; i + 3 <= sizeof(long_name); i += 3)
		memcpy(long_name + i, "€", 3);
	(void)show_name(view_of(long_name, 1998), shown);
	assert_true(strlen(shown) < SHOW_MAX && strlen(shown) > SHOW_MAX - 12);
	assert_true(view_ends(view_str(shown), VIEW("€…")));
}

#define WITH_FIXTURE(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_resolve),
		WITH_FIXTURE(test_random_trees),
		WITH_FIXTURE(test_long_paths),
		WITH_FIXTURE(test_open_refuses_what_is_no_file),
		WITH_FIXTURE(test_mount_points),
		WITH_FIXTURE(test_race),
		WITH_FIXTURE(test_race_renames),
		WITH_FIXTURE(test_race_create),
		cmocka_unit_test(test_names_are_shown_readably),
	};

	fixture_options(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
