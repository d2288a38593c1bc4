/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of a child before exec. */
#include "spawner/child.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>

int child_place_fd(int fd, int target)
{
	assert(fd != target);
	return dup2(fd, target) < 0 ? -errno : 0;
}

_Noreturn void child_exec(const struct launch_plan *launch, int program_fd, int first_closed,
			  char *const *argv)
{
	static char *const no_env[] = { NULL };

	/* Not closed yet: a failure of exec is still to be reported. */
	if (syscall(SYS_close_range, (unsigned)first_closed, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		launch_fail(launch, LAUNCH_EXEC, errno);
	(void)syscall(SYS_execveat, program_fd, "", argv, no_env, AT_EMPTY_PATH);
	launch_fail(launch, LAUNCH_EXEC, errno);
}
