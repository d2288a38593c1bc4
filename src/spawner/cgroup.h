/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource limits by control groups, version 2 (delegated by systemd) or version 1 and hybrid
 * (folders that setup made and gave to the server's user). Each container has one group, "box-N"
 * for slot N, and each keeper one, "keeper-N": what it does, it does for its tenant. One, not a
 * leaf for init and one for commands: moving a process between groups takes a system-wide lock for
 * milliseconds. PID 1 is kept from being the kernel's victim by the commands' oom_score_adj
 * instead.
 */
#ifndef BERTH_SPAWNER_CGROUP_H
#define BERTH_SPAWNER_CGROUP_H

#include "base/buf.h"
#include "base/err.h"
#include "spawner/launch.h"
#include "wire/spawner.h"

/* Of a keeper with its children, each of which is bounded on its own (keeper/confine.c). What is
 * over that is lost to its own tenant: the kernel ends the child that takes most. */
enum { CGROUP_KEEPER_MEMORY = 512 << 20 };

struct cgroups;
struct cgroup_box; /* the group of a container or a keeper */

/*
 * Finds out what the host offers; it never fails but for memory: SPAWNER_LIMITER_RLIMITS is an
 * answer. `path` is a delegated folder of version 2, "" for this process's own group; `name` is the
 * folder below each controller of version 1. Leftovers of an earlier spawner are removed.
 */
int cgroups_new(const char *path, const char *name, struct cgroups **ret,
		struct err *err) MUST_CHECK;
void cgroups_free(struct cgroups *groups);
DEFINE_CLEANUP(cgroups)

enum spawner_limiter cgroups_limiter(const struct cgroups *groups);
/* SPAWNER_LIMITS_…. */
uint32_t cgroups_limited(const struct cgroups *groups);

/*
 * *ret is NULL where there are no groups. `groups` outlives it. A limit of 0 is none. `disks` has a
 * line for each that the limits of reading and writing are for; one that the kernel does not limit
 * is logged.
 */
int cgroup_box_new(struct cgroups *groups, uint32_t slot, const struct spawner_limits *limits,
		   struct view disks, struct cgroup_box **ret, struct err *err) MUST_CHECK;
/* A keeper's: CGROUP_KEEPER_MEMORY, and the same share of the CPUs as a container. As above. */
int cgroup_keeper_new(struct cgroups *groups, uint32_t slot, struct cgroup_box **ret,
		      struct err *err) MUST_CHECK;
/* Fills in the plan's descriptors, which stay the box's; NULL is fine. */
void cgroup_box_enter(const struct cgroup_box *box, struct launch_plan *plan);
/* The start is over: gives back descriptors that were only for it. NULL is fine. */
void cgroup_box_entered(struct cgroup_box *box);
/* Kills what is in it, where the kernel can do that. */
void cgroup_box_kill(const struct cgroup_box *box);
/* Removes the groups. -EBUSY: something in it has not quite ended, try again. NULL is fine. */
int cgroup_box_remove(struct cgroup_box *box) MUST_CHECK;
/* Frees the handle, whether or not the groups are gone. */
void cgroup_box_free(struct cgroup_box *box);

/* Opens the counters' files, in that order; -1 for those that the host does not have. Returns a bit
 * (1 << enum spawner_counter) for each that is there. NULL has none. */
uint32_t cgroup_box_open_counters(const struct cgroup_box *box, int ret[SPAWNER_NUM_COUNTERS]);
/* UINT64_MAX where unknown; NULL gives all unknown. */
void cgroup_box_usage(const struct cgroup_box *box, struct spawner_usage *ret);

#endif
