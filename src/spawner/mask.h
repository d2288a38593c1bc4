/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container must not see of the host's /proc and /sys. Runs with the container's root
 * entered, so that every path is inside. Only system calls; -errno.
 */
#ifndef BERTH_SPAWNER_MASK_H
#define BERTH_SPAWNER_MASK_H

#include "base/attr.h"

/* NULL-terminated paths: empty files, empty folders, and what is readable but not writable. */
extern const char *const mask_files[], *const mask_dirs[], *const mask_read_only[];

/* Before /proc/sys becomes read-only: no nested user namespaces, ping and low ports for all. */
int mask_write_sysctls(void) MUST_CHECK;
int mask_all(void) MUST_CHECK;

#endif
