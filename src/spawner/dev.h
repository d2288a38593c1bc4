/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The /dev of a container: six harmless devices of the host, pts, shm, mqueue.
 */
#ifndef BERTH_SPAWNER_DEV_H
#define BERTH_SPAWNER_DEV_H

#include "base/attr.h"

/* Only system calls; -errno. `shm_size` is a tmpfs size. */
int dev_make(int root_fd, const char *shm_size) MUST_CHECK;

#endif
