/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and encodings from outside. Each function leaves *ret untouched on failure.
 */
#ifndef BERTH_BASE_PARSE_H
#define BERTH_BASE_PARSE_H

#include "base/buf.h"

/* Decimal digits only. -EINVAL for anything else, -ERANGE outside [min, max]. */
int parse_u64(struct view s, uint64_t min, uint64_t max, uint64_t *ret) MUST_CHECK;
int parse_u32(struct view s, uint32_t min, uint32_t max, uint32_t *ret) MUST_CHECK;

/* Bytes with an optional binary suffix: "512", "64K", "1.5M" is refused, "2G", "1T". -EINVAL,
 * -ERANGE. */
int parse_size(struct view s, uint64_t min, uint64_t max, uint64_t *ret) MUST_CHECK;

/* Seconds with an optional suffix s, m, h, d. -EINVAL, -ERANGE (in seconds). */
int parse_seconds(struct view s, uint64_t min, uint64_t max, uint64_t *ret) MUST_CHECK;

/* yes/no, true/false, on/off, 1/0. -EINVAL. */
int parse_bool(struct view s, bool *ret) MUST_CHECK;

/* Appends `in` as lower-case hex. As buf_add(). */
int hex_encode(struct buf *out, const void *in, size_t len) MUST_CHECK;
/* Exactly `len` bytes from 2*len hex digits, either case. -EINVAL. */
int hex_decode(struct view in, void *out, size_t len) MUST_CHECK;

/* Value of a hex digit, or -1. */
int hex_digit(char c);

#endif
