/* SPDX-License-Identifier: Apache-2.0 */
/* The two versions of control groups behind cgroup.h. */
#ifndef BERTH_SPAWNER_CGROUP_INTERNAL_H
#define BERTH_SPAWNER_CGROUP_INTERNAL_H

#include "spawner/cgroup.h"

#include <stdbool.h>

/* Version 1 has a folder for each of these; version 2 has one folder, in place 0. */
enum { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CPUACCT, CGROUP_NUM_DIRS };
_Static_assert((int)CGROUP_NUM_DIRS <= (int)LAUNCH_MAX_CGROUPS, "a plan has room for all");

enum { CGROUP_CPU_PERIOD_USEC = 100000 };

struct cgroups {
	enum spawner_limiter limiter;
	uint32_t limited;
	int dirs[CGROUP_NUM_DIRS]; /* the folders in which groups are made, or -1 */
};

struct cgroup_box {
	const struct cgroups *groups; /* borrowed */
	char name[24];
	int dirs[CGROUP_NUM_DIRS];
	int tasks[CGROUP_NUM_DIRS]; /* version 1: open `tasks` files */
};

/* True if the version is usable here; fills in *groups then. */
bool cgroup1_open(struct cgroups *groups, const char *name);
bool cgroup2_open(struct cgroups *groups, const char *path);

int cgroup1_limit(struct cgroup_box *box, const struct spawner_limits *limits,
		  struct err *err) MUST_CHECK;
int cgroup2_limit(struct cgroup_box *box, const struct spawner_limits *limits,
		  struct err *err) MUST_CHECK;
/* For each line of `disks`; a disk that cannot be limited is logged. */
void cgroup2_limit_disks(const struct cgroup_box *box, const struct spawner_limits *limits,
			 struct view disks);
/* What io.max is told about one disk, such as "8:0". Exported for its tests. As buf_addf(). */
int cgroup2_print_disk(struct view disk, const struct spawner_limits *limits,
		       struct buf *out) MUST_CHECK;
void cgroup1_usage(const struct cgroup_box *box, struct spawner_usage *ret);
void cgroup2_usage(const struct cgroup_box *box, struct spawner_usage *ret);

/* One number in a file, or the number of `key` in it; UINT64_MAX if it is not there. */
uint64_t cgroup_read_number(int dir, const char *file);
uint64_t cgroup_read_key(int dir, const char *file, const char *key);
int cgroup_write_number(int dir, const char *file, uint64_t value) MUST_CHECK;

#endif
