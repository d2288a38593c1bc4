/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor, for the child that builds a container. Nothing here follows a symbolic
 * link that a tenant may have planted: a target is opened first, checked, and mounted on by its
 * descriptor. Only system calls, no allocation: safe between clone3 and exec. All return 0 or a
 * descriptor, or -errno.
 */
#ifndef BERTH_SPAWNER_MOUNTS_H
#define BERTH_SPAWNER_MOUNTS_H

#include "base/attr.h"

#include <linux/mount.h>
#include <stdint.h>
#include <sys/types.h>

/* A value of NULL is a flag. A list ends with a key of NULL. */
struct mount_option {
	const char *key, *value;
};

/* A new file system, attached nowhere yet; `attributes` are MOUNT_ATTR_…. */
int mounts_make(const char *type, const struct mount_option *options,
		uint64_t attributes) MUST_CHECK;
/* A copy of the mount at `path` (not its submounts), attached nowhere yet. */
int mounts_clone(int dirfd, const char *path, uint64_t attributes) MUST_CHECK;
/* The same with its submounts. */
int mounts_clone_all(int dirfd, const char *path, uint64_t attributes) MUST_CHECK;
/* Attaches what `fd` stands for to `path` below `dirfd`, or to `dirfd` itself if it is "". */
int mounts_attach(int fd, int dirfd, const char *path) MUST_CHECK;

/*
 * The directory `name` right below `root_fd`, as a descriptor to mount on. What is there but is not
 * a directory (a planted link) is removed, what is missing is made.
 */
int mounts_target(int root_fd, const char *name) MUST_CHECK;

/* mounts_make() on mounts_target(); returns the descriptor of the new mount. */
int mounts_make_at(int root_fd, const char *name, const char *type,
		   const struct mount_option *options, uint64_t attributes) MUST_CHECK;

/* All mounts of this namespace private: nothing done here shows up on the host. */
int mounts_make_private(void) MUST_CHECK;

#endif
