/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts below an open directory. */
#include "slots/mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The path of `name` by way of the descriptor; mount(2) knows no "at". */
static int path_at(int dirfd, const char *name, char *ret, size_t size)
{
	int n = snprintf(ret, size, "/proc/self/fd/%d/%s", dirfd, name);

	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

bool mount_is_here(int dirfd, const char *name)
{
	struct statx sx;

	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &sx) < 0)
		return false;
	return sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int mount_private_dir(int dirfd, const char *name, struct err *err)
{
	char path[320];
	int r = path_at(dirfd, name, path, sizeof(path));

	if (r < 0)
		return err_sys(err, -r, "mount %s", name);
	if (!mount_is_here(dirfd, name) && mount(path, path, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, errno, "mount %s on itself", name);
	if (mount(NULL, path, NULL, MS_PRIVATE, NULL) < 0)
		return err_sys(err, errno, "make the mount %s private", name);
	return 0;
}

int mount_take_off(int dirfd, const char *name, struct err *err)
{
	char path[320];
	int r = path_at(dirfd, name, path, sizeof(path));

	if (r < 0)
		return err_sys(err, -r, "unmount %s", name);
	while (mount_is_here(dirfd, name))
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return err_sys(err, errno, "unmount %s", name);
	return 0;
}

int mount_shifted(int source_fd, int dirfd, const char *name, int userns_fd, struct err *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
		.userns_fd = (uint64_t)userns_fd,
	};
	auto_fd int tree =
		open_tree(source_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (tree < 0)
		return err_sys(err, errno, "clone the mount of the image");
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return errno == EINVAL
			       ? err_set(err, ERR_INVALID,
					 "the file system that holds the image cannot shift owners "
					 "(id-mapped mounts): keep the state directory on ext4, "
					 "xfs "
					 "or btrfs")
			       : err_sys(err, errno, "shift the owners of the image");
	auto_fd int target = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0)
		return err_sys(err, errno, "open %s", name);
	if (move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(err, errno, "mount the image on %s", name);
	return 0;
}
