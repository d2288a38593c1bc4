/* SPDX-License-Identifier: Apache-2.0 */
/* The disks below a file system, found in a /sys of our own. */
#include "slots/disks.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#define POOL_ID "00010203-0405-0607-0809-0a0b0c0d0e0f"

static const uint8_t pool_id[BTRFS_ID_LEN] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
};
static char root[] = "/tmp/berth-disks.XXXXXX";
static int sys = -1;

static const char *const folders[] = {
	"dev",
	"dev/block",
	"devices",
	"devices/sda",
	"devices/sda/sda1",
	"devices/sda/sda2",
	"devices/dm-0",
	"devices/loop3",
	"devices/odd",
	"fs",
	"fs/btrfs",
	"fs/btrfs/" POOL_ID,
	"fs/btrfs/" POOL_ID "/devices",
};
static const struct {
	const char *path, *content;
} files[] = {
	{ "devices/sda/dev", "8:0\n" },          { "devices/sda/sda1/dev", "8:1\n" },
	{ "devices/sda/sda1/partition", "1\n" }, { "devices/sda/sda2/dev", "8:2\n" },
	{ "devices/sda/sda2/partition", "2\n" }, { "devices/dm-0/dev", "253:0\n" },
	{ "devices/loop3/dev", "7:3\n" },        { "devices/odd/dev", "what\n" },
};
static const struct {
	const char *path, *target;
} links[] = {
	{ "dev/block/8:0", "../../devices/sda" },
	{ "dev/block/8:1", "../../devices/sda/sda1" },
	{ "dev/block/253:0", "../../devices/dm-0" },
	{ "dev/block/9:9", "../../devices/odd" },
	{ "fs/btrfs/" POOL_ID "/devices/sda1", "../../../../devices/sda/sda1" },
	{ "fs/btrfs/" POOL_ID "/devices/sda2", "../../../../devices/sda/sda2" },
	{ "fs/btrfs/" POOL_ID "/devices/loop3", "../../../../devices/loop3" },
};

static void write_at(const char *path, const char *content)
{
	auto_fd int fd = openat(sys, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	sys = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(sys >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdirat(sys, folders[i], 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		write_at(files[i].path, files[i].content);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(symlinkat(links[i].target, sys, links[i].path), 0);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(sys);
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void devices(void **state)
{
	static const struct {
		unsigned major, minor;
		int result;
		unsigned disk_major, disk_minor;
	} rows[] = {
		{ 8, 0, 0, 8, 0 },     /* a disk */
		{ 8, 1, 0, 8, 0 },     /* a partition: its disk */
		{ 253, 0, 0, 253, 0 }, /* a mapped device has none above it */
		{ 9, 9, -EINVAL, 0, 0 },  { 8, 77, -ENOENT, 0, 0 },
		{ 0, 45, -ENOENT, 0, 0 }, /* a file system that is on no disk */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct disks disks = { .n = 0 };

		assert_int_equal(
			disks_add_device(sys, makedev(rows[i].major, rows[i].minor), &disks),
			rows[i].result);
		assert_int_equal(disks.n, rows[i].result == 0);
		if (disks.n)
			assert_int_equal(disks.list[0],
					 makedev(rows[i].disk_major, rows[i].disk_minor));
	}
}

static bool has(const struct disks *disks, dev_t disk)
{
	for (size_t i = 0; i < disks->n; i++)
		if (disks->list[i] == disk)
			return true;
	return false;
}

/* Each disk once, however many of its partitions are in the pool. */
static void btrfs_of_several(void **state)
{
	static const uint8_t unknown[BTRFS_ID_LEN] = { 1 };
	struct disks disks = { .n = 0 };

	(void)state;
	assert_int_equal(disks_add_btrfs(sys, pool_id, &disks), 0);
	assert_int_equal(disks.n, 2);
	assert_true(has(&disks, makedev(8, 0)) && has(&disks, makedev(7, 3)));
	assert_int_equal(disks_add_btrfs(sys, unknown, &disks), -ENOENT);
	assert_int_equal(disks.n, 2);
}

static void too_many(void **state)
{
	struct disks disks = { .n = DISKS_MAX };

	(void)state;
	assert_int_equal(disks_add_device(sys, makedev(253, 0), &disks), -E2BIG);
	disks.list[DISKS_MAX - 1] = makedev(253, 0);
	assert_int_equal(disks_add_device(sys, makedev(253, 0), &disks), 0);
	assert_int_equal(disks.n, DISKS_MAX);
}

/* A folder that is not there, or that somebody has put a link in the place of. */
static void not_found(void **state)
{
	struct disks disks = { .n = 77 };
	struct err err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(disks_find(sys, &disks, &err), -1);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_non_null(strstr(err.msg, "workspace"));
		assert_int_equal(symlinkat("devices", sys, "workspace"), i ? -1 : 0);
	}
	assert_int_equal(unlinkat(sys, "workspace", 0), 0);
	assert_int_equal(disks.n, 77);
}

static void on_no_disk(void **state)
{
	char shm[] = "/dev/shm/berth-disks.XXXXXX";
	struct disks disks = { .n = 77 };
	struct err err;
	int r;

	(void)state;
	assert_non_null(mkdtemp(shm));
	auto_fd int slot = open(shm, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(slot >= 0);
	assert_int_equal(mkdirat(slot, "workspace", 0700), 0);
	r = disks_find(slot, &disks, &err);
	(void)unlinkat(slot, "workspace", AT_REMOVEDIR);
	(void)rmdir(shm);
	assert_int_equal(r, -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "workspace"));
	assert_int_equal(disks.n, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices),    cmocka_unit_test(btrfs_of_several),
		cmocka_unit_test(too_many),   cmocka_unit_test(not_found),
		cmocka_unit_test(on_no_disk),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
