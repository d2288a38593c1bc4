/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes: a view borrows, a buffer owns and has a maximum; a failed append changes nothing.
 */
#ifndef BERTH_BASE_BUF_H
#define BERTH_BASE_BUF_H

#include "base/attr.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A view borrows: it is valid until its owner changes, and is not NUL-terminated. */
struct view {
	const char *p;
	size_t len;
};

#define VIEW_INIT(literal)                                                                         \
	{                                                                                          \
		.p = (literal), .len = sizeof(literal) - 1                                         \
	}
#define VIEW(literal) ((struct view)VIEW_INIT(literal))
/* For printf's "%.*s". */
#define VIEW_ARG(v) (int)(v).len, (v).p

/* NULL gives the empty view. */
static inline struct view view_str(const char *s)
{
	return (struct view){ .p = s ? s : "", .len = s ? strlen(s) : 0 };
}

static inline struct view view_of(const void *p, size_t len)
{
	return (struct view){ .p = p, .len = len };
}

bool view_eq(struct view a, struct view b);
bool view_is(struct view a, const char *s);
/* ASCII case only: for HTTP header names and schemes. */
bool view_is_nocase(struct view a, const char *s);
bool view_eq_nocase(struct view a, struct view b);
bool view_starts(struct view a, struct view prefix);
bool view_ends(struct view a, struct view suffix);
/* Without leading and trailing spaces and tabs. */
struct view view_trim(struct view v);
/* Index of the first `c`, or v.len. */
size_t view_find(struct view v, char c);
/* From `from` (clamped) to the end. */
struct view view_from(struct view v, size_t from);
/* The first `len` bytes (clamped). */
struct view view_first(struct view v, size_t len);
/* What follows the last slash of a path; all of it if it has none. */
struct view view_base_name(struct view path);
/*
 * Cuts the next part of *rest up to `sep` (consumed) into *ret; false when *rest was used up.
 * "a,,b" gives a, "", b. Start with a copy of the whole; an empty whole gives nothing.
 */
bool view_split(struct view *rest, char sep, struct view *ret);
/* FNV-1a: spreads well, but whoever picks the bytes can make two the same. */
uint32_t view_hash(struct view v);
/* A NUL-terminated copy to free(), or NULL when out of memory. */
char *view_dup(struct view v) MUST_CHECK;
/* Copies into `out` with a NUL. -ENOSPC if it does not fit, -EINVAL if it holds a NUL. */
int view_copy(struct view v, char *out, size_t size) MUST_CHECK;

struct buf {
	char *p;    /* owned; NUL at p[len] once anything was added */
	size_t len; /* bytes in use, without the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* len never exceeds this; fixed at buf_init() */
};

#define BUF_INIT(max_bytes)                                                                        \
	{                                                                                          \
		.max = (max_bytes)                                                                 \
	}
#define auto_buf CLEANUP(buf_done)

void buf_init(struct buf *b, size_t max_bytes);
/* Releases the memory; the buffer is empty and may be used again. */
void buf_done(struct buf *b);
/* The same, for what nobody may find in freed memory: it is overwritten first. What was left behind
 * when it grew is not. */
void buf_wipe(struct buf *b);

/* -ENOSPC past the limit, -ENOMEM; on failure the contents are unchanged. */
int buf_add(struct buf *b, const void *p, size_t len) MUST_CHECK;
int buf_add_view(struct buf *b, struct view v) MUST_CHECK;
int buf_add_str(struct buf *b, const char *s) MUST_CHECK;
int buf_add_char(struct buf *b, char c) MUST_CHECK;
int buf_addf(struct buf *b, const char *fmt, ...) MUST_CHECK PRINTF(2, 3);
int buf_vaddf(struct buf *b, const char *fmt, va_list ap) MUST_CHECK PRINTF(2, 0);
/* Makes room for `extra` more bytes and returns where to write them, or NULL; then buf_commit(). */
char *buf_reserve(struct buf *b, size_t extra) MUST_CHECK;
void buf_commit(struct buf *b, size_t written);
/* Drops everything after `len`. */
void buf_truncate(struct buf *b, size_t len);
/* Drops the first `n` bytes. */
void buf_consume(struct buf *b, size_t n);

static inline struct view buf_view(const struct buf *b)
{
	return (struct view){ .p = b->p ? b->p : "", .len = b->len };
}

/* The contents as a C string; "" when empty. */
static inline const char *buf_str(const struct buf *b)
{
	return b->p ? b->p : "";
}

/* Takes the memory out, to free(); NULL when nothing was ever added. */
char *buf_take(struct buf *b) MUST_CHECK;

/* Takes all of it out; what stays is empty and takes nothing. */
static inline struct buf buf_move(struct buf *b)
{
	struct buf all = *b;

	*b = (struct buf)BUF_INIT(0);
	return all;
}

#endif
