/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, which may be any bytes, and sizes in sentences for people and models. */
#ifndef BERTH_BASE_SHOW_H
#define BERTH_BASE_SHOW_H

#include "base/buf.h"

enum { SHOW_MAX = 256 };

/*
 * A name for a person, in `out`: as it is when it is printable UTF-8 without surrounding blanks,
 * else in the shell's $'…' form, so that it can be pasted into a command. Cut with "…" to fit.
 * Returns out.
 */
const char *show_name(struct view name, char out[SHOW_MAX]);
/* The same, whole. -ENOSPC, -ENOMEM. */
int show_add(struct buf *out, struct view name) MUST_CHECK;

enum { SHOW_SIZE_MAX = 32 };

/* "1.5 GiB", "12 KiB", "3 bytes": a decimal only where it says something. Returns out. */
const char *show_size(uint64_t bytes, char out[SHOW_SIZE_MAX]);

#endif
