/* SPDX-License-Identifier: Apache-2.0 */
/* The process above one command. */
#include "init/leader.h"

#include "init/tree.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	KILL_PASSES = 64,  /* in a row, before others get a turn */
	KILL_PAUSE_MS = 5, /* then again, until nothing is left */
};

struct leader {
	int report_fd, signal_fd;
	pid_t child;
	bool has_ended, is_alone; /* the command; everything it started, too */
	bool is_stopping;         /* SIGTERM or SIGKILL was asked for */
	bool is_killing;
	int status;
};

static void report(const struct leader *leader, const struct leader_report *what)
{
	/* When init is gone, so are we in a moment. */
	(void)send(leader->report_fd, what, sizeof(*what), MSG_NOSIGNAL);
}

static uint64_t cpu_usec(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_CHILDREN, &use) < 0)
		return 0;
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void reap(struct leader *leader)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(leader->signal_fd, &info, sizeof(info)) == sizeof(info))
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == leader->child) {
			leader->has_ended = true;
			leader->status = status;
		}
	leader->is_alone = pid < 0 && errno == ECHILD;
}

static void kill_all(void)
{
	for (int i = 0; i < KILL_PASSES; i++)
		if (tree_signal(getpid(), TREE_BELOW_ROOT, SIGKILL) == 0)
			return;
}

static void take_signal(struct leader *leader)
{
	int sig;
	ssize_t n = recv(leader->report_fd, &sig, sizeof(sig), 0);

	if (n != sizeof(sig))
		_exit(1); /* init is gone */
	if (sig == SIGTERM || sig == SIGKILL)
		leader->is_stopping = true;
	if (sig == SIGKILL)
		leader->is_killing = true;
	else
		(void)tree_signal(getpid(), TREE_BELOW_ROOT, sig);
}

static void watch(struct leader *leader)
{
	while (!leader->has_ended || (leader->is_stopping && !leader->is_alone)) {
		struct pollfd fds[] = {
			{ .fd = leader->report_fd, .events = POLLIN },
			{ .fd = leader->signal_fd, .events = POLLIN },
		};

		if (poll(fds, ARRAY_SIZE(fds), leader->is_killing ? KILL_PAUSE_MS : -1) < 0 &&
		    errno != EINTR)
			_exit(1);
		if (fds[0].revents)
			take_signal(leader);
		if (leader->is_killing)
			kill_all();
		reap(leader);
	}
}

/* Init's socket and the other commands' are not for this process. */
static void close_others(const struct command_plan *plan)
{
	const int keep[] = { plan->stdin_fd, plan->output_fd, plan->script_fd, plan->report_fd };
	unsigned from = INIT_SOCKET_FD;

	for (;;) {
		unsigned next = INIT_LAST_FD;

		for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			(void)syscall(SYS_close_range, from, next - 1, 0);
		if (next == INIT_LAST_FD)
			return;
		from = next + 1;
	}
}

static int open_signal_fd(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK); /* SIGCHLD is blocked by init */
}

void leader_run(const struct command_plan *plan)
{
	struct leader leader = { .report_fd = plan->report_fd };
	struct leader_report failed = { .kind = LEADER_FAILED, .stage = INIT_STAGE_FORK };

	close_others(plan);
	leader.signal_fd = open_signal_fd();
	/* Linux never refuses. gVisor does before 2024; a command's daemons are init's there. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	leader.child = leader.signal_fd >= 0 ? fork() : -1;
	if (leader.child == 0) {
		/* Not by the leader: one that is killed at once would never say it. */
		report(&leader, &(struct leader_report){ .kind = LEADER_CHILD, .value = getpid() });
		command_run(plan);
	}
	if (leader.child < 0) {
		failed.value = errno;
		report(&leader, &failed);
		_exit(1);
	}
	/* The command's pipes must end when it closes them, not when we do. */
	(void)close(plan->stdin_fd);
	(void)close(plan->output_fd);
	(void)close(plan->script_fd);

	watch(&leader);
	report(&leader, &(struct leader_report){ .kind = LEADER_ENDED,
						 .value = leader.status,
						 .cpu_usec = cpu_usec() });
	_exit(0);
}
