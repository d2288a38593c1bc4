/* SPDX-License-Identifier: Apache-2.0 */
/* Which dataset a workspace is, by the kernel's mount table; and what is told of a failure. */
#include "spawner/rollback.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char table[] =
	"22 1 0:20 / /proc rw - proc proc rw\n"
	"36 22 0:47 / /srv/slots/3/workspace rw,nosuid shared:9 - zfs tank/berth/3 rw,xattr\n"
	"361 22 0:48 / /srv/slots/4/workspace rw - zfs tank/berth/4 rw\n"
	"40 22 0:47 /inner /mnt rw - zfs tank/berth/3 rw\n"
	"41 22 0:49 / /srv/slots/5/workspace rw - zfs tank/my\\040own/5 rw\n"
	"42 22 8:1 / /srv/slots/6/workspace rw - ext4 tank/berth/6 rw\n"
	"43 22 0:50 /\n";

static void test_find_dataset(void **state)
{
	static const struct {
		uint64_t id;
		const char *dataset; /* NULL: none */
	} rows[] = {
		{ 36, "tank/berth/3" },
		{ 361, "tank/berth/4" },
		{ 22, NULL }, /* no ZFS */
		{ 40, NULL }, /* a part of one */
		{ 41, NULL }, /* a name with a blank */
		{ 42, NULL },
		{ 43, NULL }, /* cut off */
		{ 3, NULL },  /* not there */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[ROLLBACK_MAX_NAME] = "";
		int r = rollback_find_dataset(view_str(table), rows[i].id, name);

		assert_int_equal(r, rows[i].dataset ? 0 : -ENOTSUP);
		assert_string_equal(name, rows[i].dataset ? rows[i].dataset : "");
	}
}

/* A folder on some other file system: nothing is started. */
static void test_not_supported(void **state)
{
	char dir[] = "/tmp/berth-rollback-XXXXXX";
	int output;
	pid_t pid;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(rollback_start(fd, -1, &pid, &output, &err), -1);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(mkdirat(fd, "workspace", 0755), 0);
	assert_int_equal(rollback_start(fd, -1, &pid, &output, &err), -1);
	assert_int_equal(err.sys_errno, ENOTSUP);
	assert_int_equal(unlinkat(fd, "workspace", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_result(void **state)
{
	static const char words[] = "cannot rollback: out of space\nuse '-r'\n";
	struct err err;

	(void)state;
	auto_fd int output = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(output, words, sizeof(words) - 1), sizeof(words) - 1);
	assert_int_equal(rollback_result(0, output, &err), 0);
	assert_int_equal(rollback_result(1 << 8, output, &err), -1);
	assert_string_equal(err.msg, "zfs rollback: cannot rollback: out of space");
	assert_int_equal(rollback_result(127 << 8, output, &err), -1);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(rollback_result(SIGKILL, output, &err), -1);
	assert_int_not_equal(err.sys_errno, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find_dataset),
		cmocka_unit_test(test_not_supported),
		cmocka_unit_test(test_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
