/* SPDX-License-Identifier: Apache-2.0 */
/* Small file and socket helpers. */
#include "sys/io.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int io_write_all(int fd, const void *p, size_t len)
{
	const char *at = p;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t io_read_all(int fd, void *p, size_t len)
{
	char *at = p;
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, at + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int io_read_file(int dirfd, const char *path, struct buf *out)
{
	auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	for (;;) {
		char chunk[8192];
		ssize_t n = io_read_all(fd, chunk, sizeof(chunk));
		int r;

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		r = buf_add(out, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

static int write_synced(int fd, struct view content, mode_t mode)
{
	int r = io_write_all(fd, content.p, content.len);

	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

/* The folder of `path`, so that a rename in it survives a power cut. */
static int sync_folder(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096] = ".";

	if (slash && view_copy(view_of(path, slash == path ? 1 : (size_t)(slash - path)), folder,
			       sizeof(folder)) < 0)
		return -ENAMETOOLONG;
	auto_fd int fd = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

int io_write_file(int dirfd, const char *path, struct view content, mode_t mode)
{
	char tmp[4096];
	uint32_t tag;
	int n, r;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -EIO;
	n = snprintf(tmp, sizeof(tmp), "%s.%08x.tmp", path, tag);
	if (n < 0 || (size_t)n >= sizeof(tmp))
		return -ENAMETOOLONG;

	auto_fd int fd =
		openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_synced(fd, content, mode);
	if (r == 0 && renameat(dirfd, tmp, dirfd, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dirfd, tmp, 0);
		return r;
	}
	return sync_folder(dirfd, path);
}

DIR *io_list(int dirfd)
{
	/* Its own description: the list moves its offset. */
	auto_fd int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (list)
		(void)take_fd(fd);
	return list;
}

int io_open_namespace(int dirfd, const char *path)
{
	struct statfs fs;
	auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == NSFS_MAGIC ? take_fd(fd) : -1;
}

void io_remove_unfinished(int dirfd, const char *name)
{
	size_t len = strlen(name), all = len + sizeof(".01234567.tmp") - 1;
	DIR *list = io_list(dirfd);

	if (!list)
		return;
	for (struct dirent *e; (e = readdir(list));) {
		const char *n = e->d_name;

		if (strlen(n) == all && strncmp(n, name, len) == 0 && n[len] == '.' &&
		    strcmp(n + all - 4, ".tmp") == 0)
			(void)unlinkat(dirfd, n, 0);
	}
	(void)closedir(list);
}

int io_put(int dirfd, const char *path, const char *value)
{
	auto_fd int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(value) ? 0 : -EIO;
}

int io_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int io_memory_file(const char *name, struct view content)
{
	auto_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, content.p, content.len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return take_fd(fd);
}

int io_seqpacket_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int io_send_fds(int sock, const void *p, size_t len, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * IO_MAX_FDS)];
	} control = { 0 };
	struct iovec io = { .iov_base = (void *)(uintptr_t)p, .iov_len = len };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	ssize_t n;

	assert(n_fds <= IO_MAX_FDS);
	if (n_fds) {
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Moves the descriptors of one control message into `fds`; closes what does not fit. */
static bool take_fds(const struct cmsghdr *c, int *fds, size_t room, size_t *n)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool fits = true;

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (*n < room) {
			fds[(*n)++] = fd;
		} else {
			(void)close(fd);
			fits = false;
		}
	}
	return fits;
}

ssize_t io_recv_fds(int sock, void *p, size_t size, int *fds, size_t *n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * IO_MAX_FDS)];
	} control;
	struct iovec io = { .iov_base = p, .iov_len = size };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	size_t got = 0;
	bool fits;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	fits = !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    !take_fds(c, fds, *n_fds, &got))
			fits = false;
	if (!fits) {
		for (size_t i = 0; i < got; i++)
			(void)close(fds[i]);
		return -EMSGSIZE;
	}
	*n_fds = got;
	return n;
}
