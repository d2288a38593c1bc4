/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Project quotas: a directory tree with a number, and a limit for that number, on ext4 and xfs
 * mounted with prjquota.
 */
#ifndef BERTH_SLOTS_PROJECT_QUOTA_H
#define BERTH_SLOTS_PROJECT_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

/* True if the file system of the open directory enforces limits of projects. */
bool project_quota_is_here(int fd);
/*
 * Makes the directory and everything in it a project, unless it is one: where quotas are turned on
 * later there are files already. What comes later is in it by itself. 0; -errno if some of it is
 * not in the project, which is then tried again at the next call.
 */
int project_quota_cover(int fd, uint32_t project) MUST_CHECK;
/* Bounds a project. 0 or -errno. */
int project_quota_set(int fd, uint32_t project, uint64_t bytes) MUST_CHECK;

#endif
