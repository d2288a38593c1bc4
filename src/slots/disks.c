/* SPDX-License-Identifier: Apache-2.0 */
/* Which disks the slots are on. */
#include "slots/disks.h"

#include "base/log.h"
#include "base/parse.h"
#include "slots/storage.h"
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define DISKS_FILE "disks"

enum { NUMBER_SIZE = 32 }; /* "259:1048575\n" */

static int add(struct disks *disks, dev_t disk)
{
	for (size_t i = 0; i < disks->n; i++)
		if (disks->list[i] == disk)
			return 0;
	if (disks->n == DISKS_MAX)
		return -E2BIG;
	disks->list[disks->n++] = disk;
	return 0;
}

/* `device` is a device's folder; the kernel limits disks, and a partition's is the one above. */
static int add_disk(int device, struct disks *disks)
{
	bool is_partition = faccessat(device, "partition", F_OK, 0) == 0;
	auto_buf struct buf text = BUF_INIT(NUMBER_SIZE);
	struct view rest, line, first;
	uint32_t major, minor;
	int r = io_read_file(device, is_partition ? "../dev" : "dev", &text);

	if (r < 0)
		return r;
	rest = buf_view(&text);
	if (!view_split(&rest, '\n', &line) || !view_split(&line, ':', &first) ||
	    parse_u32(first, 0, UINT32_MAX, &major) < 0 ||
	    parse_u32(line, 0, UINT32_MAX, &minor) < 0)
		return -EINVAL;
	return add(disks, makedev(major, minor));
}

int disks_add_device(int sys, dev_t device, struct disks *disks)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "dev/block/%u:%u", major(device), minor(device));
	auto_fd int fd = openat(sys, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : add_disk(fd, disks);
}

static int open_btrfs_devices(int sys, const uint8_t id[BTRFS_ID_LEN])
{
	auto_buf struct buf path = BUF_INIT(96);
	int fd, r = buf_add_str(&path, "fs/btrfs/");

	for (size_t i = 0; r == 0 && i < BTRFS_ID_LEN; i++)
		r = buf_addf(&path, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			     id[i]);
	if (r == 0)
		r = buf_add_str(&path, "/devices");
	if (r < 0)
		return r;
	fd = openat(sys, buf_str(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int disks_add_btrfs(int sys, const uint8_t id[BTRFS_ID_LEN], struct disks *disks)
{
	int r = open_btrfs_devices(sys, id);
	auto_fd int devices = r;
	DIR *list = r < 0 ? NULL : io_list(devices);

	if (!list)
		return r < 0 ? r : -errno;
	r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(list));) {
		if (e->d_name[0] == '.')
			continue;
		auto_fd int fd = openat(devices, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? -errno : add_disk(fd, disks);
	}
	(void)closedir(list);
	return r;
}

/*
 * Only file systems that put a write down to who made it also when it leaves the page cache later:
 * elsewhere it is the kernel's own, which nothing limits.
 */
static int add_file_system(int sys, int fd, struct disks *disks)
{
	uint8_t id[BTRFS_ID_LEN];
	struct statfs fs;
	struct stat st;
	int r;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return -errno;
	switch (fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
		return disks_add_device(sys, st.st_dev, disks);
	case BTRFS_SUPER_MAGIC: /* its files are on a device without a disk */
		r = btrfs_id(fd, id);
		return r < 0 ? r : disks_add_btrfs(sys, id, disks);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Not the image's disk, nor that of a file which is mounted as one: what waits there would hold
 * requests that all slots share.
 */
int disks_find(int slot, struct disks *ret, struct err *err)
{
	static const char *const folders[] = { "workspace", "layer" };
	struct disks disks = { .n = 0 };
	auto_fd int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (sys < 0)
		return err_sys(err, errno, "open /sys");
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_fd int fd =
			openat(slot, folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		int r = fd < 0 ? -errno : add_file_system(sys, fd, &disks);

		if (r == -EOPNOTSUPP)
			return err_set(err, ERR_NOT_FOUND,
				       "the %s is on a file system whose writes the kernel cannot "
				       "put down to a sandbox (ext4, xfs and btrfs are fine)",
				       folders[i]);
		if (r < 0)
			return err_sys(err, -r, "find the disk of the %s", folders[i]);
	}
	*ret = disks;
	return 0;
}

/* All slots are alike. */
static int find_of_first(const struct slots_plan *plan, struct disks *ret, struct err *err)
{
	int fd;

	if (storage_open_slot(plan, 0, &fd, err) < 0)
		return -1;
	auto_fd int slot = fd;
	return disks_find(slot, ret, err);
}

static int forget(int dir, struct err *err)
{
	if (unlinkat(dir, DISKS_FILE, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove the list of disks");
	return 0;
}

int disks_up(const struct slots_plan *plan, int dir, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(DISKS_MAX * NUMBER_SIZE);
	struct disks disks;
	struct err why;
	int r = 0;

	if (find_of_first(plan, &disks, &why) < 0) {
		if (conf_limits_disk(plan->conf))
			log_warning("disk bandwidth of sandboxes is not limited: %s", why.msg);
		return forget(dir, err);
	}
	for (size_t i = 0; r == 0 && i < disks.n; i++)
		r = buf_addf(&text, "%u:%u\n", major(disks.list[i]), minor(disks.list[i]));
	if (r == 0)
		r = io_write_file(dir, DISKS_FILE, buf_view(&text), 0444);
	return r < 0 ? err_sys(err, -r, "write the list of disks") : 0;
}

int disks_down(struct slots_plan *plan, struct err *err)
{
	auto_fd int dir = plan_open_namespaces(plan);

	if (dir < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "open the list of disks");
	io_remove_unfinished(dir, DISKS_FILE);
	return forget(dir, err);
}
