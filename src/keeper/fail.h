/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures as the keeper reports them: an errno for the caller, a sentence for the model. Here
 * err->sys_errno is always set, and err->msg is the whole sentence (no host path can be in it: the
 * keeper knows none).
 */
#ifndef BERTH_KEEPER_FAIL_H
#define BERTH_KEEPER_FAIL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/show.h"

/* Fills *err with `sys_errno` and the sentence, and returns -1. */
int fail(struct err *err, int sys_errno, const char *fmt, ...) PRINTF(3, 4);
/*
 * The same where a system call failed for a reason that only its errno tells: `what` is the action
 * with its object, e.g. "write src/a.c". Quota, space and permission get their own words.
 */
int fail_errno(struct err *err, int sys_errno, const char *fmt, ...) PRINTF(3, 4);

#endif
