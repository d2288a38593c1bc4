/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper remembers about the files that its client works on: which version it has seen
 * (a hash of the content), and the edits that can be undone. All in memory, all bounded: past the
 * limits the oldest goes first. Files are named by their place (see jail.h).
 */
#ifndef BERTH_KEEPER_EDITS_H
#define BERTH_KEEPER_EDITS_H

#include "base/buf.h"

enum {
	EDITS_MAX_FILES = 4096,
	EDITS_MAX_UNDO_BYTES = 16 * 1024 * 1024, /* of replaced text, in all */
	EDITS_HASH_BYTES = 32,
};

struct edits;
struct edit_step;

struct content_hash {
	uint8_t bytes[EDITS_HASH_BYTES];
};

/* NULL when out of memory. */
struct edits *edits_new(void) MUST_CHECK;
void edits_free(struct edits *e);
void edits_clear(struct edits *e);

void content_hash(struct view content, struct content_hash *ret);
bool content_hash_eq(const struct content_hash *a, const struct content_hash *b);

/* The client has seen this version. Forgetting it when out of memory only costs another read. */
void edits_saw(struct edits *e, struct view path, const struct content_hash *hash);

enum edits_seen {
	EDITS_NEVER,   /* not read at all, or forgotten */
	EDITS_CHANGED, /* another version was */
	EDITS_SEEN,
};
enum edits_seen edits_check(const struct edits *e, struct view path,
			    const struct content_hash *hash);

/* One replaced span: `old` was at offset `at` of the content before; new_len bytes took its place.
 */
struct edit_span {
	size_t at;
	struct view old;
	size_t new_len;
};

/*
 * Records an edit of spans in growing order (copied), from content `before` to content `after`,
 * which is seen from now on. -ENOSPC: too large to be remembered; the file's older edits are then
 * forgotten too, since they cannot be reached any more.
 */
int edits_record(struct edits *e, struct view path, const struct edit_span *spans, size_t n,
		 const struct content_hash *before, const struct content_hash *after) MUST_CHECK;

/* The file's last edit that can be undone, or NULL. */
const struct edit_step *edits_last(const struct edits *e, struct view path);
/* How many can be undone, and whether that reaches back to the first one. */
uint32_t edits_count(const struct edits *e, struct view path, bool *ret_is_complete);
const struct content_hash *edit_step_after(const struct edit_step *step);
const struct edit_step *edit_step_earlier(const struct edit_step *step);
/* Where the step's first span begins, in the content before it and in the one after. */
size_t edit_step_at(const struct edit_step *step);

/* Appends what `content` was before the step. -EINVAL if it cannot be its result. */
int edit_step_revert(const struct edit_step *step, struct view content, struct buf *out) MUST_CHECK;
/* Forgets the last step of the file; the version before it is the seen one. */
void edits_pop(struct edits *e, struct view path);

#endif
