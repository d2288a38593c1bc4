/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing the content of an existing file: beside it and exchanged, or in place. */
#include "keeper/save.h"

#include "keeper/keeper_internal.h"
#include "sys/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>

enum {
	READ_CHUNK = 256 * 1024,
	XATTR_BYTES = 64 * 1024, /* the kernel's limit of a list and of a value */
};

void loaded_init(struct loaded *l)
{
	*l = (struct loaded){ .file = { .fd = -1 }, .content = BUF_INIT(SAVE_MAX_BYTES) };
}

void loaded_done(struct loaded *l)
{
	if (l->file.fd >= 0)
		(void)close(l->file.fd);
	l->file.fd = -1;
	buf_done(&l->content);
}

static int read_whole(struct loaded *l)
{
	for (;;) {
		size_t left = l->content.max - l->content.len;
		size_t room = left < READ_CHUNK ? left : READ_CHUNK;
		char *to = room ? buf_reserve(&l->content, room) : NULL;
		ssize_t n;

		if (!to) /* it grew past the limit while it was read */
			return room ? -ENOMEM : -EFBIG;
		n = io_read_all(l->file.fd, to, room);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		buf_commit(&l->content, (size_t)n);
	}
}

static int fail_too_large(struct view path, uint64_t size, struct err *err)
{
	char shown[SHOW_MAX];

	return fail(err, EFBIG,
		    "%s has %llu bytes; files over %d MiB cannot be edited here. Use run_command "
		    "(sed, python) instead",
		    show_name(path, shown), (unsigned long long)size, SAVE_MAX_BYTES >> 20);
}

