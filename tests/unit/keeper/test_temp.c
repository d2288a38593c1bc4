/* SPDX-License-Identifier: Apache-2.0 */
/* Files that get their names at the end: without a name until then, and with a temporary one. */
#include "fixture.h"

#include "keeper/temp.h"
#include "sys/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MODE = 0640 };

struct folder {
	char path[64];
	int self, fd;
	bool hides; /* where a file has no name until the end */
};

static void open_folder(struct folder *d, bool hides)
{
	/* Not every file system under /tmp can do it; one in memory can. */
	(void)snprintf(d->path, sizeof(d->path), "/dev/shm/berth-temp-test.XXXXXX");
	assert_non_null(mkdtemp(d->path));
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->self = hides ? open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	d->hides = hides;
	assert_true(d->fd >= 0 && (d->self >= 0) == hides);
}

static void close_folder(struct folder *d)
{
	(void)close(d->fd);
	if (d->self >= 0)
		(void)close(d->self);
	assert_int_equal(rmdir(d->path), 0);
}

static void make(struct folder *d, struct view content, struct temp *ret)
{
	assert_int_equal(temp_create(d->self, d->fd, MODE, ret), 0);
	assert_int_equal(io_write_all(ret->fd, content.p, content.len), 0);
}

static void check_commit(struct folder *d)
{
	struct temp t;
	struct stat st;

	make(d, VIEW("one"), &t);
	assert_int_equal(count_entries(d->fd), d->hides ? 0 : 1);
	assert_int_equal(temp_commit(&t, "f", KEEPER_NOREPLACE), 0);
	temp_done(&t);
	check_file(d->fd, "f", VIEW("one"));
	assert_int_equal(fstatat(d->fd, "f", &st, 0), 0);
	assert_true(st.st_mode == (S_IFREG | MODE) && st.st_nlink == 1);

	/* Refused, and still there for another try. */
	make(d, VIEW("two"), &t);
	assert_int_equal(temp_commit(&t, "f", KEEPER_NOREPLACE), -EEXIST);
	check_file(d->fd, "f", VIEW("one"));
	assert_int_equal(temp_commit(&t, "f", 0), 0);
	temp_done(&t);
	check_file(d->fd, "f", VIEW("two"));

	/* A link is replaced, not followed. */
	assert_int_equal(symlinkat("f", d->fd, "link"), 0);
	make(d, VIEW("three"), &t);
	assert_int_equal(temp_commit(&t, "link", KEEPER_NOREPLACE), -EEXIST);
	assert_int_equal(temp_commit(&t, "link", 0), 0);
	temp_done(&t);
	check_file(d->fd, "f", VIEW("two"));
	assert_int_equal(fstatat(d->fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(count_entries(d->fd), 2);
	assert_int_equal(unlinkat(d->fd, "f", 0), 0);
	assert_int_equal(unlinkat(d->fd, "link", 0), 0);
}

static void check_nothing_stays(struct folder *d)
{
	struct temp t;

	make(d, VIEW("x"), &t);
	temp_done(&t);
	assert_int_equal(count_entries(d->fd), 0);

	make(d, VIEW("x"), &t);
	assert_int_equal(temp_show(&t), 0);
	assert_int_equal(temp_show(&t), 0);
	assert_int_equal(count_entries(d->fd), 1);
	check_file(d->fd, t.name, VIEW("x"));
	temp_done(&t);
	assert_int_equal(count_entries(d->fd), 0);

	/* What cannot be replaced. */
	assert_int_equal(mkdirat(d->fd, "folder", 0755), 0);
	make(d, VIEW("x"), &t);
	assert_int_equal(temp_commit(&t, "folder", 0), -EISDIR);
	temp_done(&t);
	assert_int_equal(count_entries(d->fd), 1);
	assert_int_equal(unlinkat(d->fd, "folder", AT_REMOVEDIR), 0);
}

static void with_both(void (*check)(struct folder *d))
{
	static const bool hides[] = { true, false };

	for (size_t i = 0; i < ARRAY_SIZE(hides); i++) {
		struct folder d;

		open_folder(&d, hides[i]);
		check(&d);
		close_folder(&d);
	}
}

static void test_commit(void **state)
{
	(void)state;
	with_both(check_commit);
}

static void test_nothing_stays(void **state)
{
	(void)state;
	with_both(check_nothing_stays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_nothing_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
