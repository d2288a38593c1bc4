/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a process in a slot's namespaces. */
#include "spawner/launch.h"

#include "sys/io.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHILD_EXIT = 99, SLOT_IDS = 65536 };

#define NEWUIDMAP "/usr/bin/newuidmap"
#define NEWGIDMAP "/usr/bin/newgidmap"

static const char *const stage_name[] = {
	[LAUNCH_CGROUP] = "enter its control group",
	[LAUNCH_NAMESPACES] = "join the slot's namespaces",
	[LAUNCH_CLONE] = "make new namespaces",
	[LAUNCH_IDENTITY] = "become root of the slot's user namespace",
	[LAUNCH_LAYER] = "prepare the layer folder",
	[LAUNCH_OVERLAY] = "mount the root overlay",
	[LAUNCH_MOUNT_PROC] = "mount /proc",
	[LAUNCH_MOUNT_SYS] = "mount /sys",
	[LAUNCH_MOUNT_DEV] = "make /dev",
	[LAUNCH_MOUNT_TMP] = "mount /tmp and /run",
	[LAUNCH_WORKSPACE] = "mount the workspace",
	[LAUNCH_ROOT] = "change the root",
	[LAUNCH_SYSCTL] = "forbid nested user namespaces",
	[LAUNCH_MASK] = "mask parts of /proc and /sys",
	[LAUNCH_NETWORK] = "bring the loopback interface up",
	[LAUNCH_LIMITS] = "set resource limits",
	[LAUNCH_PRIVILEGES] = "drop privileges",
	[LAUNCH_BUNDLE] = "prepare the runtime's bundle",
	[LAUNCH_EXEC] = "run the program",
};
_Static_assert(ARRAY_SIZE(stage_name) == LAUNCH_NUM_STAGES, "a stage has no name");

/* On the report pipe: first the intermediate's (pid set), then at most one of the child's. */
struct report {
	int32_t stage, error;
	pid_t pid;
};

_Noreturn void launch_fail(const struct launch_plan *plan, enum launch_stage stage, int error)
{
	struct report report = { .stage = (int32_t)stage, .error = error < 0 ? -error : error };

	(void)!write(plan->report_fd, &report, sizeof(report));
	_exit(CHILD_EXIT);
}

void launch_check(const struct launch_plan *plan, enum launch_stage stage, int r)
{
	if (r < 0)
		launch_fail(plan, stage, r);
}

static int fail_from(const struct report *report, struct err *err)
{
	const char *name = "start";

	if (report->stage >= 0 && report->stage < LAUNCH_NUM_STAGES)
		name = stage_name[report->stage];
	return err_sys(err, report->error, "%s", name);
}

bool launch_has_newuidmap(void)
{
	return access(NEWUIDMAP, X_OK) == 0 && access(NEWGIDMAP, X_OK) == 0;
}

