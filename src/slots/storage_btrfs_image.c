/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The btrfs image: one sparse file state_dir/pool.btrfs, mounted over state_dir/slots, so that
 * quotas hold on a host whose own file systems have none.
 */
#include "base/log.h"
#include "slots/btrfs.h"
#include "slots/loop.h"
#include "slots/mounts.h"
#include "slots/storage.h"
#include "sys/io.h"
#include "sys/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define POOL     "pool.btrfs"
#define POOL_NEW "pool.btrfs.new"

enum { FILESYSTEMS_MAX = 64 * 1024 };
#define POOL_MIN   (UINT64_C(512) << 20)
#define POOL_EXTRA (UINT64_C(512) << 20) /* metadata, whatever the slots hold */

static bool kernel_has_btrfs(void)
{
	static const char *const modprobe[] = { "modprobe", "-q", "btrfs", NULL };

	for (int i = 0; i < 2; i++) {
		auto_buf struct buf text = BUF_INIT(FILESYSTEMS_MAX);
		int status;

		if (io_read_file(AT_FDCWD, "/proc/filesystems", &text) == 0 &&
		    strstr(buf_str(&text), "\tbtrfs\n"))
			return true;
		if (i == 0 && run_program(modprobe, NULL, &status) < 0)
			return false;
	}
	return false;
}

