/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of version 2: one folder, delegated to the server's user by systemd.
 */
#include "spawner/cgroup_internal.h"

#include "base/log.h"
#include "base/parse.h"
#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define CGROUP2_ROOT "/sys/fs/cgroup"
/* Where the spawner itself, and who shares its group, moves: limits can be handed down only from a
 * group without processes of its own. */
#define SERVER_LEAF "server"

/* Against 100 of each sandbox: however many compute, what serves them does not wait for them. */
#define SERVER_WEIGHT "10000"

enum { MAX_FILE = 64 * 1024, MAX_DISK_LINE = 256 };

/* "0::/path" of this process, as a path below the mount. */
static bool own_group(char *out, size_t size)
{
	auto_buf struct buf text = BUF_INIT(MAX_FILE);
	struct view rest, line;

	if (io_read_file(AT_FDCWD, "/proc/self/cgroup", &text) < 0)
		return false;
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line)) {
		if (!view_starts(line, VIEW("0::/")))
			continue;
		line = view_from(line, strlen("0::"));
		/* After a restart we find ourselves where the last one put us. */
		if (view_ends(line, VIEW("/" SERVER_LEAF)))
			line = view_first(line, line.len - strlen("/" SERVER_LEAF));
		return snprintf(out, size, "%s%.*s", CGROUP2_ROOT, VIEW_ARG(line)) < (int)size;
	}
	return false;
}

static bool is_cgroup2(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

static void move_all(int root, int leaf)
{
	auto_buf struct buf text = BUF_INIT(MAX_FILE);
	struct view rest, line;

	if (io_read_file(root, "cgroup.procs", &text) < 0)
		return;
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line)) {
		char pid[16];

		if (view_copy(line, pid, sizeof(pid)) == 0 && *pid)
			(void)!io_put(leaf, "cgroup.procs", pid); /* it may have ended */
	}
}

/* False if that cannot be done: the folder is not ours, then. */
static bool step_aside(int root)
{
	if (mkdirat(root, SERVER_LEAF, S_IRWXU) < 0 && errno != EEXIST)
		return false;
	auto_fd int leaf = openat(root, SERVER_LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0)
		return false;
	move_all(root, leaf);
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
	auto_fd int leaf = openat(root, SERVER_LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

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
	if (root < 0 || !is_cgroup2(root) || faccessat(root, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return false;
	if (!step_aside(root))
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

	if (limited & SPAWNER_LIMITS_MEMORY) {
		r = cgroup_write_number(dir, "memory.max", limits->memory_bytes);
		/* Absent where the kernel does not count swap. */
		if (r == 0 && faccessat(dir, "memory.swap.max", W_OK, AT_EACCESS) == 0)
			r = cgroup_write_number(dir, "memory.swap.max", 0);
	}
	if (r == 0 && (limited & SPAWNER_LIMITS_PIDS))
		r = cgroup_write_number(dir, "pids.max", limits->pids);
	if (r == 0 && (limited & SPAWNER_LIMITS_CPU))
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
