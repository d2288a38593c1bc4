/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof of work: the browser looks for a number that makes SHA-256("<sealed request>.<number>")
 * begin with so many zero bits. A solution belongs to one page: it cannot be used for another, and
 * a page leads to one sandbox at most.
 */
#ifndef BERTH_OAUTH_WORK_H
#define BERTH_OAUTH_WORK_H

#include "base/buf.h"

enum { WORK_MAX_BITS = 24 };

bool work_is_done(struct view sealed, struct view number, uint32_t bits);

#endif
