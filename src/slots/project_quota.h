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
/* Makes the (empty) directory a project, and bounds it. 0 or -errno. */
int project_quota_set(int fd, uint32_t project, uint64_t bytes) MUST_CHECK;

#endif
