/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of version 1: a folder for each controller, made by setup and owned by the
 * server's user.
 */
#include "spawner/cgroup_internal.h"

#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define CGROUP1_ROOT "/sys/fs/cgroup"
/* Of all sockets, whatever its name says. */
#define SOCKET_MEMORY "memory.kmem.tcp.limit_in_bytes"

enum { SOCKET_MEMORY_PART = 4 }; /* a quarter of the memory limit, on top of it */

static const char *const controller[CGROUP_NUM_DIRS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_CPUACCT] = "cpuacct",
};
static const uint32_t gives[CGROUP_NUM_DIRS] = {
	[CGROUP_MEMORY] = SPAWNER_LIMITS_MEMORY,
	[CGROUP_PIDS] = SPAWNER_LIMITS_PIDS,
	[CGROUP_CPU] = SPAWNER_LIMITS_CPU,
};

bool cgroup1_open(struct cgroups *groups, const char *name)
{
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++) {
		char path[256];
		int fd;

		(void)snprintf(path, sizeof(path), "%s/%s/%s", CGROUP1_ROOT, controller[i], name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
			(void)close(fd);
			fd = -1;
		}
		groups->dirs[i] = fd;
		if (fd >= 0)
			groups->limited |= gives[i];
	}
	groups->limiter = SPAWNER_LIMITER_CGROUP1;
	return groups->limited != 0;
}

static int limit_memory(int dir, uint64_t bytes)
{
	int r = cgroup_write_number(dir, "memory.limit_in_bytes", bytes);

	/* Memory and swap together: none of it may be swap. Not every kernel counts swap. */
	if (r == 0 && faccessat(dir, "memory.memsw.limit_in_bytes", W_OK, AT_EACCESS) == 0)
		r = cgroup_write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	/* What sockets hold is counted apart, and only once there is a limit. */
	if (r == 0 && faccessat(dir, SOCKET_MEMORY, W_OK, AT_EACCESS) == 0)
		r = cgroup_write_number(dir, SOCKET_MEMORY, bytes / SOCKET_MEMORY_PART);
	return r;
}

static int limit_cpu(int dir, uint32_t permille)
{
	int r = cgroup_write_number(dir, "cpu.cfs_period_us", CGROUP_CPU_PERIOD_USEC);

	return r < 0 ? r
		     : cgroup_write_number(dir, "cpu.cfs_quota_us",
					   (uint64_t)permille * CGROUP_CPU_PERIOD_USEC / 1000);
}

int cgroup1_limit(struct cgroup_box *box, const struct spawner_limits *limits, struct err *err)
{
	int r = 0;

	if (limits->memory_bytes && box->dirs[CGROUP_MEMORY] >= 0)
		r = limit_memory(box->dirs[CGROUP_MEMORY], limits->memory_bytes);
	if (r == 0 && limits->pids && box->dirs[CGROUP_PIDS] >= 0)
		r = cgroup_write_number(box->dirs[CGROUP_PIDS], "pids.max", limits->pids);
	if (r == 0 && limits->cpu_permille && box->dirs[CGROUP_CPU] >= 0)
		r = limit_cpu(box->dirs[CGROUP_CPU], limits->cpu_permille);
	if (r < 0)
		return err_sys(err, -r, "set the limits of control group %s", box->name);
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++) {
		if (box->dirs[i] < 0)
			continue;
		box->tasks[i] = openat(box->dirs[i], "tasks", O_WRONLY | O_CLOEXEC);
		if (box->tasks[i] < 0)
			return err_sys(err, errno, "open the tasks of control group %s", box->name);
	}
	return 0;
}

static uint64_t to_usec(uint64_t nsec)
{
	return nsec == UINT64_MAX ? nsec : nsec / 1000;
}

void cgroup1_usage(const struct cgroup_box *box, struct spawner_usage *ret)
{
	int memory = box->dirs[CGROUP_MEMORY], pids = box->dirs[CGROUP_PIDS];

	if (memory >= 0) {
		ret->memory_bytes = cgroup_read_number(memory, "memory.usage_in_bytes");
		ret->memory_peak_bytes = cgroup_read_number(memory, "memory.max_usage_in_bytes");
		ret->oom_kills = cgroup_read_key(memory, "memory.oom_control", "oom_kill");
	}
	if (pids >= 0) {
		ret->pids = cgroup_read_number(pids, "pids.current");
		ret->pids_refused = cgroup_read_key(pids, "pids.events", "max");
	}
	if (box->dirs[CGROUP_CPU] >= 0)
		ret->throttled_usec = to_usec(
			cgroup_read_key(box->dirs[CGROUP_CPU], "cpu.stat", "throttled_time"));
	if (box->dirs[CGROUP_CPUACCT] >= 0)
		ret->cpu_usec =
			to_usec(cgroup_read_number(box->dirs[CGROUP_CPUACCT], "cpuacct.usage"));
}
