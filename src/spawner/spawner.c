/* SPDX-License-Identifier: Apache-2.0 */
/* The spawner's loop: a connection, its tasks, their ends. */
#include "spawner/spawner.h"

#include "base/log.h"
#include "spawner/rollback.h"
#include "spawner/setup.h"
#include "spawner/task.h"
#include "sys/io.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	RETRY_MS = 5,                      /* while a control group stays busy */
	MAX_TASKS = 2 * SPAWNER_MAX_SLOTS, /* a keeper, and a container or a rollback */
};

struct spawner {
	struct task_host host;
	struct spawner_facts facts;
	const char *engine;
	struct list tasks;
	size_t n_tasks;
	int listen_fd, conn_fd, signal_fd;
	bool is_ending;
	bool is_removing;     /* a task has ended, its control group not quite */
	struct pollfd *polls; /* 3 + MAX_TASKS */
};

static void drop_connection(struct spawner *s)
{
	struct list *it, *tmp;

	if (s->conn_fd < 0)
		return;
	(void)close(s->conn_fd);
	s->conn_fd = -1;
	list_each(it, tmp, &s->tasks) task_kill(container_of(it, struct task, in_tasks));
}

static void send_event(struct spawner *s, const struct spawner_event *event, const int *fds,
		       size_t n_fds)
{
	int r;

	if (s->conn_fd < 0)
		return;
	r = io_send_fds(s->conn_fd, event, sizeof(*event), fds, n_fds);
	if (r < 0) {
		log_warning("berthd does not listen (%s): ending everything", strerror(-r));
		drop_connection(s);
	}
}

static void send_failed(struct spawner *s, enum spawner_event_type type, uint64_t id,
			const struct err *err)
{
	struct spawner_event event;

	spawner_event_init(&event, type, id);
	event.error = (uint32_t)(err->sys_errno ? err->sys_errno : EIO);
	spawner_event_text(&event, err->msg);
	send_event(s, &event, NULL, 0);
}

static void announce(struct spawner *s, struct task *task)
{
	int fds[SPAWNER_MAX_EVENT_FDS] = { task->peer_fd }, counters[SPAWNER_NUM_COUNTERS];
	struct spawner_event event;
	size_t n = 1;

	spawner_event_init(&event, SPAWNER_STARTED, task->id);
	event.counters = cgroup_box_open_counters(task->kind == TASK_CONTAINER ? task->group : NULL,
						  counters);
	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++)
		if (counters[i] >= 0)
			fds[n++] = counters[i];
	send_event(s, &event, fds, n);
	while (n > 0)
		(void)close(fds[--n]);
	task->peer_fd = -1;
}

static void send_rolled_back(struct spawner *s, const struct task *task)
{
	struct spawner_event event;
	struct err err;

	if (rollback_result(task->status, task->output_fd, &err) < 0) {
		send_failed(s, SPAWNER_ROLLED_BACK, task->id, &err);
		return;
	}
	log_info("slot %" PRIu32 ": its workspace was rolled back to empty", task->slot);
	spawner_event_init(&event, SPAWNER_ROLLED_BACK, task->id);
	send_event(s, &event, NULL, 0);
}

static void finish(struct spawner *s, struct task *task)
{
	struct spawner_event event;
	char why[SPAWNER_MAX_TEXT];

	list_remove(&task->in_tasks);
	s->n_tasks--;
	if (task->kind == TASK_ROLLBACK) {
		send_rolled_back(s, task);
	} else if (task->has_failed) {
		log_warning("slot %" PRIu32 ": %s", task->slot, task->err.msg);
		send_failed(s, SPAWNER_STARTED, task->id, &task->err);
	} else {
		task_why(task, why, sizeof(why));
		spawner_event_init(&event, SPAWNER_ENDED, task->id);
		spawner_event_text(&event, why);
		send_event(s, &event, NULL, 0);
	}
	task_free(task);
}

static struct task *find_task(struct spawner *s, uint64_t id)
{
	struct list *it, *tmp;

