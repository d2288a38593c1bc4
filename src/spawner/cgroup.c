/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits by control groups: what both versions share. */
#include "spawner/cgroup_internal.h"

#include "base/log.h"
#include "base/parse.h"
#include "sys/counter.h"
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MAX_FILE = 16 * 1024, MAX_STALE_TASKS = 64 * 1024 };

static const char *const prefixes[] = { "box-", "keeper-" };
enum prefix { BOX, KEEPER };

uint64_t cgroup_read_number(int dir, const char *file)
{
	auto_buf struct buf text = BUF_INIT(MAX_FILE);
	struct view v;
	uint64_t value;

	if (io_read_file(dir, file, &text) < 0)
		return UINT64_MAX;
	v = buf_view(&text);
	if (v.len && v.p[v.len - 1] == '\n')
		v.len--;
	return parse_u64(v, 0, UINT64_MAX, &value) < 0 ? UINT64_MAX : value;
}

uint64_t cgroup_read_key(int dir, const char *file, const char *key)
{
	auto_fd int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	return counter_read(fd, key);
}

int cgroup_write_number(int dir, const char *file, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return io_put(dir, file, text);
}

/* Kills what a folder still holds: only the leftovers of a spawner that died while starting one. */
static void kill_tasks(int dir)
{
	auto_buf struct buf text = BUF_INIT(MAX_STALE_TASKS);
	struct view rest, line;

	if (io_put(dir, "cgroup.kill", "1") == 0 || io_read_file(dir, "cgroup.procs", &text) < 0)
		return;
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line)) {
		uint32_t pid;

		if (parse_u32(line, 2, INT32_MAX, &pid) == 0)
			(void)kill((pid_t)pid, SIGKILL);
	}
}

static bool is_ours(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (view_starts(view_str(name), view_str(prefixes[i])))
			return true;
	return false;
}

