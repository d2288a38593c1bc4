/* SPDX-License-Identifier: Apache-2.0 */
/* Files of control groups. */
#include "sys/cgroup_fs.h"

#include "sys/io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { MAX_FILE = 64 * 1024 };

bool cgroup_fs_own(char *out, size_t size)
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
		return snprintf(out, size, "%s%.*s", CGROUP_FS_ROOT, VIEW_ARG(line)) < (int)size;
	}
	return false;
}

bool cgroup_fs_is_v2(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int cgroup_fs_give(int dirfd, uid_t uid, gid_t gid)
{
	static const char *const files[] = { "cgroup.procs", "tasks", "cgroup.threads",
					     "cgroup.subtree_control" };

	if (fchown(dirfd, uid, gid) < 0)
		return -errno;
	/* Which of them there are depends on the version. */
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fchownat(dirfd, files[i], uid, gid, 0) < 0 && errno != ENOENT)
			return -errno;
	return 0;
}

static void move_all(int from, int to)
{
	auto_buf struct buf text = BUF_INIT(MAX_FILE);
	struct view rest, line;

	if (io_read_file(from, "cgroup.procs", &text) < 0)
		return;
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line)) {
		char pid[16];

		if (view_copy(line, pid, sizeof(pid)) == 0 && *pid)
			(void)!io_put(to, "cgroup.procs", pid); /* it may have ended */
	}
}

bool cgroup_fs_step_aside(int group)
{
	if (mkdirat(group, CGROUP_FS_SERVER, S_IRWXU) < 0 && errno != EEXIST)
		return false;
	auto_fd int leaf = openat(group, CGROUP_FS_SERVER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0)
		return false;
	move_all(group, leaf);
	return true;
}
