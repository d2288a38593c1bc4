/* SPDX-License-Identifier: Apache-2.0 */
/* A file that gets its name only when it is complete. */
#include "keeper/temp.h"

#include "wire/keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { TEMP_TRIES = 16, FD_NAME = 12 };

static int random_name(char name[TEMP_NAME])
{
	uint64_t tag;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -EIO;
	(void)snprintf(name, TEMP_NAME, ".%016llx.part", (unsigned long long)tag);
	return 0;
}

static int create_named(struct temp *t)
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		int r = random_name(t->name);

		if (r < 0)
			return r;
		t->fd = openat(t->folder, t->name,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->fd >= 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int create(struct temp *t)
{
	if (t->self >= 0)
		t->fd = openat(t->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (t->fd >= 0)
		return 0;
	/* What file systems without such files say. */
	if (t->self >= 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
		return -errno;
	return create_named(t);
}

int temp_create(int self, int folder, mode_t mode, struct temp *ret)
{
	struct temp t = { .self = self, .folder = folder, .fd = -1 };
	int r = create(&t);

	if (r < 0)
		return r;
	if (fchmod(t.fd, mode) < 0) {
		r = -errno;
		temp_done(&t);
		return r;
	}
	*ret = t;
	return 0;
}

static int link_as(const struct temp *t, const char *name)
{
	char own[FD_NAME];

	(void)snprintf(own, sizeof(own), "%d", t->fd);
	return linkat(t->self, own, t->folder, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int temp_show(struct temp *t)
{
	char name[TEMP_NAME];
	int r = 0;

	if (*t->name)
		return 0;
	for (int i = 0; i < TEMP_TRIES; i++) {
		r = random_name(name);
		if (r == 0)
			r = link_as(t, name);
		if (r != -EEXIST)
			break;
	}
	if (r == 0)
		memcpy(t->name, name, sizeof(name));
	return r;
}

/* Where the file system cannot rename without replacing (ZFS before 2.2), a link can. */
static int rename_new(const struct temp *t, const char *name)
{
	if (renameat2(t->folder, t->name, t->folder, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(t->folder, t->name, t->folder, name, 0) < 0)
		return -errno;
	return unlinkat(t->folder, t->name, 0) < 0 ? -errno : 0;
}

static int rename_over(struct temp *t, const char *name)
{
	int r = temp_show(t);

	if (r < 0)
		return r;
	return renameat(t->folder, t->name, t->folder, name) < 0 ? -errno : 0;
}

int temp_commit(struct temp *t, const char *name, uint32_t flags)
{
	int r;

	if (!(flags & KEEPER_NOREPLACE))
		r = rename_over(t, name);
	else if (*t->name)
		r = rename_new(t, name);
	else
		r = link_as(t, name);
	if (r < 0)
		return r;
	*t->name = '\0';
	return fsync(t->folder) < 0 ? -errno : 0;
}

void temp_done(struct temp *t)
{
	if (*t->name)
		(void)unlinkat(t->folder, t->name, 0);
	if (t->fd >= 0)
		(void)close(t->fd);
	*t = (struct temp){ .self = -1, .folder = -1, .fd = -1 };
}
