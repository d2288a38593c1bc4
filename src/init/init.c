/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1: reaps everything, starts commands, tells berthd how they ended. */
#include "init/init.h"

#include "init/leader.h"
#include "init/tree.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum {
	LEADER_PATIENCE_MS = 2000, /* for a leader that is told to kill, and may be stopped */
	PATIENCE_TICK_MS = 100,
	KILL_PASSES = 64,
};

/* A running command. Free when `leader` is 0. */
struct cmd {
	uint32_t id;
	pid_t leader, child; /* child: 0 until the leader told */
	int sock;            /* to the leader; -1 when it is gone */
	bool is_ours;        /* the leader was killed: init sees the command's end itself */
	bool is_unstartable;
	uint64_t kill_at_ms;     /* when the leader is no longer waited for; 0: not killing */
	struct init_event event; /* how it ended, as far as known */
};

struct init {
	int signal_fd;
	struct cmd cmds[INIT_MAX_CMDS];
};

static void send_event(struct init_event *event)
{
	event->version = INIT_VERSION;
	/* If berthd is gone, the next receive says so. */
	(void)send(INIT_SOCKET_FD, event, sizeof(*event), MSG_NOSIGNAL);
}

static void send_not_started(uint32_t id, enum init_stage stage, int error)
{
	send_event(&(struct init_event){
		.type = INIT_NOT_STARTED, .cmd = id, .stage = stage, .status = (uint32_t)error });
}

static void finish(struct cmd *cmd)
{
	cmd->event.cmd = cmd->id;
	send_event(&cmd->event);
	if (cmd->sock >= 0)
		(void)close(cmd->sock);
	*cmd = (struct cmd){ .sock = -1 };
}

static void set_exited(struct cmd *cmd, int status, uint64_t cpu_usec)
{
	if (cmd->is_unstartable)
		return; /* the event already says why */
	cmd->event = (struct init_event){ .type = INIT_EXITED,
					  .status = (uint32_t)status,
					  .cpu_usec = cpu_usec };
}

/* Reads what a leader has to say; false when there is nothing more for now. */
static bool read_leader(struct cmd *cmd)
{
	struct leader_report report;
	ssize_t n = recv(cmd->sock, &report, sizeof(report), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != sizeof(report)) {
		/* Dying; whose child the command is, is settled when it can be reaped. */
		(void)close(cmd->sock);
		cmd->sock = -1;
		return false;
	}
	switch (report.kind) {
	case LEADER_CHILD:
		cmd->child = report.value;
		return true;
	case LEADER_FAILED:
		cmd->is_unstartable = true;
		cmd->event = (struct init_event){ .type = INIT_NOT_STARTED,
						  .stage = report.stage,
						  .status = (uint32_t)report.value };
		return true;
	case LEADER_ENDED:
		set_exited(cmd, report.value, report.cpu_usec);
		finish(cmd);
		return false;
	}
	return false;
}

static void read_leaders(struct init *init)
{
	for (size_t i = 0; i < INIT_MAX_CMDS; i++)
		while (init->cmds[i].sock >= 0 && read_leader(&init->cmds[i]))
			continue;
}

/*
 * A leader was reaped. If it went without telling how its command ended, it was killed: the command
 * is our child now, or was ended together with it.
 */
static void on_leader_exit(struct cmd *cmd)
{
	siginfo_t info;

	while (cmd->sock >= 0 && read_leader(cmd))
		continue;
	if (!cmd->leader)
		return; /* it told */
	cmd->is_ours = true;
	if (cmd->child && waitid(P_PID, (id_t)cmd->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		return;
	set_exited(cmd, SIGKILL, 0);
	finish(cmd);
}

static void on_exit_of(struct init *init, pid_t pid, int status)
{
	for (size_t i = 0; i < INIT_MAX_CMDS; i++) {
		struct cmd *cmd = &init->cmds[i];

		if (cmd->leader == pid) {
			on_leader_exit(cmd);
		} else if (cmd->is_ours && cmd->child == pid) {
			set_exited(cmd, status, 0);
			finish(cmd);
		}
	}
}

static void reap(struct init *init)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(init->signal_fd, &info, sizeof(info)) == sizeof(info))
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		on_exit_of(init, pid, status);
}

static struct cmd *find_cmd(struct init *init, uint32_t id)
{
	for (size_t i = 0; i < INIT_MAX_CMDS; i++)
		if (init->cmds[i].leader && init->cmds[i].id == id)
			return &init->cmds[i];
	return NULL;
}

static struct cmd *free_cmd(struct init *init)
{
	for (size_t i = 0; i < INIT_MAX_CMDS; i++)
		if (!init->cmds[i].leader)
			return &init->cmds[i];
	return NULL;
}

