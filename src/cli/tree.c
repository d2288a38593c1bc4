/* SPDX-License-Identifier: Apache-2.0 */
/* Removing directory trees. */
#include "cli/tree.h"

#include <ftw.h>
#include <stdio.h>

enum { OPEN_DIRS = 64 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 ? -errno : 0;
}

static int remove_inside(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return at->level == 0 ? 0 : remove_one(path, st, type, at);
}

static int walk(const char *path, __nftw_func_t each)
{
	int r = nftw(path, each, OPEN_DIRS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	/* -1 is nftw()'s own failure, anything else what `each` returned. */
	if (r == -1)
		r = -errno;
	return r == -ENOENT ? 0 : r;
}

int tree_remove(const char *path)
{
	return walk(path, remove_one);
}

int tree_remove_contents(const char *path)
{
	return walk(path, remove_inside);
}
