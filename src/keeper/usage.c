/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_USAGE: what the slot takes on the disk. Runs in a child. One descriptor a level (a level
 * cannot be left through "..", which a tenant may have moved), so the depth is limited; a tree
 * beyond it is reported as such, since hiding bytes there must not look like having none.
 */
#include "keeper/keeper_internal.h"

#include "base/map.h"

#include <dirent.h>
#include <fcntl.h>

enum {
	USAGE_MAX_DEPTH = 4096,
	USAGE_MAX_LINKED = 1 << 20, /* files with several names whose bytes are counted only once */
	BLOCK = 512,                /* unit of st_blocks */
};

struct usage {
	uint64_t bytes, files, newest_ns;
	struct map *linked; /* inodes with several names that were counted */
	bool too_deep;
	int error;
};

static bool counted_before(struct usage *u, const struct stat *st)
{
	uint64_t id[2] = { st->st_dev, st->st_ino };
	struct view key = view_of(id, sizeof(id));

	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return false;
	if (map_get(u->linked, key))
		return true;
	/* Past the limit each name counts: too much rather than too little. */
	if (map_count(u->linked) < USAGE_MAX_LINKED && map_put(u->linked, key, u, NULL) < 0)
		u->error = -ENOMEM;
	return false;
}

static void count_entry(struct usage *u, const struct stat *st)
{
	if (mtime_ns(st) > u->newest_ns)
		u->newest_ns = mtime_ns(st);
	/* Each name takes time to look at and room in its folder, whatever it leads to. */
	u->files++;
	if (counted_before(u, st))
		return;
	u->bytes += (uint64_t)st->st_blocks * BLOCK;
}

/* Goes into `name` of `parent`; NULL when it vanished or is too deep. */
static DIR *enter(struct usage *u, int parent, const char *name, size_t depth)
{
	int fd;
	DIR *dir;

	if (depth >= USAGE_MAX_DEPTH) {
		u->too_deep = true;
		return NULL;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		u->too_deep |= errno == EMFILE || errno == ENFILE;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir) {
		u->error = -errno;
		(void)close(fd);
	}
	return dir;
}

/* The next sub-folder of `dir`, opened, after having counted everything before it. */
static DIR *next_folder(struct usage *u, DIR *dir, size_t depth)
{
	const struct dirent *e;

	while ((e = readdir(dir))) {
		struct stat st;
		DIR *below;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		count_entry(u, &st);
		if (!S_ISDIR(st.st_mode))
			continue;
		below = enter(u, dirfd(dir), e->d_name, depth);
		if (below)
			return below;
	}
	return NULL;
}

static void measure(struct usage *u, int top)
{
	auto_free DIR **stack = calloc(USAGE_MAX_DEPTH, sizeof(DIR *));
	size_t depth = 0;

	if (!stack) {
		u->error = -ENOMEM;
		return;
	}
	stack[depth] = enter(u, top, ".", depth);
	depth = stack[0] ? 1 : 0;
	while (depth) {
		DIR *below = next_folder(u, stack[depth - 1], depth);

		if (below)
			stack[depth++] = below;
		else
			(void)closedir(stack[--depth]);
	}
}

int verb_usage(struct keeper *k, const struct keeper_request *request, int in_fd,
	       struct answer *answer, struct err *err)
{
	auto_of(map) struct map *linked = map_new();
	struct usage u = { .linked = linked };
	struct stat st;

	(void)in_fd;
	if (!linked)
		return fail_errno(err, ENOMEM, "measure the workspace");
	if (fstat(k->workspace, &st) == 0)
		u.newest_ns = mtime_ns(&st);
	measure(&u, k->workspace);
	answer->reply.number = u.bytes;
	answer->reply.count = u.files;
	answer->reply.mtime_ns = u.newest_ns;
	measure(&u, k->layer);
	answer->reply.size = u.bytes;
	if (request->flags & KEEPER_ALL)
		answer->reply.count = u.files;
	if (u.error < 0)
		return fail_errno(err, -u.error, "measure the workspace");
	if (u.too_deep)
		return fail(err, EOVERFLOW,
			    "the workspace has folders nested too deeply to be measured");
	return 0;
}
