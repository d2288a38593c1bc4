/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups for the server. */
#include "slots/cgroups.h"

#include "sys/cgroup_fs.h"
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	MOUNTINFO_MAX = 4 * 1024 * 1024, /* thousands of slots have thousands of mounts */
	PATH_SIZE = 512,
	MAX_DEPTH = 8, /* of groups that the server made */
};

static const char *const controllers_v1[] = { "memory", "pids", "cpu", "freezer" };
static const char *const controllers_v2[] = { "+memory", "+pids", "+cpu", "+io" };

static const char *const kind_names[] = {
	[CGROUPS_NONE] = "none",
	[CGROUPS_V1] = "v1",
	[CGROUPS_V2] = "v2",
};
_Static_assert(ARRAY_SIZE(kind_names) == CGROUPS_NUM_KINDS, "a kind has no name");

const char *cgroups_kind_name(enum cgroups_kind kind)
{
	return kind_names[kind];
}

/* ---- where ---- */

static bool has_word(struct view list, char sep, const char *word)
{
	struct view part;

	while (view_split(&list, sep, &part))
		if (view_is(part, word))
			return true;
	return false;
}

/* The field `n` words on from the present place. */
static bool skip_to(struct view *rest, int n, struct view *ret)
{
	for (int i = 0; i <= n; i++)
		if (!view_split(rest, ' ', ret))
			return false;
	return true;
}

/* "36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw": see proc(5). */
static bool line_matches(struct view line, const char *controller, struct view *ret_path)
{
	struct view word, path;

	if (!skip_to(&line, 4, &path))
		return false;
	do
		if (!view_split(&line, ' ', &word))
			return false;
	while (!view_is(word, "-"));
	if (!view_split(&line, ' ', &word) || !view_is(word, controller ? "cgroup" : "cgroup2"))
		return false;
	if (controller && (!skip_to(&line, 1, &word) || !has_word(word, ',', controller)))
		return false;
	*ret_path = path;
	return true;
}

bool cgroups_find_mount(struct view mountinfo, const char *controller, char *ret, size_t size)
{
	struct view line, path;

	while (view_split(&mountinfo, '\n', &line))
		if (line_matches(line, controller, &path))
			return view_copy(path, ret, size) == 0;
	return false;
}

static int open_mount(struct view mountinfo, const char *controller)
{
	char path[PATH_SIZE];

	if (!cgroups_find_mount(mountinfo, controller, path, sizeof(path)))
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int read_mountinfo(struct buf *out, struct err *err)
{
	int r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", out);

	return r < 0 ? err_sys(err, -r, "read the list of mounts") : 0;
}

static void group_name(const struct slots_plan *plan, char ret[32])
{
	(void)snprintf(ret, 32, "berth-%s", plan->instance);
}

/* ---- making ---- */

/* Makes the group in the hierarchy and gives it to the server's user. */
static int make_group(const struct slots_plan *plan, int top, struct err *err)
{
	char name[32];
	int r;

	group_name(plan, name);
	if (mkdirat(top, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make the control group %s", name);
	auto_fd int group = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = group < 0 ? -errno : cgroup_fs_give(group, plan->uid, plan->gid);
	return r < 0 ? err_sys(err, -r, "give away the control group %s", name) : 0;
}

static int make_v1(const struct slots_plan *plan, struct view mountinfo, bool *ret_any,
		   struct err *err)
{
	*ret_any = false;
	for (size_t i = 0; i < ARRAY_SIZE(controllers_v1); i++) {
		auto_fd int top = open_mount(mountinfo, controllers_v1[i]);

		if (top < 0)
			continue;
		if (make_group(plan, top, err) < 0)
			return err_wrap(err, "%s", controllers_v1[i]);
		*ret_any = true;
	}
	return 0;
}

static bool has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

/* True if memory and processes can be limited below the top of the version 2 hierarchy. */
static bool enable_v2(int top)
{
	bool enabled[ARRAY_SIZE(controllers_v2)];

	for (size_t i = 0; i < ARRAY_SIZE(controllers_v2); i++)
		enabled[i] = io_put(top, "cgroup.subtree_control", controllers_v2[i]) == 0;
	return enabled[0] && enabled[1];
}

int cgroups_up(const struct slots_plan *plan, enum cgroups_kind *ret, struct err *err)
{
	auto_buf struct buf mountinfo = BUF_INIT(MOUNTINFO_MAX);
	bool any;

	*ret = CGROUPS_NONE;
	if (read_mountinfo(&mountinfo, err) < 0 ||
	    make_v1(plan, buf_view(&mountinfo), &any, err) < 0)
		return -1;
	if (any) {
		*ret = CGROUPS_V1;
		return 0;
	}
	if (has_systemd())
		return 0;

	auto_fd int top = open_mount(buf_view(&mountinfo), NULL);
	if (top < 0 || !enable_v2(top))
		return 0;
	if (make_group(plan, top, err) < 0)
		return -1;
	*ret = CGROUPS_V2;
	return 0;
}

/* ---- removing ---- */

/* Groups are removed from the leaves up; their files go with them. */
static void remove_below(int dirfd, int depth)
{
	DIR *list = io_list(dirfd);

	for (struct dirent *e; list && (e = readdir(list));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		auto_fd int below =
			openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (below >= 0 && depth < MAX_DEPTH)
			remove_below(below, depth + 1);
		(void)unlinkat(dirfd, e->d_name, AT_REMOVEDIR);
	}
	if (list)
		(void)closedir(list);
}

static int remove_group(const struct slots_plan *plan, int top, struct err *err)
{
	char name[32];

	group_name(plan, name);
	auto_fd int group = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (group < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "open the control group %s", name);
	remove_below(group, 0);
	if (unlinkat(top, name, AT_REMOVEDIR) < 0)
		return err_sys(err, errno, "remove the control group %s", name);
	return 0;
}

int cgroups_down(struct slots_plan *plan, struct err *err)
{
	auto_buf struct buf mountinfo = BUF_INIT(MOUNTINFO_MAX);

	if (read_mountinfo(&mountinfo, err) < 0)
		return -1;
	for (size_t i = 0; i <= ARRAY_SIZE(controllers_v1); i++) {
		const char *controller = i < ARRAY_SIZE(controllers_v1) ? controllers_v1[i] : NULL;
		auto_fd int top = open_mount(buf_view(&mountinfo), controller);

		if (top >= 0 && remove_group(plan, top, err) < 0)
			return -1;
	}
	return 0;
}
