/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a container: the overlay of image and layer with what is mounted in it, made the
 * same way for every engine. Only system calls: runs between clone3 and exec, with the slot's
 * folder as working directory.
 */
#ifndef BERTH_SPAWNER_TREE_H
#define BERTH_SPAWNER_TREE_H

#include "spawner/container.h"

/*
 * Makes the root with all that is in it but /proc and /dev, attaches it to `name` below `dirfd` and
 * returns its descriptor. Sets the umask to 0.
 */
int tree_make(const struct launch_plan *launch, const struct container_plan *plan, int dirfd,
	      const char *name) MUST_CHECK;
/* -errno. */
int tree_mount_proc(int root) MUST_CHECK;
int tree_mount_sys(int root) MUST_CHECK;

#endif
