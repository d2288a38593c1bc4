/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_EMPTY and KEEPER_DROP_LAYER. A used layer is not cleaned in place: its folders stay large
 * after their names are gone. It is renamed away, made anew, and deleted in the background. Where
 * the quota is full (of btrfs: not even a rename has room) what can be deleted goes first.
 */
#include "keeper/keeper_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/xattr.h>

enum { XATTR_LIST_BYTES = 64 * 1024 };

static const char *const layer_parts[] = { "upper", "work" };

static int open_trash(int layer)
{
	int fd;

	if (mkdirat(layer, "trash", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(layer, "trash", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int set_aside(int layer, int trash, const char *part)
{
	char name[40];
	uint64_t tag;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -EIO;
	(void)snprintf(name, sizeof(name), "%016" PRIx64, tag);
	if (renameat(layer, part, trash, name) < 0 && errno != ENOENT)
		return -errno;
	/* The upper folder's mode becomes that of the container's root. */
	return mkdirat(layer, part, 0755) < 0 ? -errno : 0;
}

/* Renames upper and work into layer/trash and makes them anew. */
static int layer_set_aside(int layer)
{
	auto_fd int trash = open_trash(layer);

	if (trash < 0)
		return trash;
	for (size_t i = 0; i < ARRAY_SIZE(layer_parts); i++) {
		int r = set_aside(layer, trash, layer_parts[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int sweep(int layer, const char *part)
{
	auto_fd int dir = openat(layer, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	return empty_folder(dir);
}

int layer_sweep(int layer)
{
	return sweep(layer, "trash");
}

/* A new layer, and nothing is left of the old one. */
static int layer_empty(int layer)
{
	int r = layer_sweep(layer);

	if (r == 0)
		r = layer_set_aside(layer);
	if (is_no_room(r)) {
		/* One of them may be in the trash already. */
		r = layer_sweep(layer);
		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(layer_parts); i++)
			r = sweep(layer, layer_parts[i]);
		if (r == 0)
			r = layer_set_aside(layer);
	}
	return r < 0 ? r : layer_sweep(layer);
}

static int drop_xattrs(int dir)
{
	auto_buf struct buf names = BUF_INIT(XATTR_LIST_BYTES);
	char *list = buf_reserve(&names, XATTR_LIST_BYTES);
	ssize_t n;

	if (!list)
		return -ENOMEM;
	n = flistxattr(dir, list, XATTR_LIST_BYTES);
	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *name = list; name < list + n; name += strlen(name) + 1) {
		/* Of the security ones only those can be set inside that can also be removed. */
		if (fremovexattr(dir, name) < 0 && errno != ENODATA &&
		    strncmp(name, "security.", strlen("security.")) != 0)
			return -errno;
	}
	return 0;
}

/* Flags that a tenant can set and a next one would inherit or see. */
static void drop_inode_flags(int dir)
{
	const int tenant_flags = FS_SYNC_FL | FS_DIRSYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL |
				 FS_COMPR_FL | FS_NOCOMP_FL | FS_NOCOW_FL;
	int flags;

	/* File systems without such flags fail here, and have nothing to drop. */
	if (ioctl(dir, FS_IOC_GETFLAGS, &flags) < 0 || !(flags & tenant_flags))
		return;
	flags &= ~tenant_flags;
	(void)ioctl(dir, FS_IOC_SETFLAGS, &flags);
}

/* The workspace folder itself is handed on: nothing of its last tenant may stay on it. */
static int reset_folder(int dir)
{
	int r;

	if (fchown(dir, geteuid(), getegid()) < 0)
		return -errno;
	r = drop_xattrs(dir);
	if (r < 0)
		return r;
	drop_inode_flags(dir);
	return fchmod(dir, 0755) < 0 ? -errno : 0;
}

int slot_empty(struct keeper *k)
{
	int r = empty_folder(k->workspace);

	if (r == 0)
		r = reset_folder(k->workspace);
	return r < 0 ? r : layer_empty(k->layer);
}

int verb_drop_layer(struct keeper *k, const struct keeper_request *request, int in_fd,
		    struct answer *answer, struct err *err)
{
	int r = request->flags & KEEPER_ALL ? 0 : layer_set_aside(k->layer);

	(void)in_fd;
	(void)answer;
	if (request->flags & KEEPER_ALL || is_no_room(r)) {
		job_stop_sweep(k);
		return VERB_LATER;
	}
	if (r < 0)
		return fail_errno(err, -r, "set the container's layer aside");
	job_sweep_trash(k);
	return 0;
}

int verb_drop_layer_later(struct keeper *k, const struct keeper_request *request, int in_fd,
			  struct answer *answer, struct err *err)
{
	int r = layer_empty(k->layer);

	(void)request;
	(void)in_fd;
	(void)answer;
	return r < 0 ? fail_errno(err, -r, "delete the container's layer") : 0;
}
