/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered lines for the model: "12<tab>text". Long lines are cut, and the whole is.
 */
#ifndef BERTH_KEEPER_LINES_H
#define BERTH_KEEPER_LINES_H

#include "base/buf.h"

enum {
	LINES_MAX_CHARS = 2000,      /* shown of one line */
	LINES_MAX_BYTES = 60 * 1024, /* shown in all by one READ */
	LINES_CONTEXT = 3,           /* around a change */
	LINES_MAX_CHANGED = 40,      /* lines shown of one change */
};

/*
 * Appends one line (UTF-8, made valid; without its end). `total` is how many bytes the line has
 * when `line` is only its beginning. As buf_add().
 */
int lines_add(struct buf *out, uint64_t number, struct view line, uint64_t total) MUST_CHECK;

/*
 * Appends the lines of `body` that bytes [from, to) touch, with LINES_CONTEXT lines around; the
 * middle is left out when there are many.
 */
int lines_add_around(struct buf *out, struct view body, size_t from, size_t to) MUST_CHECK;

/* "14,230 bytes", "1 line": a number with separators and its noun. */
int add_count(struct buf *out, uint64_t n, const char *noun) MUST_CHECK;
/* "512 bytes", "14.2 KiB", "1.5 GiB". */
int add_size(struct buf *out, uint64_t bytes) MUST_CHECK;

#endif
