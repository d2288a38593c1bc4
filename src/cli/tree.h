/* SPDX-License-Identifier: Apache-2.0 */
/* Removing directory trees that nobody else writes to. */
#ifndef BERTH_CLI_TREE_H
#define BERTH_CLI_TREE_H

#include "base/attr.h"

/*
 * Removes `path` and all below it, on its file system only and without following links; nothing
 * there is fine. Not for trees that an untrusted process can change meanwhile. -errno.
 */
int tree_remove(const char *path) MUST_CHECK;

/* The same for what is inside the directory, which stays. */
int tree_remove_contents(const char *path) MUST_CHECK;

#endif