	list_each(it, tmp, &s->tasks)
	{
		struct task *task = container_of(it, struct task, in_tasks);

		if (task->id == id)
			return task;
	}
	return NULL;
}

/* One of a kind a slot, and no container where the files are being rolled back. */
static bool excludes(enum task_kind a, enum task_kind b)
{
	return a == b || (a == TASK_CONTAINER && b == TASK_ROLLBACK) ||
	       (a == TASK_ROLLBACK && b == TASK_CONTAINER);
}

static bool slot_is_taken(struct spawner *s, const struct spawner_request *request)
{
	struct list *it, *tmp;

	list_each(it, tmp, &s->tasks)
	{
		const struct task *task = container_of(it, struct task, in_tasks);

		if (task->slot == request->slot && excludes(task->kind, task_kind_of(request)))
			return true;
	}
	return false;
}

static void start(struct spawner *s, const struct spawner_request *request)
{
	bool is_rollback = request->type == SPAWNER_ROLL_BACK;
	struct task *task;
	struct err err;
	int r;

	if (slot_is_taken(s, request))
		r = err_sys(&err, EBUSY, "slot %" PRIu32, request->slot);
	else
		r = task_start(&s->host, request, &task, &err);
	if (r < 0) {
		/* berthd tells a rollback's: on most hosts there are none. */
		if (!is_rollback)
			log_warning("slot %" PRIu32 ": %s", request->slot, err.msg);
		send_failed(s, is_rollback ? SPAWNER_ROLLED_BACK : SPAWNER_STARTED, request->id,
			    &err);
		return;
	}
	list_add_tail(&s->tasks, &task->in_tasks);
	s->n_tasks++;
	assert(s->n_tasks <= MAX_TASKS);
}

static void send_usage(struct spawner *s, const struct spawner_request *request)
{
	const struct task *task = find_task(s, request->id);
	struct spawner_event event;

	spawner_event_init(&event, SPAWNER_COUNTERS, request->id);
	event.tag = request->tag;
	if (task && task->kind == TASK_CONTAINER)
		cgroup_box_usage(task->group, &event.usage);
	else
		event.error = ESRCH;
	send_event(s, &event, NULL, 0);
}

static void serve(struct spawner *s)
{
	struct spawner_request request;
	char message[sizeof(request) + 1];
	size_t n_fds = 0;
	ssize_t n = io_recv_fds(s->conn_fd, message, sizeof(message), NULL, &n_fds);
	struct task *task;

	if (n == -EAGAIN)
		return;
	if (n == 0 || n == -ECONNRESET) {
		log_info("berthd is gone");
		drop_connection(s);
		return;
	}
	if (n < 0 || spawner_request_decode(message, (size_t)n, &request) < 0) {
		log_warning("berthd broke the protocol: ending everything");
		drop_connection(s);
		return;
	}
	switch ((enum spawner_request_type)request.type) {
	case SPAWNER_START:
	case SPAWNER_KEEPER:
	case SPAWNER_ROLL_BACK:
		if (find_task(s, request.id))
			drop_connection(s); /* an id in use: we do not understand each other */
		else
			start(s, &request);
		return;
	case SPAWNER_STOP:
		task = find_task(s, request.id);
		if (task)
			task_kill(task);
		return;
	case SPAWNER_USAGE:
		send_usage(s, &request);
		return;
	}
}

static void accept_connection(struct spawner *s)
{
	/* Sending blocks at most this long; berthd that does not read for so long is stuck. */
	const struct timeval patience = { .tv_sec = 10 };
	struct spawner_event hello;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	auto_fd int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid()) {
		log_warning("refused a connection of another user");
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	s->conn_fd = take_fd(fd);
	spawner_event_init(&hello, SPAWNER_HELLO, 0);
	setup_read_facts(&s->host, &s->facts);
	hello.facts = s->facts;
	spawner_event_text(&hello, s->engine);
	send_event(s, &hello, NULL, 0);
}

