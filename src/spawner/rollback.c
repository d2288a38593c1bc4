/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling a workspace's dataset back to its empty snapshot. */
#include "spawner/rollback.h"

#include "base/parse.h"
#include "spawner/child.h"
#include "sys/io.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define ZFS_MAGIC 0x2fc12fc1 /* no header of the system has it */

enum {
	MAX_MOUNTS = 16 << 20, /* bytes of mountinfo; a slot has about 500 */
	MAX_WORDS = 300,       /* of what the program said */
	NO_PROGRAM = 127,
};

/* ---- which dataset ---- */

static bool next_field(struct view *line, struct view *ret)
{
	return view_split(line, ' ', ret);
}

/* "36 35 0:47 / /srv/slots/3/workspace rw,nosuid shared:9 - zfs tank/berth/3 rw,xattr" */
static int read_line(struct view line, uint64_t mount_id, char ret[ROLLBACK_MAX_NAME])
{
	struct view id, field, root, type, source;
	uint64_t n;

	if (!next_field(&line, &id) || parse_u64(id, 0, UINT64_MAX, &n) < 0 || n != mount_id)
		return -ENOENT;
	for (int i = 0; i < 2; i++) /* the parent's number, the device */
		if (!next_field(&line, &field))
			return -ENOTSUP;
	if (!next_field(&line, &root))
		return -ENOTSUP;
	while (next_field(&line, &field) && !view_is(field, "-"))
		continue;
	if (!next_field(&line, &type) || !next_field(&line, &source) || !view_is(type, "zfs") ||
	    !view_is(root, "/") || view_find(source, '\\') < source.len ||
	    view_copy(source, ret, ROLLBACK_MAX_NAME) < 0)
		return -ENOTSUP;
	return 0;
}

int rollback_find_dataset(struct view mountinfo, uint64_t mount_id, char ret[ROLLBACK_MAX_NAME])
{
	struct view line;

	while (view_split(&mountinfo, '\n', &line)) {
		int r = read_line(line, mount_id, ret);

		if (r != -ENOENT)
			return r;
	}
	return -ENOTSUP;
}

/* Cheap where it is no ZFS; the mount table, which is long, is only read where it is. */
static int find_dataset(int slot_fd, char ret[ROLLBACK_MAX_NAME])
{
	auto_buf struct buf mounts = BUF_INIT(MAX_MOUNTS);
	struct statfs fs;
	struct statx stx;
	int r;

	auto_fd int fd =
		openat(slot_fd, "workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != ZFS_MAGIC)
		return -ENOTSUP;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_MNT_ID) || !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return -ENOTSUP;
	r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts);
	return r < 0 ? r : rollback_find_dataset(buf_view(&mounts), stx.stx_mnt_id, ret);
}

/* ---- the program ---- */

/* Only system calls. It must not outlive us: late, it would empty the slot of somebody else. */
static _Noreturn void child_main(pid_t parent, int null_fd, int output, char *snapshot)
{
	static const char *const paths[] = { "/usr/sbin/zfs", "/sbin/zfs", "/usr/local/sbin/zfs",
					     "/usr/bin/zfs" };
	static char *const no_env[] = { NULL };
	char *argv[] = { (char *)(uintptr_t) "zfs", (char *)(uintptr_t) "rollback", snapshot,
			 NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0 || child_place_fd(null_fd, 0) < 0 ||
	    child_place_fd(output, 1) < 0 || child_place_fd(output, 2) < 0)
		_exit(EXIT_FAILURE);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		(void)execve(paths[i], argv, no_env);
	_exit(NO_PROGRAM);
}

int rollback_start(int slot_fd, int null_fd, pid_t *ret_pid, int *ret_output, struct err *err)
{
	char dataset[ROLLBACK_MAX_NAME], snapshot[ROLLBACK_MAX_NAME + sizeof("@empty")];
	pid_t self = getpid(), pid;
	int r = find_dataset(slot_fd, dataset);

	if (r < 0)
		return err_sys(err, -r, "find the dataset of the workspace");
	(void)snprintf(snapshot, sizeof(snapshot), "%s@empty", dataset);
	auto_fd int output = memfd_create("zfs rollback", MFD_CLOEXEC);
	if (output < 0)
		return err_sys(err, errno, "make a file in memory");
	pid = fork();
	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid == 0)
		child_main(self, null_fd, output, snapshot);
	*ret_pid = pid;
	*ret_output = take_fd(output);
	return 0;
}

int rollback_result(int status, int output, struct err *err)
{
	char words[MAX_WORDS];
	struct view said; /* its first line: what follows is advice */
	ssize_t n;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM)
		return err_sys(err, ENOENT, "the program zfs");
	if (WIFSIGNALED(status))
		return err_sys(err, EINTR, "zfs rollback: signal %d", WTERMSIG(status));
	n = pread(output, words, sizeof(words), 0);
	said = view_of(words, n > 0 ? (size_t)n : 0);
	said = view_first(said, view_find(said, '\n'));
	(void)err_set(err, ERR_SYSTEM, "zfs rollback: %.*s", VIEW_ARG(said));
	err->sys_errno = EIO;
	return -1;
}
