/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing the content of an existing file without breaking anything about it.
 *
 * A file with one name is replaced as a whole: the new content is written beside it with the same
 * owner, mode and extended attributes, synced, and the two are exchanged; so a reader sees the old
 * or the new content, never half of it. Where that would lose something (other hard links, an
 * attribute that cannot be copied) or there is no room for a second copy, the changed bytes are
 * written into the file itself, after the room for its growth has been reserved.
 */
#ifndef BERTH_KEEPER_SAVE_H
#define BERTH_KEEPER_SAVE_H

#include "keeper/jail.h"

enum {
	SAVE_MAX_BYTES = 32 * 1024 * 1024, /* of a file that can be edited */
};

/* A file that is read whole, to be edited. */
struct loaded {
	struct jail_file file; /* open for reading and writing */
	struct buf content;
};

void loaded_init(struct loaded *l);
void loaded_done(struct loaded *l);
#define auto_loaded CLEANUP(loaded_done)

/* EFBIG when it is larger than SAVE_MAX_BYTES; otherwise as jail_open(). */
int load_file(int root, struct view path, struct loaded *ret, struct err *err) MUST_CHECK;

/*
 * ESTALE when the file was changed by somebody else since it was loaded; it is then untouched.
 * `self` is for temp_create().
 */
int save_file(int root, int self, struct loaded *l, struct view content,
	      struct err *err) MUST_CHECK;

#endif
