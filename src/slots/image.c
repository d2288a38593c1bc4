/* SPDX-License-Identifier: Apache-2.0 */
/* The image in each slot. */
#include "slots/image.h"

#include "slots/mounts.h"
#include "slots/namespaces.h"
#include "slots/storage.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ROOTFS "image/current/rootfs"

/* The same directory, with its owner shifted by exactly this slot's range. */
static bool is_right(int slot, const struct stat *rootfs, uid_t base)
{
	struct stat st;

	return mount_is_here(slot, "lower") &&
	       fstatat(slot, "lower", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == rootfs->st_dev && st.st_ino == rootfs->st_ino &&
	       st.st_uid == rootfs->st_uid + base;
}

static int mount_slot(const struct slots_plan *plan, int rootfs_fd, const struct stat *rootfs,
		      int namespaces, uint32_t n, struct err *err)
{
	int fd;

	if (storage_open_slot(plan, n, &fd, err) < 0)
		return -1;
	auto_fd int slot = fd;
	if (is_right(slot, rootfs, plan_slot_id(plan, n)))
		return 0;
	if (mount_take_off(slot, "lower", err) < 0 ||
	    namespaces_open(namespaces, n, "user", &fd, err) < 0)
		return -1;
	auto_fd int userns = fd;
	return mount_shifted(rootfs_fd, slot, "lower", userns, err);
}

int image_up(const struct slots_plan *plan, int namespaces, struct err *err)
{
	struct stat st;
	auto_fd int rootfs = openat(plan->state_fd, ROOTFS, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (rootfs < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no image in %s yet: `berth image build` makes one",
			       plan->conf->state_dir);
	if (rootfs < 0 || fstat(rootfs, &st) < 0)
		return err_sys(err, errno, "open %s/" ROOTFS, plan->conf->state_dir);
	for (uint32_t n = 0; n < plan->count; n++) {
		if (mount_slot(plan, rootfs, &st, namespaces, n, err) < 0)
			return err_wrap(err, "slot %u", n);
		plan_progress(plan, "image", n + 1);
	}
	return 0;
}

static int take_off(void *userdata, uint32_t n, int slot, struct err *err)
{
	(void)userdata;
	return mount_take_off(slot, "lower", err) < 0 ? err_wrap(err, "slot %u", n) : 0;
}

int image_down(struct slots_plan *plan, struct err *err)
{
	return storage_each_slot(plan, take_off, NULL, err);
}
