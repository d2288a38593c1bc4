/* SPDX-License-Identifier: Apache-2.0 */
/* Project quotas. */
#include "slots/project_quota.h"

#include "base/attr.h"
#include "sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two descriptors a level; a tenant decides how deep it is. */
enum { COVER_MAX_DEPTH = 256 };

/* QCMD() of <sys/quota.h>, which does not go together with <linux/quota.h>. */
static unsigned project_command(unsigned command)
{
	return command << SUBCMDSHIFT | (PRJQUOTA & SUBCMDMASK);
}

static int control(int fd, unsigned command, uint32_t id, void *p)
{
	return syscall(SYS_quotactl_fd, fd, project_command(command), id, p) < 0 ? -errno : 0;
}

bool project_quota_is_here(int fd)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };

	return control(fd, Q_XGETQSTATV, 0, &state) == 0 && (state.qs_flags & FS_QUOTA_PDQ_ENFD);
}

static int set_project(int fd, uint32_t project, uint32_t flags)
{
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	attr.fsx_projid = project;
	attr.fsx_xflags |= flags;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attr) < 0 ? -errno : 0;
}

static bool is_covered(int fd, uint32_t project)
{
	struct fsxattr attr;

	return ioctl(fd, FS_IOC_FSGETXATTR, &attr) == 0 && attr.fsx_projid == project &&
	       (attr.fsx_xflags & FS_XFLAG_PROJINHERIT);
}

static int cover(int dir, uint32_t project, unsigned depth);

/* Only files and folders take blocks and can be set: nothing else is opened, no link followed. */
static int cover_entry(int dir, const char *name, uint32_t project, unsigned depth)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	auto_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return cover(fd, project, depth);
	return S_ISREG(st.st_mode) ? set_project(fd, project, 0) : 0;
}

static int cover_entries(int dir, uint32_t project, unsigned depth)
{
	DIR *list = io_list(dir);
	const struct dirent *e;
	int r = 0;

	if (!list)
		return -errno;
	while (r == 0 && (e = readdir(list)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = cover_entry(dir, e->d_name, project, depth);
	(void)closedir(list);
	return r;
}

/*
 * A folder comes after what is in it, so that what was cut short is not taken for done; then what
 * was made in it meanwhile follows.
 */
static int cover(int dir, uint32_t project, unsigned depth)
{
	int r;

	if (is_covered(dir, project))
		return 0;
	if (depth == COVER_MAX_DEPTH)
		return -ELOOP;
	r = cover_entries(dir, project, depth + 1);
	if (r == 0)
		r = set_project(dir, project, FS_XFLAG_PROJINHERIT);
	return r < 0 ? r : cover_entries(dir, project, depth + 1);
}

int project_quota_cover(int fd, uint32_t project)
{
	return cover(fd, project, 0);
}

int project_quota_set(int fd, uint32_t project, uint64_t bytes)
{
	struct if_dqblk limit = {
		.dqb_bhardlimit = bytes / QIF_DQBLKSIZE,
		.dqb_bsoftlimit = bytes / QIF_DQBLKSIZE,
		/* Small files fill a disk's table of inodes long before its blocks. */
		.dqb_ihardlimit = bytes / (16 * 1024) + 1024,
		.dqb_isoftlimit = bytes / (16 * 1024) + 1024,
		.dqb_valid = QIF_LIMITS,
	};

	return control(fd, Q_SETQUOTA, project, &limit);
}
