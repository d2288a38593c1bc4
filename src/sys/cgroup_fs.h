/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of control groups, version 2 (cgroups(7)): where this process is, and what is done with
 * a group by whoever makes, gives or takes it. Groups are open folders.
 */
#ifndef BERTH_SYS_CGROUP_FS_H
#define BERTH_SYS_CGROUP_FS_H

#include "base/buf.h"

#include <sys/types.h>

/* Where version 2 is mounted when it is what limits (systemd.unified_cgroup_hierarchy=1). */
#define CGROUP_FS_ROOT "/sys/fs/cgroup"

/* Where the server's own processes are within a group that it divides among sandboxes. */
#define CGROUP_FS_SERVER "server"

/* The path of this process's group. False without version 2, or if it does not fit. */
bool cgroup_fs_own(char *out, size_t size);
/* Whether it is a folder of version 2. */
bool cgroup_fs_is_v2(int fd);
/* Gives it, but not its limits, to a user who may then divide it. Both versions. 0 or -errno. */
int cgroup_fs_give(int dirfd, uid_t uid, gid_t gid) MUST_CHECK;
/*
 * Moves all processes of `group` into CGROUP_FS_SERVER below it, which is made if it is missing:
 * only a group without processes of its own hands limits down. False if there can be none.
 */
bool cgroup_fs_step_aside(int group);

#endif
