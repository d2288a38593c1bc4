/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a process in a slot's namespaces. A short-lived intermediate joins the ready-made ones
 * and makes the rest in one clone3; CLONE_PARENT makes the result a child of the spawner.
 *
 * Between clone3 and exec the child may only make system calls: everything it needs is prepared.
 */
#ifndef BERTH_SPAWNER_LAUNCH_H
#define BERTH_SPAWNER_LAUNCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAUNCH_MAX_CGROUPS = 4 };

/* What went wrong in the child or the intermediate; the names are in launch.c. */
enum launch_stage {
	LAUNCH_CGROUP,
	LAUNCH_NAMESPACES,
	LAUNCH_CLONE,
	LAUNCH_IDENTITY,
	LAUNCH_LAYER,
	LAUNCH_OVERLAY,
	LAUNCH_MOUNT_PROC,
	LAUNCH_MOUNT_SYS,
	LAUNCH_MOUNT_DEV,
	LAUNCH_MOUNT_TMP,
	LAUNCH_WORKSPACE,
	LAUNCH_ROOT,
	LAUNCH_SYSCTL,
	LAUNCH_MASK,
	LAUNCH_NETWORK,
	LAUNCH_LIMITS,
	LAUNCH_PRIVILEGES,
	LAUNCH_BUNDLE,
	LAUNCH_EXEC,
	LAUNCH_NUM_STAGES,
};

struct launch_plan {
	int user_fd;        /* the slot's user namespace, or -1: a new one, mapped by newuidmap */
	int net_fd;         /* the slot's network namespace, or -1: a new one */
	int slot_fd;        /* the slot's folder, which becomes the child's working directory */
	uint32_t first_uid; /* for newuidmap */
	/* cgroup v2: directory to be born in, or -1. cgroup v1: `tasks` files to be moved into. */
	int cgroup_fd;
	int tasks_fds[LAUNCH_MAX_CGROUPS];
	size_t n_tasks_fds;
	int report_fd; /* set by launch(): the child's end of the report pipe, close-on-exec */
	/* Runs in the child, as the namespace's root, and does not return. */
	void (*child)(const struct launch_plan *plan, void *userdata);
	void *userdata;
};

/*
 * Starts it. *ret_report_fd is non-blocking: at its end the child has exec'd; before that it can
 * hold a failure, see launch_read_report().
 */
int launch(struct launch_plan *plan, pid_t *ret_pid, int *ret_report_fd,
	   struct err *err) MUST_CHECK;

enum launch_progress { LAUNCH_PENDING, LAUNCH_RUNNING, LAUNCH_FAILED };
/* err says why for FAILED. */
enum launch_progress launch_read_report(int report_fd, struct err *err);

/* For the child: says what failed (`error` is an errno, either sign) and ends. */
_Noreturn void launch_fail(const struct launch_plan *plan, enum launch_stage stage, int error);
/* launch_fail() if `r` is negative. */
void launch_check(const struct launch_plan *plan, enum launch_stage stage, int r);

/* Whether newuidmap and newgidmap are there to be the fallback. */
bool launch_has_newuidmap(void);

#endif
