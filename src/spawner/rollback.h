/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emptying a workspace at once, where it is a ZFS dataset of its own: `zfs rollback` to the
 * snapshot @empty, which berth-slots made and may be rolled back to by the server's user.
 */
#ifndef BERTH_SPAWNER_ROLLBACK_H
#define BERTH_SPAWNER_ROLLBACK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

enum { ROLLBACK_MAX_NAME = 256 }; /* of a dataset, with its NUL; the limit of ZFS */

/*
 * The dataset that is mounted as `mount_id`, from the text of /proc/self/mountinfo. -ENOTSUP if
 * that is something else than a whole ZFS file system (or has a name with blanks).
 */
int rollback_find_dataset(struct view mountinfo, uint64_t mount_id,
			  char ret[ROLLBACK_MAX_NAME]) MUST_CHECK;

/*
 * Starts the rollback of slot_fd/workspace. What the program says goes to *ret_output, a file in
 * memory. sys_errno ENOTSUP: the workspace cannot be rolled back.
 */
int rollback_start(int slot_fd, int null_fd, pid_t *ret_pid, int *ret_output,
		   struct err *err) MUST_CHECK;

/* From the wait status: 0, or -1 with what the program said. */
int rollback_result(int status, int output, struct err *err) MUST_CHECK;

#endif
