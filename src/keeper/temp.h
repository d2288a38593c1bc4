/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that gets its name only when it is complete.
 *
 * Until then it has no name at all (O_TMPFILE), so that nobody sees it, and nothing of it is left
 * when the keeper is killed. A name is given to it through the folder of the process's own
 * descriptors, since linkat() with AT_EMPTY_PATH wants a privilege over the whole host. Where the
 * file system or the host cannot do that, the file has a temporary name, ".<random>.part".
 */
#ifndef BERTH_KEEPER_TEMP_H
#define BERTH_KEEPER_TEMP_H

#include "base/attr.h"

#include <stdint.h>
#include <sys/types.h>

enum { TEMP_NAME = 32 };

struct temp {
	int self;             /* borrowed: the folder of our descriptors, or -1 */
	int folder;           /* borrowed: where the file lies */
	int fd;               /* owned; open for reading and writing */
	char name[TEMP_NAME]; /* "" while it has none */
};

/* Makes an empty file; `self` as keeper_open_self() returned it. 0 or -errno. */
int temp_create(int self, int folder, mode_t mode, struct temp *ret) MUST_CHECK;
/* Gives it a temporary name if it has none yet. 0 or -errno. */
int temp_show(struct temp *t) MUST_CHECK;
/*
 * Names it, refusing to replace with KEEPER_NOREPLACE; what it replaces may be a symbolic link,
 * which is not followed. Then the folder is synced. 0 or -errno; EEXIST leaves it as it was.
 */
int temp_commit(struct temp *t, const char *name, uint32_t flags) MUST_CHECK;
/* Removes it unless it was committed, and closes it. */
void temp_done(struct temp *t);
#define auto_temp CLEANUP(temp_done)

#endif
