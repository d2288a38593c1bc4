/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the text to be replaced, and saying precisely why it was not found.
 */
#ifndef BERTH_KEEPER_MATCH_H
#define BERTH_KEEPER_MATCH_H

#include "base/buf.h"

enum {
	MATCH_MAX = 100 * 1000, /* places that one edit may replace */
};

/*
 * Offsets of `old` (not empty) in `body`, from left to right without overlap: an array to free() in
 * *ret, their number returned. -ENOMEM; -E2BIG for more than MATCH_MAX.
 */
int64_t match_all(struct view body, struct view old, size_t **ret) MUST_CHECK;

/*
 * Appends why `old` is not in `body`: the lines that are the same but for blanks, tabs, invisible
 * characters, quotes or case, with what differs; or the nearest lines. `first_line` is the number
 * of the body's first line. As buf_add().
 */
int match_diagnose(struct buf *out, struct view body, uint64_t first_line,
		   struct view old) MUST_CHECK;

#endif
