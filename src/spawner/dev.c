/* SPDX-License-Identifier: Apache-2.0 */
/* The /dev of a container. */
#include "spawner/dev.h"

#include "spawner/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DIR_MODE = 0755, SHARED_DIR_MODE = 01777, NODE_MODE = 0666 };

/* Made by binding: mknod of a real device is refused in a user namespace. */
static const struct node {
	const char *name, *host;
	unsigned major, minor;
} nodes[] = {
	{ "null", "/dev/null", 1, 3 },       { "zero", "/dev/zero", 1, 5 },
	{ "full", "/dev/full", 1, 7 },       { "random", "/dev/random", 1, 8 },
	{ "urandom", "/dev/urandom", 1, 9 }, { "tty", "/dev/tty", 5, 0 },
};

static const struct {
	const char *name, *target;
} links[] = {
	{ "ptmx", "pts/ptmx" },          { "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },  { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

static int bind_node(int dev, const struct node *node)
{
	struct stat st;
	auto_fd int tree = mounts_clone(AT_FDCWD, node->host, 0);
	int fd;

	if (tree < 0)
		return tree;
	/* Whatever the host has under that name, nothing but this device may come in. */
	if (fstat(tree, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(node->major, node->minor))
		return -ENODEV;
	fd = openat(dev, node->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NODE_MODE);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return mounts_attach(tree, dev, node->name);
}

static int mount_in(int dev, const char *name, mode_t mode, const char *type,
		    const struct mount_option *options, uint64_t attributes)
{
	if (mkdirat(dev, name, mode) < 0)
		return -errno;
	auto_fd int fd = mounts_make(type, options, attributes);
	return fd < 0 ? fd : mounts_attach(fd, dev, name);
}

static int mount_all(int dev, const char *shm_size)
{
	static const struct mount_option pts[] = {
		{ "source", "devpts" }, { "newinstance", NULL }, { "ptmxmode", "0666" },
		{ "mode", "0620" },     { "gid", "5" },          { "max", "256" },
		{ NULL, NULL },
	};
	static const struct mount_option mqueue[] = { { "source", "mqueue" }, { NULL, NULL } };
	const struct mount_option shm[] = {
		{ "source", "shm" }, { "size", shm_size }, { "nr_inodes", "100k" },
		{ "mode", "1777" },  { NULL, NULL },
	};
	const uint64_t strict = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	int r = mount_in(dev, "pts", DIR_MODE, "devpts", pts,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);

	if (r == 0)
		r = mount_in(dev, "shm", SHARED_DIR_MODE, "tmpfs", shm, strict);
	if (r == 0)
		r = mount_in(dev, "mqueue", DIR_MODE, "mqueue", mqueue, strict);
	return r;
}

int dev_make(int root_fd, const char *shm_size)
{
	static const struct mount_option options[] = {
		{ "source", "dev" }, { "size", "64k" }, { "nr_inodes", "1k" },
		{ "mode", "755" },   { NULL, NULL },
	};
	auto_fd int dev = mounts_make_at(root_fd, "dev", "tmpfs", options,
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	int r = dev < 0 ? dev : 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(nodes); i++)
		r = bind_node(dev, &nodes[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i].target, dev, links[i].name) < 0)
			r = -errno;
	return r < 0 ? r : mount_all(dev, shm_size);
}
