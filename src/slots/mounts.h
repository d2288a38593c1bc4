/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts below a directory that is held open. Names have one component and are not followed.
 */
#ifndef BERTH_SLOTS_MOUNTS_H
#define BERTH_SLOTS_MOUNTS_H

#include "base/err.h"

#include <stdbool.h>

/* Mounts the directory `name` on itself, private, so that mounts below it do not spread. */
int mount_private_dir(int dirfd, const char *name, struct err *err) MUST_CHECK;

/* True if `name` is where a mount begins. */
bool mount_is_here(int dirfd, const char *name);

/* Takes off what is mounted on `name`, all layers; nothing is fine. Processes that use it keep it.
 */
int mount_take_off(int dirfd, const char *name, struct err *err) MUST_CHECK;

/*
 * Mounts the directory `source_fd` on `name`: read-only, without devices, with owners shifted by
 * the map of the user namespace `userns_fd`. Set-id programs stay what they are: sudo and su are
 * of use in a sandbox, whose root they make at most.
 */
int mount_shifted(int source_fd, int dirfd, const char *name, int userns_fd,
		  struct err *err) MUST_CHECK;

#endif