/* The namespace is mapped: be its root, and die with the spawner. */
static void become_root(const struct launch_plan *plan)
{
	struct pollfd spawner = { .fd = plan->report_fd };
	sigset_t none;

	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		launch_fail(plan, LAUNCH_IDENTITY, errno);
	/* After the change of identity, which would clear it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		launch_fail(plan, LAUNCH_IDENTITY, errno);
	/* If the spawner died before that, nobody reads our reports any more. */
	if (poll(&spawner, 1, 0) > 0 && (spawner.revents & POLLERR))
		_exit(CHILD_EXIT);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_child(const struct launch_plan *plan, int go_fd)
{
	char go;

	if (go_fd >= 0 && read(go_fd, &go, 1) != 1)
		_exit(CHILD_EXIT);
	become_root(plan);
	plan->child(plan, plan->userdata);
	_exit(CHILD_EXIT);
}

static pid_t clone_all(const struct launch_plan *plan, uint64_t more_flags, uint64_t exit_signal)
{
	struct clone_args args = {
		.flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | more_flags,
		.exit_signal = exit_signal,
	};

	if (plan->net_fd < 0)
		args.flags |= CLONE_NEWNET;
	if (plan->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)plan->cgroup_fd;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* cgroup v1 wants a task moved while it still has the server's uid; what it clones is born there.
 * "0" to `tasks` is the one form that takes no system-wide lock. */
static int enter_cgroups(const struct launch_plan *plan)
{
	for (size_t i = 0; i < plan->n_tasks_fds; i++)
		if (write(plan->tasks_fds[i], "0", 1) < 0)
			return -errno;
	return fchdir(plan->slot_fd) < 0 ? -errno : 0;
}

static _Noreturn void run_intermediate(const struct launch_plan *plan)
{
	struct report report = { 0 };
	int r = enter_cgroups(plan);

	if (r < 0)
		launch_fail(plan, LAUNCH_CGROUP, r);
	if (setns(plan->user_fd, CLONE_NEWUSER) < 0 ||
	    (plan->net_fd >= 0 && setns(plan->net_fd, CLONE_NEWNET) < 0))
		launch_fail(plan, LAUNCH_NAMESPACES, errno);
	/* The child inherits our exit signal; asking for one with CLONE_PARENT is EINVAL. */
	report.pid = clone_all(plan, CLONE_PARENT, 0);
	if (report.pid == 0)
		run_child(plan, -1);
	if (report.pid < 0)
		launch_fail(plan, LAUNCH_CLONE, errno);
	(void)!write(plan->report_fd, &report, sizeof(report));
	_exit(0);
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* The intermediate is gone in well under a millisecond: it touches no file. */
static int launch_in_pool(const struct launch_plan *plan, int report_fd, pid_t *ret_pid,
			  struct err *err)
{
	struct report report, second;
	pid_t middle = fork();

	if (middle == 0) {
		(void)close(report_fd);
		run_intermediate(plan);
	}
	if (middle < 0)
		return err_sys(err, errno, "fork");
	wait_for(middle);
	if (read(report_fd, &report, sizeof(report)) != sizeof(report))
		return err_set(err, ERR_SYSTEM, "the starting process was killed");
	if (report.pid > 0) {
		*ret_pid = report.pid;
		return 0;
	}
	/* The child can have failed before the intermediate came to tell its pid. */
	if (read(report_fd, &second, sizeof(second)) == sizeof(second) && second.pid > 0)
		wait_for(second.pid);
	return fail_from(&report, err);
}

/* Runs one of the two programs that may write the map of `pid`. */
static int map_ids(const char *program, pid_t pid, uint32_t first, struct err *err)
{
	char target[16], base[16], count[16];
	char *argv[] = {
		(char *)(uintptr_t)program, target, (char *)(uintptr_t) "0", base, count, NULL
	};
	char *none[] = { NULL };
	int status, r;
	pid_t child;

	(void)snprintf(target, sizeof(target), "%d", pid);
	(void)snprintf(base, sizeof(base), "%u", first);
	(void)snprintf(count, sizeof(count), "%d", SLOT_IDS);
	r = posix_spawn(&child, program, NULL, NULL, argv, none);
	if (r != 0)
		return err_sys(err, r, "run %s", program);
	if (waitpid(child, &status, 0) != child || status != 0)
		return err_set(err, ERR_SYSTEM,
			       "%s refused the ids from %u (are they in /etc/subuid and "
			       "/etc/subgid?)",
			       program, first);
	return 0;
}

static int launch_with_newuidmap(const struct launch_plan *plan, int report_fd, pid_t *ret_pid,
				 struct err *err)
{
	int go[2];
	pid_t pid;
	int r;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	auto_fd int go_read = go[0];
	auto_fd int go_write = go[1];
	auto_fd int own_dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (own_dir < 0 || fchdir(plan->slot_fd) < 0)
		return err_sys(err, errno, "enter the slot's folder");
	pid = clone_all(plan, CLONE_NEWUSER, SIGCHLD);
	if (pid == 0) {
		(void)close(go_write);
		(void)close(report_fd);
		run_child(plan, go_read);
	}
	r = pid < 0 ? err_sys(err, errno, "%s", stage_name[LAUNCH_CLONE]) : 0;
	if (fchdir(own_dir) < 0 && r == 0)
		r = err_sys(err, errno, "leave the slot's folder");
	if (pid < 0)
		return r;
	if (r == 0)
		r = map_ids(NEWUIDMAP, pid, plan->first_uid, err);
	if (r == 0)
		r = map_ids(NEWGIDMAP, pid, plan->first_uid, err);
	if (r == 0 && write(go_write, "", 1) != 1)
		r = err_sys(err, errno, "tell the new process to go on");
	if (r < 0) {
		(void)kill(pid, SIGKILL);
		wait_for(pid);
		return r;
	}
	*ret_pid = pid;
	return 0;
}

int launch(struct launch_plan *plan, pid_t *ret_pid, int *ret_report_fd, struct err *err)
{
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	auto_fd int report_read = pair[0];
	auto_fd int report_write = pair[1];

	r = io_set_nonblocking(report_read);
	if (r < 0)
		return err_sys(err, -r, "pipe");
	plan->report_fd = report_write;
	r = plan->user_fd >= 0 ? launch_in_pool(plan, report_read, ret_pid, err)
			       : launch_with_newuidmap(plan, report_read, ret_pid, err);
	plan->report_fd = -1;
	if (r < 0)
		return r;
	*ret_report_fd = take_fd(report_read);
	return 0;
}

enum launch_progress launch_read_report(int report_fd, struct err *err)
{
	struct report report;
	ssize_t n = read(report_fd, &report, sizeof(report));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return LAUNCH_PENDING;
	if (n == 0)
		return LAUNCH_RUNNING;
	if (n != sizeof(report)) {
		(void)err_set(err, ERR_SYSTEM, "the starting process spoke nonsense");
		return LAUNCH_FAILED;
	}
	(void)fail_from(&report, err);
	return LAUNCH_FAILED;
}
