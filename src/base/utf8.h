/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 (RFC 3629): what leaves the server as text is always valid.
 */
#ifndef BERTH_BASE_UTF8_H
#define BERTH_BASE_UTF8_H

#include "base/buf.h"

/*
 * Length (1..4) of the well-formed character at the start of `v`, and its code point; 0 if the
 * bytes are not one (overlong, surrogate, above U+10FFFF, cut off, empty). `ret` may be NULL.
 */
size_t utf8_char(struct view v, uint32_t *ret);

bool utf8_valid(struct view v);

/* How many characters; an invalid byte counts as one. */
size_t utf8_count(struct view v);

/* The longest prefix with at most `chars` characters (never cut inside one). */
struct view utf8_first(struct view v, size_t chars);
/* The longest suffix with at most `chars` characters. */
struct view utf8_last(struct view v, size_t chars);

/* Appends `v` with each maximal invalid sequence replaced by one U+FFFD. As buf_add(). */
int utf8_add_valid(struct buf *out, struct view v) MUST_CHECK;

#endif
