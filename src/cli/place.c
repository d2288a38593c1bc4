/* SPDX-License-Identifier: Apache-2.0 */
/* A name in a tree that becomes a sandbox's root. */
#include "cli/place.h"

#include "base/show.h"
#include "cli/tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int place_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* "/./usr//bin/" becomes "usr/bin". */
static int tidy(const char *path, char *out, size_t size, struct err *err)
{
	struct view rest = view_str(path), part;
	size_t len = 0;

	while (view_split(&rest, '/', &part)) {
		if (part.len == 0 || view_is(part, "."))
			continue;
		if (view_is(part, ".."))
			return err_set(err, ERR_INVALID, "a path in the archive has \"..\"");
		if (part.len > NAME_MAX || len + part.len + 2 > size)
			return err_set(err, ERR_INVALID, "a path in the archive is too long");
		if (len)
			out[len++] = '/';
		memcpy(out + len, part.p, part.len);
		len += part.len;
	}
	out[len] = '\0';
	return 0;
}

/* Opens the directory `path` (tidy), making what is missing of it; changes `path` meanwhile. */
static int open_dirs(int root_fd, char *path)
{
	int dir = place_open(root_fd, *path ? path : ".", O_PATH | O_DIRECTORY);
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	auto_fd int above = -1;

	if (dir != -ENOENT)
		return dir;
	if (slash)
		*slash = '\0';
	above = slash ? open_dirs(root_fd, path) : place_open(root_fd, ".", O_PATH | O_DIRECTORY);
	if (above < 0)
		return above;
	/* Above it all exists now, so what is missing is this one (or it is a dangling link). */
	if (mkdirat(above, name, 0755) < 0)
		return -errno;
	dir = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

int place_find(int root_fd, const char *path, struct place *ret, struct err *err)
{
	char dirs[PATH_MAX] = "";
	struct place place = { .dir_fd = -1 };
	char *slash;

	if (tidy(path, dirs, sizeof(dirs), err) < 0)
		return -1;
	slash = strrchr(dirs, '/');
	/* tidy() let no component pass that is longer than NAME_MAX. */
	if (view_copy(view_str(slash ? slash + 1 : dirs), place.name, sizeof(place.name)) < 0)
		return err_set(err, ERR_BUG, "a component of a path is too long");
	if (slash)
		*slash = '\0';
	else
		dirs[0] = '\0';
	place.dir_fd = open_dirs(root_fd, dirs);
	if (place.dir_fd < 0)
		return err_sys(err, -place.dir_fd, "make the directory of an entry");
	*ret = place;
	return 0;
}

void place_done(struct place *place)
{
	cleanup_fd(&place->dir_fd);
	place->dir_fd = -1;
}

int place_clear(const struct place *place, struct err *err)
{
	char path[NAME_MAX + 64], shown[SHOW_MAX];
	int r;

	if (unlinkat(place->dir_fd, place->name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(err, errno, "replace %s", show_name(view_str(place->name), shown));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", place->dir_fd, place->name);
	r = tree_remove(path);
	if (r < 0)
		return err_sys(err, -r, "remove %s", show_name(view_str(place->name), shown));
	return 0;
}
