/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last steps of a child before exec.
 */
#ifndef BERTH_SPAWNER_CHILD_H
#define BERTH_SPAWNER_CHILD_H

#include "spawner/launch.h"

/* Makes `fd` be `target`, open across exec; they differ. -errno. */
int child_place_fd(int fd, int target) MUST_CHECK;
/*
 * Executes the program behind `program_fd` with an empty environment and nothing open from
 * `first_closed` on.
 */
_Noreturn void child_exec(const struct launch_plan *launch, int program_fd, int first_closed,
			  char *const *argv);

#endif
