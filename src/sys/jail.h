/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking a prepared tree as the root of one's own mount namespace. Only system calls: also for the
 * child between clone3 and exec.
 */
#ifndef BERTH_SYS_JAIL_H
#define BERTH_SYS_JAIL_H

#include "base/attr.h"

/*
 * Makes the mount that `root_fd` is the root of the root of this mount namespace, detaches
 * everything else and changes to it. Needs CAP_SYS_ADMIN over the namespace, whose mounts must be
 * private. -errno; the process must not go on then.
 */
int jail_enter(int root_fd) MUST_CHECK;

#endif
