/* SPDX-License-Identifier: Apache-2.0 */
/* Project quotas. */
#include "slots/project_quota.h"

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	if (attr.fsx_projid != project || !(attr.fsx_xflags & FS_XFLAG_PROJINHERIT)) {
		attr.fsx_projid = project;
		attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
		if (ioctl(fd, FS_IOC_FSSETXATTR, &attr) < 0)
			return -errno;
	}
	return control(fd, Q_SETQUOTA, project, &limit);
}