static void start(struct init *init, const struct init_request *request, const int *fds)
{
	bool has_stdin = request->head.flags & INIT_HAS_STDIN;
	bool has_script = request->head.flags & INIT_HAS_SCRIPT;
	struct command_plan plan = { .request = request,
				     .output_fd = fds[0],
				     .stdin_fd = has_stdin ? fds[1] : -1,
				     .script_fd = has_script ? fds[1 + has_stdin] : -1 };
	struct cmd *cmd = free_cmd(init);
	int pair[2];
	pid_t leader;

	if (!cmd || find_cmd(init, request->head.cmd)) {
		send_not_started(request->head.cmd, INIT_STAGE_FORK, EAGAIN);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		send_not_started(request->head.cmd, INIT_STAGE_FORK, errno);
		return;
	}
	plan.report_fd = pair[1];
	leader = fork();
	if (leader == 0)
		leader_run(&plan);
	(void)close(pair[1]);
	if (leader < 0) {
		send_not_started(request->head.cmd, INIT_STAGE_FORK, errno);
		(void)close(pair[0]);
		return;
	}
	*cmd = (struct cmd){ .id = request->head.cmd, .leader = leader, .sock = pair[0] };
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pass_signal(struct init *init, uint32_t id, int sig)
{
	struct cmd *cmd = find_cmd(init, id);

	if (!cmd)
		return; /* it has just ended */
	if (cmd->sock >= 0)
		(void)send(cmd->sock, &sig, sizeof(sig), MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (cmd->child)
		(void)tree_signal(cmd->child, TREE_WITH_ROOT, sig);
	if (sig == SIGKILL && !cmd->kill_at_ms)
		cmd->kill_at_ms = now_ms() + LEADER_PATIENCE_MS;
}

/*
 * A tenant can stop a leader, which then does nothing about a kill: so init does. With the leader
 * gone the command is reaped as ours.
 */
static void kill_in_place_of_leader(struct cmd *cmd)
{
	pid_t root = cmd->is_ours ? cmd->child : cmd->leader;

	for (int i = 0; i < KILL_PASSES; i++)
		if (tree_signal(root, TREE_BELOW_ROOT, SIGKILL) == 0)
			break;
	if (root)
		(void)kill(root, SIGKILL);
}

/* True if there is something to look at again. */
static bool enforce_kills(struct init *init)
{
	bool is_pending = false;

	for (size_t i = 0; i < INIT_MAX_CMDS; i++) {
		struct cmd *cmd = &init->cmds[i];

		if (!cmd->leader || !cmd->kill_at_ms)
			continue;
		is_pending = true;
		if (now_ms() >= cmd->kill_at_ms) {
			kill_in_place_of_leader(cmd);
			cmd->kill_at_ms = now_ms() + LEADER_PATIENCE_MS;
		}
	}
	return is_pending;
}

/* One message with its descriptors; false at the end of the connection or of our trust in it. */
static bool receive(void *message, size_t size, size_t *ret_len, int *fds, size_t *ret_n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * INIT_MAX_FDS)];
	} control;
	struct iovec io = { .iov_base = message, .iov_len = size };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c;
	ssize_t n = recvmsg(INIT_SOCKET_FD, &msg, MSG_CMSG_CLOEXEC);

	if (n <= 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return false;
	*ret_len = (size_t)n;
	*ret_n_fds = 0;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*ret_n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *ret_n_fds * sizeof(int));
	}
	return true;
}

static bool serve(struct init *init)
{
	static char message[INIT_MAX_REQUEST];
	static struct init_request request;
	int fds[INIT_MAX_FDS];
	size_t len, n_fds;

	if (!receive(message, sizeof(message), &len, fds, &n_fds) ||
	    init_request_decode(message, len, n_fds, &request) < 0)
		return false;
	if (request.head.type == INIT_SIGNAL)
		pass_signal(init, request.head.cmd, (int)request.head.sig);
	else
		start(init, &request, fds);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]);
	return true;
}

static bool turn(struct init *init)
{
	struct pollfd fds[2 + INIT_MAX_CMDS] = {
		{ .fd = INIT_SOCKET_FD, .events = POLLIN },
		{ .fd = init->signal_fd, .events = POLLIN },
	};

	for (size_t i = 0; i < INIT_MAX_CMDS; i++)
		fds[2 + i] = (struct pollfd){ .fd = init->cmds[i].sock, .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), enforce_kills(init) ? PATIENCE_TICK_MS : -1) < 0)
		return errno == EINTR;
	read_leaders(init);
	if (fds[1].revents)
		reap(init);
	return !fds[0].revents || serve(init);
}

int init_run(void)
{
	static struct init init;
	sigset_t set;

	/* Before anything of the tenant runs: our memory and descriptors are not its business. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 1;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	init.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0 || init.signal_fd < 0)
		return 1;
	for (size_t i = 0; i < INIT_MAX_CMDS; i++)
		init.cmds[i].sock = -1;

	send_event(&(struct init_event){ .type = INIT_READY });
	while (turn(&init))
		continue;
	return 0;
}
