/* SPDX-License-Identifier: Apache-2.0 */
/* What the spawner has started: a container or a keeper. */
#include "spawner/task.h"

#include "base/log.h"
#include "spawner/rollback.h"
#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	SLOT_IDS = 65536,
	MAX_RESOLV = 4096,
	MAX_DISKS = 4096,
	MAX_SAID = 4096,                /* bytes of a runtime's output that are looked at */
	GIVE_UP_USEC = 2 * 1000 * 1000, /* on a control group that stays busy */
};

static const char hosts[] = "127.0.0.1\tlocalhost\n"
			    "127.0.1.1\tsandbox\n"
			    "::1\tlocalhost ip6-localhost ip6-loopback\n";

int task_open_namespace(const struct task_host *host, uint32_t slot, const char *kind)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/slots/%" PRIu32 ".%s", host->runtime_dir, slot,
			 kind);

	return n > 0 && n < (int)sizeof(path) ? io_open_namespace(AT_FDCWD, path) : -1;
}

static int open_slot(const struct task_host *host, uint32_t slot, int *ret, struct err *err)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/slots/%" PRIu32, host->state_dir, slot);
	int fd = n > 0 && n < (int)sizeof(path)
			 ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			 : -1;

	if (fd < 0)
		return err_sys(err, errno, "open the folder of slot %" PRIu32, slot);
	*ret = fd;
	return 0;
}

enum task_kind task_kind_of(const struct spawner_request *request)
{
	if (request->type == SPAWNER_ROLL_BACK)
		return TASK_ROLLBACK;
	return request->type == SPAWNER_KEEPER ? TASK_KEEPER : TASK_CONTAINER;
}

static struct task *task_new(const struct spawner_request *request)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	list_init(&task->in_tasks);
	task->id = request->id;
	task->kind = task_kind_of(request);
	task->slot = request->slot;
	task->report_fd = task->said_fd = task->peer_fd = task->output_fd = -1;
	return task;
}

void task_free(struct task *task)
{
	if (!task)
		return;
	if (task->report_fd >= 0)
		(void)close(task->report_fd);
	if (task->said_fd >= 0)
		(void)close(task->said_fd);
	if (task->peer_fd >= 0)
		(void)close(task->peer_fd);
	if (task->output_fd >= 0)
		(void)close(task->output_fd);
	cgroup_box_free(task->group);
	free(task);
}

/* What berth-slots wrote for sandboxes, else the host's own. */
static void read_resolv(const struct task_host *host, struct buf *out)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/resolv.conf", host->runtime_dir) < (int)sizeof(path) &&
	    io_read_file(AT_FDCWD, path, out) == 0)
		return;
	buf_truncate(out, 0);
	if (io_read_file(AT_FDCWD, "/etc/resolv.conf", out) < 0)
		buf_truncate(out, 0);
}

/* Which disks the slots are on, by berth-slots; nothing where they cannot be limited. */
static void read_disks(const struct task_host *host, struct buf *out)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/slots/disks", host->runtime_dir);

	if (n < 0 || n >= (int)sizeof(path) || io_read_file(AT_FDCWD, path, out) < 0)
		buf_truncate(out, 0);
}

