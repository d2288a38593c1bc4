/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to btrfs. */
#include "slots/btrfs.h"

#include "base/buf.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

bool btrfs_is_here(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

int btrfs_enable_quota(int fd)
{
	struct btrfs_ioctl_quota_ctl_args args = { .cmd = BTRFS_QUOTA_CTL_ENABLE };

	return ioctl(fd, BTRFS_IOC_QUOTA_CTL, &args) < 0 ? -errno : 0;
}

static int by_name(int fd, unsigned long request, const char *name)
{
	struct btrfs_ioctl_vol_args args = { .fd = 0 };
	size_t len = strlen(name);

	assert(len < sizeof(args.name));
	memcpy(args.name, name, len);
	return ioctl(fd, request, &args) < 0 ? -errno : 0;
}

int btrfs_make_subvolume(int dirfd, const char *name)
{
	return by_name(dirfd, BTRFS_IOC_SUBVOL_CREATE, name);
}

bool btrfs_is_subvolume(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_ino == BTRFS_FIRST_FREE_OBJECTID;
}

int btrfs_remove_subvolume(int dirfd, const char *name)
{
	return by_name(dirfd, BTRFS_IOC_SNAP_DESTROY, name);
}

int btrfs_limit(int fd, uint64_t bytes)
{
	struct btrfs_ioctl_qgroup_limit_args args = {
		/* qgroupid 0 stands for the subvolume of `fd` */
		.lim = { .flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = bytes },
	};

	return ioctl(fd, BTRFS_IOC_QGROUP_LIMIT, &args) < 0 ? -errno : 0;
}

int btrfs_id(int fd, uint8_t ret[BTRFS_ID_LEN])
{
	struct btrfs_ioctl_fs_info_args args = { 0 };

	if (ioctl(fd, BTRFS_IOC_FS_INFO, &args) < 0)
		return -errno;
	memcpy(ret, args.fsid, BTRFS_ID_LEN);
	return 0;
}

int btrfs_device(int fd, char *ret, size_t size)
{
	struct btrfs_ioctl_dev_info_args args = { .devid = 1 };

	if (ioctl(fd, BTRFS_IOC_DEV_INFO, &args) < 0)
		return -errno;
	return view_copy(view_of(args.path, strnlen((char *)args.path, sizeof(args.path))), ret,
			 size);
}

int btrfs_grow(int fd)
{
	return by_name(fd, BTRFS_IOC_RESIZE, "max");
}
