/* SPDX-License-Identifier: Apache-2.0 */
/* The requests to btrfs that slots need. All return 0 or -errno. */
#ifndef BERTH_SLOTS_BTRFS_H
#define BERTH_SLOTS_BTRFS_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BTRFS_ID_LEN = 16 };

/* True if the open directory is on btrfs. */
bool btrfs_is_here(int fd);
/* Turns quota accounting on for the whole file system; harmless when it is. */
int btrfs_enable_quota(int fd) MUST_CHECK;
/* Makes the subvolume `name` in the open directory; -EEXIST if anything of that name is there. */
int btrfs_make_subvolume(int dirfd, const char *name) MUST_CHECK;
bool btrfs_is_subvolume(int dirfd, const char *name);
/* Removes the subvolume with all in it; -ENOTEMPTY if there are others inside. */
int btrfs_remove_subvolume(int dirfd, const char *name) MUST_CHECK;
/* Bounds what the subvolume that `fd` is in refers to. */
int btrfs_limit(int fd, uint64_t bytes) MUST_CHECK;
/* The id of the file system. */
int btrfs_id(int fd, uint8_t ret[BTRFS_ID_LEN]) MUST_CHECK;
/* The path of the (only) device of the file system. */
int btrfs_device(int fd, char *ret, size_t size) MUST_CHECK;
/* Takes in the growth of the device below. */
int btrfs_grow(int fd) MUST_CHECK;

#endif