static void reap(struct spawner *s)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			s->is_ending = true;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct list *it, *tmp;

		list_each(it, tmp, &s->tasks)
		{
			struct task *task = container_of(it, struct task, in_tasks);

			if (task->pid != pid)
				continue;
			if (task_read_report(task))
				announce(s, task);
			task_on_exit(task, status, clock_monotonic(&clock_system));
		}
	}
}

/* Ends tasks of which nothing is left; true if one has to be looked at again soon. */
static bool finish_tasks(struct spawner *s)
{
	usec now = clock_monotonic(&clock_system);
	struct list *it, *tmp;
	bool is_pending = false;

	list_each(it, tmp, &s->tasks)
	{
		struct task *task = container_of(it, struct task, in_tasks);

		if (task->state != TASK_REMOVING)
			continue;
		if (task_remove(task, now))
			finish(s, task);
		else
			is_pending = true;
	}
	return is_pending;
}

static size_t fill_polls(struct spawner *s)
{
	struct list *it, *tmp;
	size_t n = 0;
	/* Slots of the last connection must be free before the next one is told anything. */
	bool may_accept = s->conn_fd < 0 && list_is_empty(&s->tasks);

	s->polls[n++] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	s->polls[n++] = (struct pollfd){ .fd = s->conn_fd, .events = POLLIN };
	s->polls[n++] = (struct pollfd){ .fd = may_accept ? s->listen_fd : -1, .events = POLLIN };
	list_each(it, tmp, &s->tasks)
	{
		const struct task *task = container_of(it, struct task, in_tasks);

		if (task->report_fd >= 0)
			s->polls[n++] = (struct pollfd){ .fd = task->report_fd, .events = POLLIN };
	}
	return n;
}

static void read_reports(struct spawner *s)
{
	struct list *it, *tmp;

	list_each(it, tmp, &s->tasks)
	{
		struct task *task = container_of(it, struct task, in_tasks);

		if (task->report_fd >= 0 && task_read_report(task))
			announce(s, task);
	}
}

static void turn(struct spawner *s)
{
	size_t n = fill_polls(s);

	if (poll(s->polls, n, s->is_removing ? RETRY_MS : -1) < 0)
		return;
	if (s->polls[0].revents)
		reap(s);
	read_reports(s);
	if (s->polls[1].revents && s->conn_fd >= 0)
		serve(s);
	if (s->polls[2].revents)
		accept_connection(s);
	s->is_removing = finish_tasks(s);
}

static int open_signals(int *ret, struct err *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, errno, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(err, errno, "signalfd");
	*ret = fd;
	return 0;
}

static int run(struct spawner *s, struct err *err)
{
	s->polls = calloc(3 + MAX_TASKS, sizeof(*s->polls));
	if (!s->polls)
		return err_set(err, ERR_SYSTEM, "out of memory");
	if (open_signals(&s->signal_fd, err) < 0)
		return -1;
	log_info("ready: engine %s", s->engine);
	while (!s->is_ending)
		turn(s);
	drop_connection(s);
	while (!list_is_empty(&s->tasks))
		turn(s);
	return 0;
}

int spawner_run(const struct spawner_config *config, struct err *err)
{
	struct spawner s = {
		.engine = config->engine, .listen_fd = -1, .conn_fd = -1, .signal_fd = -1
	};
	static struct filter filter;
	int r;

	list_init(&s.tasks);
	s.host = (struct task_host){ .init_fd = -1,
				     .keeper_fd = -1,
				     .null_fd = -1,
				     .filter = &filter,
				     .runtime_dir = config->runtime_dir,
				     .state_dir = config->state_dir,
				     .uid_base = config->uid_base };
	r = filter_build(&filter, err);
	if (r == 0)
		r = setup_host(&s.host, config, &s.listen_fd, err);
	if (r == 0) {
		setup_read_facts(&s.host, &s.facts);
		r = setup_give_up(config, &s.facts, err);
	}
	if (r == 0) {
		r = run(&s, err);
		setup_stop_listening(config);
	}
	free(s.polls);
	cgroups_free(s.host.groups);
	return r;
}
