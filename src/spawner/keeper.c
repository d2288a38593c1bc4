/* SPDX-License-Identifier: Apache-2.0 */
/* The child that becomes berth-keeper: a root with nothing in it but the slot's two folders. */
#include "spawner/container.h"

#include "spawner/child.h"
#include "spawner/mounts.h"
#include "wire/keeper.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { DIR_MODE = 0755 };

/* A tmpfs over the slot's folder, which as our working directory stays reachable below it. */
static int make_root(void)
{
	static const struct mount_option options[] = {
		{ "source", "tmpfs" }, { "size", "4k" }, { "nr_inodes", "4" },
		{ "mode", "755" },     { NULL, NULL },
	};
	auto_fd int root = mounts_make("tmpfs", options,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	int r;

	if (root < 0)
		return root;
	r = mounts_attach(root, AT_FDCWD, ".");
	return r < 0 ? r : take_fd(root);
}

/* Binds the slot's `name` into the root and opens it there as descriptor `target`. */
static int add_folder(int root, const char *name, int target)
{
	auto_fd int tree = mounts_clone(AT_FDCWD, name,
					MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	int r;

	if (tree < 0)
		return tree;
	if (mkdirat(root, name, DIR_MODE) < 0)
		return -errno;
	r = mounts_attach(tree, root, name);
	if (r < 0)
		return r;
	auto_fd int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return child_place_fd(fd, target);
}

void keeper_child(const struct launch_plan *launch, void *userdata)
{
	const struct keeper_plan *plan = userdata;
	static char *const argv[] = { (char *)(uintptr_t) "berth-keeper", NULL };
	int root;

	(void)umask(0);
	launch_check(launch, LAUNCH_ROOT, mounts_make_private());
	root = make_root();
	launch_check(launch, LAUNCH_ROOT, root);
	/* Its stderr stays ours: the keeper logs, and is no tenant. */
	launch_check(launch, LAUNCH_EXEC, child_place_fd(plan->null_fd, 0));
	launch_check(launch, LAUNCH_EXEC, child_place_fd(plan->null_fd, 1));
	launch_check(launch, LAUNCH_EXEC, child_place_fd(plan->socket_fd, KEEPER_SOCKET_FD));
	launch_check(launch, LAUNCH_WORKSPACE, add_folder(root, "workspace", KEEPER_WORKSPACE_FD));
	launch_check(launch, LAUNCH_LAYER, add_folder(root, "layer", KEEPER_LAYER_FD));
	launch_check(launch, LAUNCH_ROOT, child_place_fd(root, KEEPER_ROOT_FD));
	child_exec(launch, plan->program_fd, KEEPER_ROOT_FD + 1, argv);
}
