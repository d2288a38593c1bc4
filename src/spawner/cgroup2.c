/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of version 2: one folder, delegated to the server's user by systemd.
 */
#include "spawner/cgroup_internal.h"

#include "base/log.h"
#include "base/parse.h"
#include "sys/cgroup_fs.h"
#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

/* Against 100 of each sandbox and of each keeper: however many compute, what serves them does not
 * wait for them. */
#define SERVER_WEIGHT "10000"

enum { MAX_DISK_LINE = 256 };

/* Our own group; after a restart we find ourselves where the last one put us. */
static bool own_group(char *out, size_t size)
{
	size_t len;

	if (!cgroup_fs_own(out, size))
		return false;
	len = strlen(out);
	if (view_ends(view_str(out), VIEW("/" CGROUP_FS_SERVER)))
		out[len - strlen("/" CGROUP_FS_SERVER)] = '\0';
	return true;
}

static uint32_t hand_down(int root)
{
	static const struct {
		const char *what;
		uint32_t gives;
	} wanted[] = {
		{ "+memory", SPAWNER_LIMITS_MEMORY },
		{ "+pids", SPAWNER_LIMITS_PIDS },
		{ "+cpu", SPAWNER_LIMITS_CPU },
		{ "+io", SPAWNER_LIMITS_IO },
	};
	uint32_t limited = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (io_put(root, "cgroup.subtree_control", wanted[i].what) == 0)
			limited |= wanted[i].gives;
	/* Not every kernel with the controller throttles; and who has written what the page cache
	 * writes out later, it knows by whose memory it is. */
	if (!(limited & SPAWNER_LIMITS_MEMORY) || faccessat(root, "io.max", F_OK, 0) < 0)
		limited &= ~(uint32_t)SPAWNER_LIMITS_IO;
	return limited;
}

static void prefer_server(int root)
{
	auto_fd int leaf = openat(root, CGROUP_FS_SERVER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (leaf < 0 || io_put(leaf, "cpu.weight", SERVER_WEIGHT) < 0)
		log_warning("the server's own processes get no more CPU than a sandbox");
}

bool cgroup2_open(struct cgroups *groups, const char *path)
{
	bool is_given = *path;
	char own[4096];

	if (!is_given) {
		if (!own_group(own, sizeof(own)))
			return false;
		path = own;
	}
	auto_fd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Root could make groups anywhere; it must be delegated all the same. */
	if (root < 0 || !cgroup_fs_is_v2(root) ||
	    faccessat(root, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return false;
	if (!cgroup_fs_step_aside(root))
		return false;
	groups->limited = hand_down(root);
	if (groups->limited & SPAWNER_LIMITS_CPU)
		prefer_server(root);
	if (!groups->limited && !is_given)
		return false; /* perhaps version 1 has the controllers */
	groups->limiter = SPAWNER_LIMITER_CGROUP2;
	groups->dirs[0] = take_fd(root);
	return true;
}

static int limit_cpu(int dir, uint32_t permille)
{
	char value[48];

	(void)snprintf(value, sizeof(value), "%" PRIu64 " %d",
		       (uint64_t)permille * CGROUP_CPU_PERIOD_USEC / 1000, CGROUP_CPU_PERIOD_USEC);
	return io_put(dir, "cpu.max", value);
}

int cgroup2_limit(struct cgroup_box *box, const struct spawner_limits *limits, struct err *err)
{
	uint32_t limited = box->groups->limited;
	int dir = box->dirs[0], r = 0;

	if (limits->memory_bytes && (limited & SPAWNER_LIMITS_MEMORY)) {
		r = cgroup_write_number(dir, "memory.max", limits->memory_bytes);
		/* Absent where the kernel does not count swap. */
		if (r == 0 && faccessat(dir, "memory.swap.max", W_OK, AT_EACCESS) == 0)
			r = cgroup_write_number(dir, "memory.swap.max", 0);
	}
	if (r == 0 && limits->pids && (limited & SPAWNER_LIMITS_PIDS))
		r = cgroup_write_number(dir, "pids.max", limits->pids);
	if (r == 0 && limits->cpu_permille && (limited & SPAWNER_LIMITS_CPU))
		r = limit_cpu(dir, limits->cpu_permille);
	return r < 0 ? err_sys(err, -r, "set the limits of control group %s", box->name) : 0;
}

static int print_limit(struct buf *out, const char *name, uint64_t value)
{
	return value ? buf_addf(out, " %s=%" PRIu64, name, value) : buf_addf(out, " %s=max", name);
}

int cgroup2_print_disk(struct view disk, const struct spawner_limits *limits, struct buf *out)
{
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "rbps", limits->disk_bytes },
		{ "wbps", limits->disk_bytes },
		{ "riops", limits->disk_operations },
		{ "wiops", limits->disk_operations },
	};
	int r = buf_add_view(out, disk);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all); i++)
		r = print_limit(out, all[i].name, all[i].value);
	return r;
}

void cgroup2_limit_disks(const struct cgroup_box *box, const struct spawner_limits *limits,
			 struct view disks)
{
	struct view disk;

	if (!limits->disk_bytes && !limits->disk_operations)
		return;
	while (view_split(&disks, '\n', &disk)) {
		auto_buf struct buf text = BUF_INIT(MAX_DISK_LINE);
		int r = cgroup2_print_disk(disk, limits, &text);

		if (r == 0)
			r = io_put(box->dirs[0], "io.max", buf_str(&text));
		/* Rather a container without this limit than none. */
		if (r < 0)
			log_warning("%s: disk %.*s is not limited: %s", box->name, VIEW_ARG(disk),
				    strerror(-r));
	}
}

void cgroup2_usage(const struct cgroup_box *box, struct spawner_usage *ret)
{
	int dir = box->dirs[0];

	ret->memory_bytes = cgroup_read_number(dir, "memory.current");
	ret->memory_peak_bytes = cgroup_read_number(dir, "memory.peak");
	ret->oom_kills = cgroup_read_key(dir, "memory.events", "oom_kill");
	ret->pids = cgroup_read_number(dir, "pids.current");
	ret->pids_refused = cgroup_read_key(dir, "pids.events", "max");
	ret->cpu_usec = cgroup_read_key(dir, "cpu.stat", "usage_usec");
	ret->throttled_usec = cgroup_read_key(dir, "cpu.stat", "throttled_usec");
}