int load_file(int root, struct view path, struct loaded *ret, struct err *err)
{
	char shown[SHOW_MAX];
	int r;

	if (jail_open(root, path, JAIL_FOLLOW, O_RDWR, &ret->file, err) < 0)
		return -1;
	if (ret->file.st.st_size >= SAVE_MAX_BYTES)
		return fail_too_large(path, (uint64_t)ret->file.st.st_size, err);
	r = read_whole(ret);
	if (r == -EFBIG)
		return fail_too_large(path, SAVE_MAX_BYTES, err);
	if (r < 0)
		return fail_errno(err, -r, "read %s", show_name(path, shown));
	return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_content(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       same_time(a->st_mtim, b->st_mtim);
}

static int fail_changed(const struct loaded *l, struct err *err)
{
	char shown[SHOW_MAX];

	return fail(err, ESTALE, "%s was changed by another program just now; read it again",
		    show_name(place_view(&l->file.place), shown));
}

struct xattr_move {
	int from, to;
	char *value; /* XATTR_BYTES */
};

static int copy_xattr(const struct xattr_move *move, const char *name)
{
	ssize_t n = fgetxattr(move->from, name, move->value, XATTR_BYTES);

	if (n < 0)
		return -errno;
	return fsetxattr(move->to, name, move->value, (size_t)n, 0) < 0 ? -errno : 0;
}

/* What it has of its folder (a default ACL) and the original has not. */
static int drop_surplus(const struct xattr_move *move, const char *name)
{
	if (fgetxattr(move->from, name, NULL, 0) >= 0)
		return 0;
	if (errno != ENODATA)
		return -errno;
	return fremovexattr(move->to, name) < 0 ? -errno : 0;
}

typedef int xattr_fn(const struct xattr_move *move, const char *name);

/* Calls `fn` for each attribute that `of` has, until it fails. */
static int each_xattr(int of, int from, int to, xattr_fn *fn)
{
	auto_free char *names = malloc(2 * (size_t)XATTR_BYTES);
	const struct xattr_move move = { .from = from,
					 .to = to,
					 .value = names ? names + XATTR_BYTES : NULL };
	ssize_t n;

	if (!names)
		return -ENOMEM;
	n = flistxattr(of, names, XATTR_BYTES);
	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *name = names; name < names + n; name += strlen(name) + 1) {
		int r = fn(&move, name);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Changing the owner and writing take away set-id bits and file capabilities: attributes and mode
 * come last.
 */
static int write_copy(const struct loaded *l, int fd, struct view content)
{
	const struct stat *st = &l->file.st;
	int r;

	if (fchown(fd, st->st_uid, st->st_gid) < 0)
		return -errno;
	r = io_write_all(fd, content.p, content.len);
	if (r == 0)
		r = each_xattr(fd, l->file.fd, fd, drop_surplus);
	if (r == 0)
		r = each_xattr(l->file.fd, l->file.fd, fd, copy_xattr);
	if (r < 0)
		return r;
	if (fchmod(fd, st->st_mode & 07777) < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static bool is_loaded_version(int folder, const char *name, const struct loaded *l)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       same_content(&st, &l->file.st);
}

/*
 * Exchanges copy and file, and looks at what came out: if it is not the version that was loaded,
 * they are exchanged back. Without RENAME_EXCHANGE the look comes before.
 */
static int exchange(int folder, const char *copy, const char *name, const struct loaded *l)
{
	if (!is_loaded_version(folder, name, l))
		return -ESTALE;
	if (renameat2(folder, copy, folder, name, RENAME_EXCHANGE) < 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		return renameat(folder, copy, folder, name) < 0 ? -errno : 0;
	}
	if (is_loaded_version(folder, copy, l))
		return 0;
	if (renameat2(folder, copy, folder, name, RENAME_EXCHANGE) < 0)
		return -errno;
	return -ESTALE;
}

/* 1: this file is better written in place. */
static int save_beside(int root, int self, const struct loaded *l, struct view content,
		       struct err *err)
{
	auto_fd int folder = -1;
	auto_temp struct temp copy = { .fd = -1 }; /* gone before its folder */
	char shown[SHOW_MAX];
	const char *name;
	int r;

	if (l->file.st.st_nlink != 1)
		return 1;
	if (jail_open_parent(root, &l->file.place, &folder, &name, err) < 0)
		return -1;
	if (temp_create(self, folder, 0600, &copy) < 0 || write_copy(l, copy.fd, content) < 0 ||
	    temp_show(&copy) < 0)
		return 1;
	r = exchange(folder, copy.name, name, l);
	if (r == -ESTALE)
		return fail_changed(l, err);
	/* The old content goes at once: while that has a name, being killed would leave it. */
	temp_done(&copy);
	if (r < 0 || fsync(folder) < 0)
		return fail_errno(err, r < 0 ? -r : errno, "save %s",
				  show_name(place_view(&l->file.place), shown));
	return 0;
}

/* From offset *at on, which becomes how far it got. */
static int write_at(int fd, struct view content, size_t *at)
{
	while (*at < content.len) {
		ssize_t n = pwrite(fd, content.p + *at, content.len - *at, (off_t)*at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*at += (size_t)n;
	}
	return 0;
}

static int set_length(int fd, size_t len)
{
	return ftruncate(fd, (off_t)len) < 0 ? -errno : 0;
}

/* Where content is not overwritten but written anew (btrfs), even this may have no room. */
static int put_back(int fd, struct view old, size_t from, size_t to)
{
	int r = write_at(fd, view_first(old, to), &from);

	return r < 0 ? r : set_length(fd, old.len);
}

static int save_in_place(const struct loaded *l, struct view content, struct err *err)
{
	struct view old = buf_view(&l->content);
	size_t same = 0, common = old.len < content.len ? old.len : content.len, at;
	char shown[SHOW_MAX];
	struct stat st;
	int r = 0;

	while (same < common && old.p[same] == content.p[same])
		same++;
	if (fstat(l->file.fd, &st) < 0 || !same_content(&st, &l->file.st))
		return fail_changed(l, err);
	/* A file system that cannot reserve is not asked to. */
	if (content.len > old.len &&
	    fallocate(l->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)old.len,
		      (off_t)(content.len - old.len)) < 0 &&
	    errno != EOPNOTSUPP)
		r = -errno;
	if (r == 0) {
		at = same;
		r = write_at(l->file.fd, content, &at);
		if (r == 0)
			r = set_length(l->file.fd, content.len);
		if (r < 0 && at > same && put_back(l->file.fd, old, same, at) < 0)
			return fail(err, EIO, "%s could not be written and is damaged now",
				    show_name(place_view(&l->file.place), shown));
	}
	if (r == 0 && fsync(l->file.fd) < 0)
		r = -errno;
	if (r < 0)
		return fail_errno(err, -r, "save %s", show_name(place_view(&l->file.place), shown));
	return 0;
}

int save_file(int root, int self, struct loaded *l, struct view content, struct err *err)
{
	int r = save_beside(root, self, l, content, err);

	return r == 1 ? save_in_place(l, content, err) : r;
}
