/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor. */
#include "spawner/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { TARGET_MODE = 0755 };

static int set_option(int fs, const struct mount_option *option)
{
	int cmd = option->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

	return syscall(SYS_fsconfig, fs, cmd, option->key, option->value, 0) < 0 ? -errno : 0;
}

int mounts_make(const char *type, const struct mount_option *options, uint64_t attributes)
{
	auto_fd int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return -errno;
	for (; options && options->key; options++) {
		int r = set_option(fs, options);

		if (r < 0)
			return r;
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	return fd < 0 ? -errno : fd;
}

static int clone_tree(int dirfd, const char *path, uint64_t attributes, unsigned recursive)
{
	struct mount_attr attr = { .attr_set = attributes };
	auto_fd int fd = (int)syscall(SYS_open_tree, dirfd, path,
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);

	if (fd < 0)
		return -errno;
	if (attributes &&
	    syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | recursive, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(fd);
}

int mounts_clone(int dirfd, const char *path, uint64_t attributes)
{
	return clone_tree(dirfd, path, attributes, 0);
}

int mounts_clone_all(int dirfd, const char *path, uint64_t attributes)
{
	return clone_tree(dirfd, path, attributes, AT_RECURSIVE);
}

int mounts_attach(int fd, int dirfd, const char *path)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	return syscall(SYS_move_mount, fd, "", dirfd, path, flags) < 0 ? -errno : 0;
}

static int open_target(int root_fd, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, root_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int mounts_target(int root_fd, const char *name)
{
	int fd = open_target(root_fd, name);

	if (fd == -ENOTDIR || fd == -ELOOP) {
		if (unlinkat(root_fd, name, 0) < 0)
			return -errno;
		fd = -ENOENT;
	}
	if (fd != -ENOENT)
		return fd;
	if (mkdirat(root_fd, name, TARGET_MODE) < 0)
		return -errno;
	return open_target(root_fd, name);
}

int mounts_make_at(int root_fd, const char *name, const char *type,
		   const struct mount_option *options, uint64_t attributes)
{
	auto_fd int target = mounts_target(root_fd, name);
	int r;

	if (target < 0)
		return target;
	auto_fd int fd = mounts_make(type, options, attributes);
	if (fd < 0)
		return fd;
	r = mounts_attach(fd, target, "");
	return r < 0 ? r : take_fd(fd);
}

int mounts_make_private(void)
{
	return syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}