/* Rather no container than one in which setuid programs silently do not work. */
static int check_privs(const struct spawner_request *request, struct err *err)
{
	if ((request->flags & SPAWNER_NO_NEW_PRIVS) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return 0;
	return err_set(err, ERR_INVALID,
		       "sandbox.no_new_privs = no needs a spawner that has not given up setuid "
		       "programs: restart the server (with service units: berth setup "
		       "--systemd, which writes it into them)");
}

static int launch_native(struct container_plan *plan, struct launch_plan *launch_plan,
			 struct task *task, struct err *err)
{
	launch_plan->child = container_child;
	launch_plan->userdata = plan;
	return launch(launch_plan, &task->pid, &task->report_fd, err);
}

static int launch_oci(const struct task_host *host, struct container_plan *plan,
		      struct launch_plan *launch_plan, struct task *task, struct err *err)
{
	auto_buf struct buf config = BUF_INIT(OCI_MAX_CONFIG);
	struct oci_plan oci = { .container = plan,
				.runtime = host->runtime,
				.init_path = host->init_path };
	int said[2], r;

	if (pipe2(said, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	task->said_fd = said[0];
	auto_fd int said_write = said[1];
	r = io_set_nonblocking(said[0]);
	if (r == 0)
		r = oci_config(plan, &config);
	if (r == 0)
		r = oci_send_filter(plan, task->peer_fd);
	if (r < 0)
		return err_sys(err, -r, "prepare the runtime's bundle");
	oci.said_fd = said_write;
	oci.config = buf_view(&config);
	launch_plan->child = oci_child;
	launch_plan->userdata = &oci;
	return launch(launch_plan, &task->pid, &task->report_fd, err);
}

static int start_container(const struct task_host *host, const struct spawner_request *request,
			   struct launch_plan *launch_plan, int socket_fd, struct task *task,
			   struct err *err)
{
	static const char *const layer_dirs[2] = { "upper", "work" };
	auto_buf struct buf resolv = BUF_INIT(MAX_RESOLV), disks = BUF_INIT(MAX_DISKS);
	struct container_plan plan = {
		.init_fd = host->init_fd,
		.socket_fd = socket_fd,
		.null_fd = host->null_fd,
		.is_fresh = request->flags & SPAWNER_FRESH_LAYER,
		.hosts = view_str(hosts),
		.confine = { .filter = host->filter,
			     .no_new_privs = request->flags & SPAWNER_NO_NEW_PRIVS },
	};
	usec stamp = clock_wall(&clock_system); /* no earlier life of the slot has this name */
	struct spawner_limits limits = request->limits;

	for (size_t i = 0; i < ARRAY_SIZE(layer_dirs); i++)
		(void)snprintf(plan.aside[i], sizeof(plan.aside[i]), "trash/%" PRIx64 ".%s", stamp,
			       layer_dirs[i]);
	(void)snprintf(plan.shm_size, sizeof(plan.shm_size), "%" PRIu64, request->limits.shm_bytes);
	(void)snprintf(plan.tmp_size, sizeof(plan.tmp_size), "%" PRIu64, request->limits.tmp_bytes);
	read_resolv(host, &resolv);
	plan.resolv = buf_view(&resolv);
	read_disks(host, &disks);
	if (check_privs(request, err) < 0)
		return -1;
	if (host->runtime)
		limits.pids += oci_own_pids(host->runtime);
	confine_plan_rlimits(&plan.confine, limits.pids);
	if (cgroup_box_new(host->groups, request->slot, &limits, buf_view(&disks), &task->group,
			   err) < 0)
		return -1;
	cgroup_box_enter(task->group, launch_plan);
	if ((host->runtime ? launch_oci(host, &plan, launch_plan, task, err)
			   : launch_native(&plan, launch_plan, task, err)) < 0)
		return -1;
	cgroup_box_entered(task->group);
	return 0;
}

static int start_keeper(const struct task_host *host, struct launch_plan *launch_plan,
			int socket_fd, struct task *task, struct err *err)
{
	struct keeper_plan plan = { .program_fd = host->keeper_fd,
				    .socket_fd = socket_fd,
				    .null_fd = host->null_fd };

	if (host->keeper_fd < 0)
		return err_set(err, ERR_SYSTEM, "berth-keeper is not installed");
	if (cgroup_keeper_new(host->groups, task->slot, &task->group, err) < 0)
		return -1;
	cgroup_box_enter(task->group, launch_plan);
	launch_plan->child = keeper_child;
	launch_plan->userdata = &plan;
	if (launch(launch_plan, &task->pid, &task->report_fd, err) < 0)
		return -1;
	cgroup_box_entered(task->group);
	return 0;
}

static int start_rollback(const struct task_host *host, struct task *task, struct err *err)
{
	int fd;

	if (open_slot(host, task->slot, &fd, err) < 0)
		return -1;
	auto_fd int slot_fd = fd;
	task->state = TASK_RUNNING;
	return rollback_start(slot_fd, host->null_fd, &task->pid, &task->output_fd, err);
}

static int start_in_slot(const struct task_host *host, const struct spawner_request *request,
			 struct task *task, struct err *err)
{
	bool has_network = request->flags & SPAWNER_NETWORK;
	int pair[2], slot, r;

	if (open_slot(host, request->slot, &slot, err) < 0)
		return -1;
	auto_fd int slot_fd = slot;
	auto_fd int user_fd = task_open_namespace(host, request->slot, "user");
	auto_fd int net_fd = has_network ? task_open_namespace(host, request->slot, "net") : -1;
	if (user_fd < 0 && !host->has_newuidmap)
		return err_set(err, ERR_NOT_FOUND,
			       "slot %" PRIu32 " has no user namespace; run berth-slots",
			       request->slot);
	if (user_fd >= 0 && has_network && net_fd < 0)
		return err_set(err, ERR_NOT_FOUND,
			       "slot %" PRIu32 " has no network; run berth-slots", request->slot);
	r = io_seqpacket_pair(pair);
	if (r < 0)
		return err_sys(err, -r, "socketpair");
	task->peer_fd = pair[0];
	auto_fd int child_end = pair[1];
	struct launch_plan plan = { .user_fd = user_fd,
				    .net_fd = user_fd >= 0 ? net_fd : -1,
				    .slot_fd = slot_fd,
				    .first_uid = host->uid_base + request->slot * SLOT_IDS,
				    .report_fd = -1 };

	return task->kind == TASK_KEEPER
		       ? start_keeper(host, &plan, child_end, task, err)
		       : start_container(host, request, &plan, child_end, task, err);
}

int task_start(const struct task_host *host, const struct spawner_request *request,
	       struct task **ret, struct err *err)
{
	struct task *task = task_new(request);
	int r;

	if (!task)
		return err_set(err, ERR_SYSTEM, "out of memory");
	r = task->kind == TASK_ROLLBACK ? start_rollback(host, task, err)
					: start_in_slot(host, request, task, err);
	if (r < 0) {
		if (task->group && cgroup_box_remove(task->group) < 0)
			log_warning("control group of slot %" PRIu32 " stays", task->slot);
		task_free(task);
		return -1;
	}
	*ret = task;
	return 0;
}

void task_kill(struct task *task)
{
	if (task->state == TASK_REMOVING)
		return;
	task->is_stopped = true;
	cgroup_box_kill(task->group);
	(void)kill(task->pid, SIGKILL);
}

bool task_read_report(struct task *task)
{
	enum launch_progress progress;

	if (task->state != TASK_STARTING || task->has_failed)
		return false;
	progress = launch_read_report(task->report_fd, &task->err);
	if (progress == LAUNCH_PENDING)
		return false;
	(void)close(task->report_fd);
	task->report_fd = -1;
	if (progress == LAUNCH_FAILED) {
		task->has_failed = true; /* it is ending by itself */
		return false;
	}
	task->state = TASK_RUNNING;
	return true;
}

void task_on_exit(struct task *task, int status, usec now)
{
	/* A runtime tells in this way that a signal ended its container. */
	if (task->said_fd >= 0 && WIFEXITED(status) && WEXITSTATUS(status) > 128)
		status = WEXITSTATUS(status) - 128;
	task->state = TASK_REMOVING;
	task->status = status;
	task->removing_since = now;
}

bool task_remove(struct task *task, usec now)
{
	if (!task->group || cgroup_box_remove(task->group) == 0)
		return true;
	if (now - task->removing_since < GIVE_UP_USEC)
		return false;
	log_warning("control group of slot %" PRIu32 " stays busy; its next %s reuses it",
		    task->slot, task->kind == TASK_KEEPER ? "keeper" : "container");
	return true;
}

/* The last line that a runtime wrote; false if there is none. */
static bool read_said(const struct task *task, char *out, size_t size)
{
	char text[MAX_SAID];
	ssize_t n = task->said_fd >= 0 ? read(task->said_fd, text, sizeof(text)) : 0;
	struct view rest = view_of(text, n > 0 ? (size_t)n : 0), line, last = VIEW("");

	while (view_split(&rest, '\n', &line))
		if (line.len)
			last = line;
	(void)snprintf(out, size, "the OCI runtime: %.*s", (int)last.len, last.p);
	return last.len > 0;
}

void task_why(const struct task *task, char *out, size_t size)
{
	const char *what = task->kind == TASK_KEEPER ? "the keeper" : "PID 1";
	struct spawner_usage usage;

	if (task->is_stopped) {
		(void)snprintf(out, size, "stopped");
		return;
	}
	cgroup_box_usage(task->group, &usage);
	if (WIFSIGNALED(task->status) && WTERMSIG(task->status) == SIGKILL && usage.oom_kills &&
	    usage.oom_kills != UINT64_MAX)
		(void)snprintf(out, size, "the kernel ended it: out of memory");
	else if (WIFSIGNALED(task->status))
		(void)snprintf(out, size, "%s was killed by signal %d", what,
			       WTERMSIG(task->status));
	else if (!read_said(task, out, size))
		(void)snprintf(out, size, "%s exited with status %d", what,
			       WEXITSTATUS(task->status));
}
