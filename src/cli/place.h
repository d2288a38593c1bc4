/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name in a tree that becomes a sandbox's root: its directory, resolved as inside the sandbox,
 * and its last component. Links in the tree lead at most to the tree's own root.
 */
#ifndef BERTH_CLI_PLACE_H
#define BERTH_CLI_PLACE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

struct place {
	int dir_fd;              /* owned; O_PATH */
	char name[NAME_MAX + 1]; /* "" for the root itself */
};

/*
 * `path` comes from an archive: a leading "/" or "./" is dropped, ".." refused. Directories that
 * are missing are made.
 */
int place_find(int root_fd, const char *path, struct place *ret, struct err *err) MUST_CHECK;
void place_done(struct place *place);
#define auto_place CLEANUP(place_done)

/* Removes whatever is there, with everything below it. Nothing there is fine. */
int place_clear(const struct place *place, struct err *err) MUST_CHECK;

/* Opens `path` as the sandbox would see it. -errno. */
int place_open(int root_fd, const char *path, int flags) MUST_CHECK;

#endif
