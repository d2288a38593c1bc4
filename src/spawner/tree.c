/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a container. */
#include "spawner/tree.h"

#include "spawner/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { UPPER_MODE = 0755, WORK_MODE = 0700, ETC_FILE_MODE = 0644 };

static const char *const layer_dirs[2] = { "upper", "work" };

/*
 * O(1): what an earlier container wrote is renamed into the trash, which the keeper empties later.
 * A tenant never sees the layer's own directory, so nothing in it can be a planted link.
 */
static int prepare_layer(const struct container_plan *plan)
{
	static const mode_t modes[2] = { UPPER_MODE, WORK_MODE };
	auto_fd int layer = open("layer", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (layer < 0)
		return -errno;
	if (plan->is_fresh && mkdirat(layer, "trash", WORK_MODE) < 0 && errno != EEXIST)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(layer_dirs); i++) {
		if (plan->is_fresh && renameat(layer, layer_dirs[i], layer, plan->aside[i]) < 0 &&
		    errno != ENOENT)
			return -errno;
		if (mkdirat(layer, layer_dirs[i], modes[i]) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Relative paths: they are what /proc/self/mountinfo shows inside. */
static int mount_root(int dirfd, const char *name)
{
	static const struct mount_option options[] = {
		{ "source", "overlay" },     { "lowerdir", "lower" }, { "upperdir", "layer/upper" },
		{ "workdir", "layer/work" }, { "userxattr", NULL },   { NULL, NULL },
	};
	auto_fd int fd = mounts_make("overlay", options, MOUNT_ATTR_NODEV);
	int r;

	if (fd < 0)
		return fd;
	r = mounts_attach(fd, dirfd, name);
	return r < 0 ? r : take_fd(fd);
}

static int mount_tmpfs(int root, const char *name, const char *size, const char *mode,
		       uint64_t attributes)
{
	/* A page is enough for a few files: more than one inode for each would be spent anyway. */
	const struct mount_option options[] = {
		{ "source", "tmpfs" }, { "size", size }, { "nr_inodes", "100k" },
		{ "mode", mode },      { NULL, NULL },
	};
	auto_fd int fd = mounts_make_at(root, name, "tmpfs", options, attributes);

	return fd < 0 ? fd : 0;
}

static int mount_workspace(int root)
{
	auto_fd int tree =
		mounts_clone(AT_FDCWD, "workspace", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (tree < 0)
		return tree;
	auto_fd int target = mounts_target(root, "workspace");
	if (target < 0)
		return target;
	return mounts_attach(tree, target, "");
}

static int mount_simple(int root, const char *name, const char *type, uint64_t attributes)
{
	const struct mount_option options[] = { { "source", type }, { NULL, NULL } };
	auto_fd int fd = mounts_make_at(root, name, type, options,
					MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
						attributes);

	return fd < 0 ? fd : 0;
}

/*
 * Replaces /etc/NAME by a file, wherever the tenant's /etc leads to, as long as that is inside.
 * Failing is no reason not to start: a full quota, or a tenant who made a folder of that name.
 */
static void write_etc(int root, const char *name, struct view content)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	auto_fd int etc = (int)syscall(SYS_openat2, root, "etc", &how, sizeof(how));
	int fd;

	if (etc < 0)
		return;
	(void)unlinkat(etc, name, 0);
	fd = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, ETC_FILE_MODE);
	if (fd < 0)
		return;
	(void)!write(fd, content.p, content.len);
	(void)close(fd);
}

int tree_mount_proc(int root)
{
	return mount_simple(root, "proc", "proc", 0);
}

int tree_mount_sys(int root)
{
	return mount_simple(root, "sys", "sysfs", MOUNT_ATTR_RDONLY);
}

int tree_make(const struct launch_plan *launch, const struct container_plan *plan, int dirfd,
	      const char *name)
{
	int root;

	(void)umask(0);
	launch_check(launch, LAUNCH_LAYER, prepare_layer(plan));
	root = mount_root(dirfd, name);
	launch_check(launch, LAUNCH_OVERLAY, root);
	launch_check(launch, LAUNCH_MOUNT_SYS, tree_mount_sys(root));
	launch_check(launch, LAUNCH_MOUNT_TMP,
		     mount_tmpfs(root, "tmp", plan->tmp_size, "1777",
				 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	launch_check(launch, LAUNCH_MOUNT_TMP,
		     mount_tmpfs(root, "run", plan->tmp_size, "755",
				 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	launch_check(launch, LAUNCH_WORKSPACE, mount_workspace(root));
	if (plan->is_fresh)
		write_etc(root, "hosts", plan->hosts);
	write_etc(root, "resolv.conf", plan->resolv);
	return root;
}
