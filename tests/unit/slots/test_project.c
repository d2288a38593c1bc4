/* SPDX-License-Identifier: Apache-2.0 */
/* Projects of trees that were there before, on a file system in a file. Needs root and XFS. */
#include "slots/project_quota.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROJECT = 4711 };

static char top[64];

static int make_file_system(void **state)
{
	char command[512];

	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/berth-project-test.XXXXXX");
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(top))
		return 0;
	(void)snprintf(command, sizeof(command),
		       "cd %s && mkdir m && truncate -s 320M i && mkfs.xfs -q i >/dev/null 2>&1 && "
		       "mount -o loop i m 2>/dev/null",
		       top);
	*state = system(command) == 0 ? top : NULL;
	return 0;
}

static int drop_file_system(void **state)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "umount %s/m 2>/dev/null; rm -rf %s", top, top);
	(void)state;
	return system(command) < 0;
}

static uint32_t project_of(int dir, const char *name)
{
	auto_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct fsxattr attr;

	assert_int_equal(ioctl(fd, FS_IOC_FSGETXATTR, &attr), 0);
	return attr.fsx_projid;
}

static void make_file(int dir, const char *name)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void test_what_was_there_before(void **state)
{
	char path[96];

	if (!*state)
		skip();
	(void)snprintf(path, sizeof(path), "%s/m", top);
	auto_fd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(root, "outside", 0755), 0);
	make_file(root, "outside/file");
	assert_int_equal(mkdirat(root, "slot", 0755), 0);
	auto_fd int slot = openat(root, "slot", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(slot, "a", 0), 0);
	assert_int_equal(mkdirat(slot, "a/b", 0700), 0);
	make_file(slot, "a/b/file");
	make_file(slot, "file");
	assert_int_equal(mkfifoat(slot, "fifo", 0600), 0);
	assert_int_equal(symlinkat("../outside", slot, "link"), 0);

	assert_int_equal(project_quota_cover(slot, PROJECT), 0);
	assert_int_equal(project_of(slot, "."), PROJECT);
	assert_int_equal(project_of(slot, "file"), PROJECT);
	assert_int_equal(project_of(slot, "a/b"), PROJECT);
	assert_int_equal(project_of(slot, "a/b/file"), PROJECT);
	make_file(slot, "a/b/new");
	assert_int_equal(project_of(slot, "a/b/new"), PROJECT);
	assert_int_equal(project_of(root, "outside"), 0);
	assert_int_equal(project_of(root, "outside/file"), 0);
	assert_int_equal(project_quota_cover(slot, PROJECT), 0);
}

static void test_what_is_too_deep(void **state)
{
	char path[96];

	if (!*state)
		skip();
	(void)snprintf(path, sizeof(path), "%s/m", top);
	auto_fd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(root, "deep", 0755), 0);
	auto_fd int deep = openat(root, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int dir = dup(deep);

	for (int i = 0; i < 300; i++) {
		int below;

		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		below = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(dir);
		dir = below;
	}
	(void)close(dir);
	assert_int_equal(project_quota_cover(deep, PROJECT), -ELOOP);
	assert_int_equal(project_of(deep, "."), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_there_before),
		cmocka_unit_test(test_what_is_too_deep),
	};

	return cmocka_run_group_tests(tests, make_file_system, drop_file_system);
}