static bool suits(const struct slots_plan *plan)
{
	static const char *const mkfs[] = { "mkfs.btrfs", "--version", NULL };
	int status;

	if (faccessat(plan->state_fd, POOL, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	return access("/dev/loop-control", W_OK) == 0 && kernel_has_btrfs() &&
	       run_program(mkfs, NULL, &status) == 0 && status == 0;
}

/*
 * As large as all limits together, but never so large that the host's own reserve could be used
 * up; the file is sparse and takes only what is written. `have` is what an existing file takes.
 */
static int wanted_size(const struct slots_plan *plan, uint64_t have, uint64_t *ret, struct err *err)
{
	const struct conf *conf = plan->conf;
	uint64_t all = plan->count * (conf->workspace + conf->layer) + POOL_EXTRA;
	struct statvfs fs;
	uint64_t most;

	if (conf->image_file) {
		*ret = conf->image_file;
		return 0;
	}
	if (fstatvfs(plan->state_fd, &fs) < 0)
		return err_sys(err, errno, "look at the free space of %s", conf->state_dir);
	most = (uint64_t)fs.f_bavail * fs.f_frsize + have;
	most = most > conf->min_free ? most - conf->min_free : 0;
	if (most < POOL_MIN)
		return err_set(err, ERR_FULL,
			       "%s has too little free space: beyond sandbox.min_free (%llu MiB) "
			       "at least %llu MiB are needed",
			       conf->state_dir, (unsigned long long)(conf->min_free >> 20),
			       (unsigned long long)(POOL_MIN >> 20));
	*ret = all < most ? all : most;
	return 0;
}

static int format(const struct slots_plan *plan, struct err *err)
{
	auto_buf struct buf path = BUF_INIT(4096), output = BUF_INIT(512);
	const char *argv[] = { "mkfs.btrfs", "-q", "-f", NULL, NULL };
	int status = 0;
	int r = buf_addf(&path, "%s/" POOL_NEW, plan->conf->state_dir);

	argv[3] = buf_str(&path);
	if (r == 0)
		r = run_program(argv, &output, &status);
	if (r == -ENOENT)
		return err_set(err, ERR_NOT_FOUND,
			       "mkfs.btrfs is missing: install btrfs-progs, or choose another "
			       "pool.storage");
	if (r < 0)
		return err_sys(err, -r, "run mkfs.btrfs");
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "mkfs.btrfs: %s", buf_str(&output));
	return 0;
}

/* Under another name until it is complete, so that an interrupted run leaves no half of one. */
static int make_pool(const struct slots_plan *plan, struct err *err)
{
	uint64_t size;

	if (wanted_size(plan, 0, &size, err) < 0)
		return -1;
	auto_fd int fd = openat(plan->state_fd, POOL_NEW,
				O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return err_sys(err, errno, "make " POOL_NEW);
	if (format(plan, err) < 0)
		return -1;
	if (renameat(plan->state_fd, POOL_NEW, plan->state_fd, POOL) < 0)
		return err_sys(err, errno, "rename " POOL_NEW);
	return 0;
}

static int open_pool(const struct slots_plan *plan, int *ret_fd, struct err *err)
{
	int fd = openat(plan->state_fd, POOL, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT) {
		if (make_pool(plan, err) < 0)
			return -1;
		fd = openat(plan->state_fd, POOL, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return err_sys(err, errno, "open " POOL);
	*ret_fd = fd;
	return 0;
}

static int mount_pool(struct slots_plan *plan, int pool, struct err *err)
{
	char device[LOOP_PATH_SIZE], target[64];
	int loop, r = 0;

	if (loop_attach(pool, device, &loop, err) < 0)
		return -1;
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", plan->slots_fd);
	/* discard: what sandboxes delete is given back to the host. */
	if (mount(device, target, "btrfs", MS_NOATIME | MS_NOSUID | MS_NODEV, "discard=async") < 0)
		r = err_sys(err, errno, "mount " POOL " (%s)", device);
	(void)close(loop); /* the mount keeps the device, or else it goes */
	return r < 0 ? r : plan_reopen_slots(plan, err);
}

/* More slots, or a larger pool.image_file: the file grows, and never shrinks. */
static int grow(const struct slots_plan *plan, int pool, struct err *err)
{
	char device[LOOP_PATH_SIZE];
	uint64_t size;
	struct stat st;
	int r;

	if (fstat(pool, &st) < 0)
		return err_sys(err, errno, "look at " POOL);
	if (wanted_size(plan, (uint64_t)st.st_blocks * 512, &size, err) < 0)
		return -1;
	if ((uint64_t)st.st_size >= size)
		return 0;
	r = btrfs_device(plan->slots_fd, device, sizeof(device));
	if (r == 0 && ftruncate(pool, (off_t)size) < 0)
		r = -errno;
	if (r < 0)
		return err_sys(err, -r, "grow " POOL);
	if (loop_grow(device, err) < 0)
		return -1;
	r = btrfs_grow(plan->slots_fd);
	return r < 0 ? err_sys(err, -r, "grow the file system in " POOL) : 0;
}

/* A full host is no reason not to start with what is there. */
static void try_grow(const struct slots_plan *plan, int pool)
{
	struct err err;

	if (grow(plan, pool, &err) < 0)
		log_warning("%s keeps its size: %s", POOL, err.msg);
}

static int attach(struct slots_plan *plan, struct err *err)
{
	int fd, r;

	if (open_pool(plan, &fd, err) < 0)
		return -1;
	auto_fd int pool = fd;
	if (!mount_is_here(plan->state_fd, "slots") && mount_pool(plan, pool, err) < 0)
		return -1;
	if (!btrfs_is_here(plan->slots_fd))
		return err_set(err, ERR_EXISTS,
			       "something else than " POOL " is mounted on %s/slots",
			       plan->conf->state_dir);
	r = btrfs_enable_quota(plan->slots_fd);
	if (r < 0)
		return err_sys(err, -r, "turn on btrfs quotas");
	try_grow(plan, pool);
	return 0;
}

static int detach(struct slots_plan *plan, struct err *err)
{
	if (mount_take_off(plan->state_fd, "slots", err) < 0)
		return -1;
	return plan_reopen_slots(plan, err);
}

const struct storage_backend storage_btrfs_image = {
	.name = "btrfs-image",
	.suits = suits,
	.attach = attach,
	.make_slot = storage_btrfs_make_slot,
	.drop_slot = storage_btrfs_drop_slot,
	.detach = detach,
};