/* What an earlier spawner left behind. A group that will not go is reused when its slot is. */
static void sweep(int dir)
{
	struct dirent *entry;
	DIR *list = io_list(dir);

	if (!list)
		return;
	while ((entry = readdir(list))) {
		if (!is_ours(entry->d_name))
			continue;
		auto_fd int box = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (box >= 0)
			kill_tasks(box);
		(void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(list);
}

int cgroups_new(const char *path, const char *name, struct cgroups **ret, struct err *err)
{
	auto_of(cgroups) struct cgroups *groups = calloc(1, sizeof(*groups));

	if (!groups)
		return err_set(err, ERR_SYSTEM, "out of memory");
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
		groups->dirs[i] = -1;
	if (!cgroup2_open(groups, path) && !cgroup1_open(groups, name))
		groups->limiter = SPAWNER_LIMITER_RLIMITS;
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
		if (groups->dirs[i] >= 0)
			sweep(groups->dirs[i]);
	*ret = take_ptr(groups);
	return 0;
}

void cgroups_free(struct cgroups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
		if (groups->dirs[i] >= 0)
			(void)close(groups->dirs[i]);
	free(groups);
}

enum spawner_limiter cgroups_limiter(const struct cgroups *groups)
{
	return groups->limiter;
}

uint32_t cgroups_limited(const struct cgroups *groups)
{
	return groups->limited;
}

/* Makes the group's folder below `parent`; an old one of the same name that would not go is fine.
 */
static int make_dir(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, S_IRWXU) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct cgroup_box *box_alloc(const struct cgroups *groups, enum prefix prefix, uint32_t slot)
{
	struct cgroup_box *box = calloc(1, sizeof(*box));

	if (!box)
		return NULL;
	box->groups = groups;
	(void)snprintf(box->name, sizeof(box->name), "%s%" PRIu32, prefixes[prefix], slot);
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
		box->dirs[i] = box->tasks[i] = -1;
	return box;
}

static int make(const struct cgroups *groups, enum prefix prefix, uint32_t slot,
		const struct spawner_limits *limits, struct cgroup_box **ret, struct err *err)
{
	struct cgroup_box *box;
	int r = 0;

	*ret = NULL;
	if (groups->limiter == SPAWNER_LIMITER_RLIMITS)
		return 0;
	box = box_alloc(groups, prefix, slot);
	if (!box)
		return err_set(err, ERR_SYSTEM, "out of memory");
	for (size_t i = 0; r == 0 && i < CGROUP_NUM_DIRS; i++) {
		if (groups->dirs[i] < 0)
			continue;
		box->dirs[i] = make_dir(groups->dirs[i], box->name);
		if (box->dirs[i] < 0)
			r = err_sys(err, -box->dirs[i], "make control group %s", box->name);
	}
	if (r == 0)
		r = groups->limiter == SPAWNER_LIMITER_CGROUP2 ? cgroup2_limit(box, limits, err)
							       : cgroup1_limit(box, limits, err);
	if (r < 0) {
		(void)!cgroup_box_remove(box);
		cgroup_box_free(box);
		return r;
	}
	*ret = box;
	return 0;
}

int cgroup_box_new(struct cgroups *groups, uint32_t slot, const struct spawner_limits *limits,
		   struct view disks, struct cgroup_box **ret, struct err *err)
{
	int r = make(groups, BOX, slot, limits, ret, err);

	if (r == 0 && *ret && (groups->limited & SPAWNER_LIMITS_IO))
		cgroup2_limit_disks(*ret, limits, disks);
	return r;
}

int cgroup_keeper_new(struct cgroups *groups, uint32_t slot, struct cgroup_box **ret,
		      struct err *err)
{
	const struct spawner_limits limits = { .memory_bytes = CGROUP_KEEPER_MEMORY };

	return make(groups, KEEPER, slot, &limits, ret, err);
}

void cgroup_box_enter(const struct cgroup_box *box, struct launch_plan *plan)
{
	plan->cgroup_fd = -1;
	plan->n_tasks_fds = 0;
	if (!box)
		return;
	if (box->groups->limiter == SPAWNER_LIMITER_CGROUP2)
		plan->cgroup_fd = box->dirs[0];
	else
		for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
			if (box->tasks[i] >= 0)
				plan->tasks_fds[plan->n_tasks_fds++] = box->tasks[i];
}

void cgroup_box_entered(struct cgroup_box *box)
{
	for (size_t i = 0; box && i < CGROUP_NUM_DIRS; i++) {
		if (box->tasks[i] >= 0)
			(void)close(box->tasks[i]);
		box->tasks[i] = -1;
	}
}

void cgroup_box_kill(const struct cgroup_box *box)
{
	if (box && box->groups->limiter == SPAWNER_LIMITER_CGROUP2)
		(void)!io_put(box->dirs[0], "cgroup.kill", "1");
}

int cgroup_box_remove(struct cgroup_box *box)
{
	int result = 0;

	for (size_t i = 0; box && i < CGROUP_NUM_DIRS; i++)
		if (box->groups->dirs[i] >= 0 &&
		    unlinkat(box->groups->dirs[i], box->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			result = -errno;
	return result;
}

void cgroup_box_free(struct cgroup_box *box)
{
	if (!box)
		return;
	cgroup_box_entered(box);
	for (size_t i = 0; i < CGROUP_NUM_DIRS; i++)
		if (box->dirs[i] >= 0)
			(void)close(box->dirs[i]);
	free(box);
}

uint32_t cgroup_box_open_counters(const struct cgroup_box *box, int ret[SPAWNER_NUM_COUNTERS])
{
	static const char *const names1[SPAWNER_NUM_COUNTERS] = { "memory.oom_control",
								  "pids.events" };
	static const char *const names2[SPAWNER_NUM_COUNTERS] = { "memory.events", "pids.events" };
	static const int dirs1[SPAWNER_NUM_COUNTERS] = { CGROUP_MEMORY, CGROUP_PIDS };
	bool is_2 = box && box->groups->limiter == SPAWNER_LIMITER_CGROUP2;
	uint32_t mask = 0;

	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++) {
		int dir = !box ? -1 : is_2 ? box->dirs[0] : box->dirs[dirs1[i]];

		ret[i] = dir < 0 ? -1
				 : openat(dir, is_2 ? names2[i] : names1[i], O_RDONLY | O_CLOEXEC);
		if (ret[i] >= 0)
			mask |= 1U << i;
	}
	return mask;
}

void cgroup_box_usage(const struct cgroup_box *box, struct spawner_usage *ret)
{
	memset(ret, 0xff, sizeof(*ret));
	if (!box)
		return;
	if (box->groups->limiter == SPAWNER_LIMITER_CGROUP2)
		cgroup2_usage(box, ret);
	else
		cgroup1_usage(box, ret);
}
