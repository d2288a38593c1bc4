/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for what must not leave the process: never swapped, not in core dumps, empty in forked
 * children, wiped when released.
 */
#ifndef BERTH_SYS_LOCKED_H
#define BERTH_SYS_LOCKED_H

#include "base/attr.h"

/* Zeroed; *ret is page-aligned. -EPERM or -ENOMEM also when RLIMIT_MEMLOCK is too low. */
int locked_new(size_t size, void **ret) MUST_CHECK;
/* NULL allowed; `size` as given to locked_new(). */
void locked_free(void *p, size_t size);

#endif
