/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the spawner has started: a container, a keeper, or a rollback (RUNNING from the start).
 *
 *   STARTING ── exec'd ──▶ RUNNING ── killed or died ──▶ REMOVING ── no group left ──▶ gone
 *       └────────────────── failed or killed ──────────────▲
 *
 * The kernel ends everything in a container with its PID 1, before the spawner can reap that.
 * Signals go by pid: a child that was not yet reaped keeps its number.
 */
#ifndef BERTH_SPAWNER_TASK_H
#define BERTH_SPAWNER_TASK_H

#include "base/list.h"
#include "spawner/cgroup.h"
#include "spawner/container.h"
#include "spawner/oci.h"
#include "sys/clock.h"

#include <stdbool.h>

enum task_kind { TASK_CONTAINER, TASK_KEEPER, TASK_ROLLBACK };
enum task_state { TASK_STARTING, TASK_RUNNING, TASK_REMOVING };

struct task {
	struct list in_tasks;
	uint64_t id;
	enum task_kind kind;
	enum task_state state;
	uint32_t slot;
	pid_t pid;
	int report_fd;            /* STARTING */
	int said_fd;              /* what an OCI runtime writes, or -1 */
	int peer_fd;              /* berthd's end of the socket, until it is handed over */
	int output_fd;            /* of a rollback: what its program said */
	struct cgroup_box *group; /* of a container or keeper; may be NULL */
	bool is_stopped;          /* the spawner killed it */
	bool has_failed;          /* it never ran; `err` says why */
	struct err err;
	int status; /* REMOVING: the wait status */
	usec removing_since;
};

/* What all starts need; everything is borrowed. */
struct task_host {
	const char *runtime_dir, *state_dir;
	uint32_t uid_base;
	int init_fd, keeper_fd, null_fd; /* at least CONTAINER_MIN_FD; keeper_fd may be -1 */
	struct cgroups *groups;
	const struct filter *filter;
	const struct oci_runtime *runtime; /* NULL: the native engine */
	char init_path[OCI_MAX_PATH];
	bool has_newuidmap;
};

/* "user" or "net" of the slot, kept by berth-slots; -1 if there is none (any more). */
int task_open_namespace(const struct task_host *host, uint32_t slot, const char *kind) MUST_CHECK;

/* Starts it; the new task is STARTING and in no list. */
int task_start(const struct task_host *host, const struct spawner_request *request,
	       struct task **ret, struct err *err) MUST_CHECK;
/* What a request asks to start. */
enum task_kind task_kind_of(const struct spawner_request *request);
/* Only when it is gone. */
void task_free(struct task *task);

void task_kill(struct task *task);
/* Reads the report pipe. True when the task left STARTING for RUNNING. */
bool task_read_report(struct task *task);
/* Its process was reaped. */
void task_on_exit(struct task *task, int status, usec now);
/* REMOVING: true when nothing is left of it (or what is left is given up, which is logged). */
bool task_remove(struct task *task, usec now);
/* Why a container or keeper ended, into `out`. */
void task_why(const struct task *task, char *out, size_t size);

#endif
