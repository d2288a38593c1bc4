/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small file and socket helpers. All return 0 or a count, or -errno; every fd is close-on-exec.
 */
#ifndef BERTH_SYS_IO_H
#define BERTH_SYS_IO_H

#include "base/buf.h"

#include <dirent.h>
#include <sys/types.h>

/* Writes all of it, going on after short writes and EINTR. For files and blocking fds. */
int io_write_all(int fd, const void *p, size_t len) MUST_CHECK;
/* Reads until `len` or end of file; returns how much. */
ssize_t io_read_all(int fd, void *p, size_t len) MUST_CHECK;
/* Appends the whole file to `out`; -ENOSPC when it does not fit. Not for sockets. */
int io_read_file(int dirfd, const char *path, struct buf *out) MUST_CHECK;
/* Replaces the file: temporary name beside it, mode, fsync, rename, fsync of the folder. */
int io_write_file(int dirfd, const char *path, struct view content, mode_t mode) MUST_CHECK;
/* What is in the folder, from its beginning; the caller's to closedir(). NULL with errno. */
DIR *io_list(int dirfd) MUST_CHECK;
/* A namespace kept in a file (nsfs). -1 if there is none: no file, or nothing is mounted on it. */
int io_open_namespace(int dirfd, const char *path) MUST_CHECK;
/* Removes the temporary names that a killed io_write_file() of `name` left in the folder. */
void io_remove_unfinished(int dirfd, const char *name);
/* Writes to an existing file of /proc, /sys or a cgroup in one write(2). */
int io_put(int dirfd, const char *path, const char *value) MUST_CHECK;

int io_set_nonblocking(int fd) MUST_CHECK;

/* A sealed file in memory with `content`, read from its start: the fd, or -errno. */
int io_memory_file(const char *name, struct view content) MUST_CHECK;

/* A connected pair of SOCK_SEQPACKET sockets. */
int io_seqpacket_pair(int ret[2]) MUST_CHECK;

enum { IO_MAX_FDS = 8 }; /* descriptors in one message */

/* Sends one message with up to IO_MAX_FDS descriptors (borrowed). -EAGAIN when the queue is full.
 */
int io_send_fds(int sock, const void *p, size_t len, const int *fds, size_t n_fds) MUST_CHECK;
/*
 * Receives one message of at most `size` bytes; returns its length, 0 at the end. Descriptors are
 * close-on-exec and owned by the caller; *n_fds is the room in `fds` before and their number after.
 * -EMSGSIZE when the message was longer, or had more descriptors, than fits (all are closed then).
 */
ssize_t io_recv_fds(int sock, void *p, size_t size, int *fds, size_t *n_fds) MUST_CHECK;

#endif
