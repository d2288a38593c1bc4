/* SPDX-License-Identifier: Apache-2.0 */
/* The path jail: from a path to a place without links, and from a place to a descriptor. */
#include "keeper/jail.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

/* What the workspace is called inside the sandbox. */
static const struct view inside_name = VIEW_INIT("/workspace");

/* A resolution under way. */
struct walk {
	int root;
	enum jail_flags flags;
	struct view original;
	struct place at;
	char rest[KEEPER_MAX_PATH * 2]; /* components still to come */
	size_t rest_len;
	size_t from_link; /* so many bytes of `rest` came out of a link, not from the caller */
	uint32_t links;
	bool is_missing;
};

int jail_open_at(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};

	/* With O_PATH, openat2() refuses flags that have no meaning then. */
	if (!(flags & O_PATH))
		how.flags |= O_NOCTTY;
	/* EAGAIN: somebody renamed something meanwhile and the kernel cannot be sure. */
	for (int i = 0; i < JAIL_MAX_TRIES; i++) {
		long fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

const char *jail_kind_of_mode(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a folder";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a named pipe";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

static int fail_path(struct view path, int sys_errno, struct err *err)
{
	char shown[SHOW_MAX];
	const char *name = show_name(path, shown);

	switch (sys_errno) {
	case ENOENT:
		return fail(err, ENOENT, "%s does not exist", name);
	case EXDEV:
		return fail(err, EXDEV, "%s leads outside /workspace; only files in it can be used",
			    name);
	case ENOTDIR:
		return fail(err, ENOTDIR, "%s: a part of the path is not a folder", name);
	case EAGAIN:
	case ELOOP:
		return fail(err, EBUSY, "%s: its folders are being renamed all the time; try again",
			    name);
	default:
		return fail_errno(err, sys_errno, "%s", name);
	}
}

/* Takes the next component off `rest`; false at the end. *from_link: it came out of a link. */
static bool next_component(struct walk *w, char name[KEEPER_MAX_PATH], size_t *ret_len,
			   bool *from_link)
{
	size_t skip = 0, len;

	while (skip < w->rest_len && w->rest[skip] == '/')
		skip++;
	len = view_find(view_of(w->rest + skip, w->rest_len - skip), '/');
	if (!len || len >= KEEPER_MAX_PATH)
		return false;
	memcpy(name, w->rest + skip, len);
	name[len] = '\0';
	*ret_len = len;
	*from_link = skip < w->from_link;
	w->from_link -= skip + len < w->from_link ? skip + len : w->from_link;
	w->rest_len -= skip + len;
	memmove(w->rest, w->rest + skip + len, w->rest_len);
	return true;
}

static int append(struct place *at, const char *name, size_t len)
{
	size_t slash = at->len ? 1 : 0;

	if (at->len + slash + len >= sizeof(at->path))
		return -ENAMETOOLONG;
	if (slash)
		at->path[at->len++] = '/';
	memcpy(at->path + at->len, name, len + 1);
	at->len += len;
	return 0;
}

static void truncate_place(struct place *at, size_t len)
{
	at->len = len;
	at->path[len] = '\0';
}

static int go_up(struct walk *w, struct err *err)
{
	if (w->is_missing)
		return fail_path(w->original, ENOENT, err);
	if (!w->at.len)
		return fail_path(w->original, EXDEV, err);
	const char *slash = memrchr(w->at.path, '/', w->at.len);

	truncate_place(&w->at, slash ? (size_t)(slash - w->at.path) : 0);
	return 0;
}

/* Puts a link's target in front of the rest. */
static int push_target(struct walk *w, struct view target, struct err *err)
{
	char link[SHOW_MAX];

	if (target.len && target.p[0] == '/') {
		struct view tail = view_from(target, inside_name.len);

		if (!view_starts(target, inside_name) || (tail.len && tail.p[0] != '/'))
			return fail(err, EXDEV,
				    "%s is reached by a symbolic link that points outside "
				    "/workspace; only files in it can be used",
				    show_name(w->original, link));
		truncate_place(&w->at, 0);
		target = tail;
	}
	if (target.len + 1 + w->rest_len > sizeof(w->rest))
		return fail_path(w->original, ENAMETOOLONG, err);
	memmove(w->rest + target.len + 1, w->rest, w->rest_len);
	memcpy(w->rest, target.p, target.len);
	w->rest[target.len] = '/';
	w->rest_len += target.len + 1;
	w->from_link += target.len + 1;
	return 0;
}

static int follow(struct walk *w, int link_fd, struct err *err)
{
	char target[KEEPER_MAX_PATH], shown[SHOW_MAX];
	ssize_t n;

	if (w->flags & JAIL_NOFOLLOW)
		return fail(err, ELOOP, "%s goes through a symbolic link; name the file itself",
			    show_name(w->original, shown));
	if (++w->links > JAIL_MAX_LINKS)
		return fail(err, ELOOP, "%s: its symbolic links lead in circles",
			    show_name(w->original, shown));
	n = readlinkat(link_fd, "", target, sizeof(target));
	if (n < 0)
		return fail_path(w->original, errno, err);
	return push_target(w, view_of(target, (size_t)n), err);
}

static int miss(struct walk *w, size_t before, bool from_link, struct err *err)
{
	char shown[SHOW_MAX];

	if (from_link)
		return fail(err, ENOENT,
			    "%s is reached by a symbolic link that leads to nothing; make its "
			    "target first, or name the file itself",
			    show_name(w->original, shown));
	if (!(w->flags & JAIL_MAY_MISS))
		return fail_path(w->original, ENOENT, err);
	w->is_missing = true;
	w->at.existing = before;
	return 0;
}

/* Nothing but slashes follows. */
static bool is_last(const struct walk *w)
{
	for (size_t i = 0; i < w->rest_len; i++)
		if (w->rest[i] != '/')
			return false;
	return true;
}

static int step(struct walk *w, const char *name, size_t len, bool from_link, struct err *err)
{
	size_t before = w->at.len;
	struct stat st;
	int r;

	if (view_is(view_of(name, len), "."))
		return 0;
	if (view_is(view_of(name, len), ".."))
		return go_up(w, err);
	r = append(&w->at, name, len);
	if (r < 0)
		return fail_path(w->original, -r, err);
	if (w->is_missing)
		return 0;

	auto_fd int fd = jail_open_at(w->root, w->at.path, O_PATH | O_NOFOLLOW);
	if (fd == -ENOENT)
		return miss(w, before, from_link, err);
	if (fd < 0)
		return fail_path(w->original, -fd, err);
	if (fstat(fd, &st) < 0)
		return fail_path(w->original, errno, err);
	if (!S_ISLNK(st.st_mode) || (w->flags & JAIL_KEEP_LAST && is_last(w)))
		return 0;
	truncate_place(&w->at, before);
	return follow(w, fd, err);
}

int jail_resolve(int root, struct view path, enum jail_flags flags, struct place *ret,
		 struct err *err)
{
	struct walk w = { .root = root, .flags = flags, .original = path };
	char name[KEEPER_MAX_PATH];
	bool from_link;
	size_t len;

	if (path.len >= KEEPER_MAX_PATH)
		return fail_path(path, ENAMETOOLONG, err);
	if (path.len && path.p[0] == '/')
		return fail_path(path, EXDEV, err);
	memcpy(w.rest, path.p, path.len);
	w.rest_len = path.len;
	while (next_component(&w, name, &len, &from_link))
		if (step(&w, name, len, from_link, err) < 0)
			return -1;
	if (!w.is_missing)
		w.at.existing = w.at.len;
	*ret = w.at;
	return 0;
}

static int check_kind(struct view path, const struct stat *st, int open_flags, struct err *err)
{
	char shown[SHOW_MAX];

	if (S_ISREG(st->st_mode) || (open_flags & O_PATH))
		return 0;
	return fail(err, S_ISDIR(st->st_mode) ? EISDIR : EINVAL, "%s is %s, not a regular file",
		    show_name(path, shown), jail_kind_of_mode(st->st_mode));
}

/*
 * Opens the place. Its kind is looked at through an O_PATH descriptor before, since opening a pipe
 * or a device has effects, and again after, since it may have been swapped. 1: swapped, try again.
 */
static int open_place(int root, struct view path, int open_flags, struct jail_file *f,
		      struct err *err)
{
	auto_fd int look = jail_open_at(root, f->place.path, O_PATH | O_NOFOLLOW);

	if (look == -ELOOP || look == -ENOENT || look == -EAGAIN)
		return 1;
	if (look < 0)
		return fail_path(path, -look, err);
	if (fstat(look, &f->st) < 0)
		return fail_path(path, errno, err);
	if (S_ISLNK(f->st.st_mode))
		return 1;
	if (check_kind(path, &f->st, open_flags, err) < 0)
		return -1;
	if (open_flags & O_PATH) {
		f->fd = take_fd(look);
		return 0;
	}

	auto_fd int fd = jail_open_at(root, f->place.path, open_flags | O_NONBLOCK);
	if (fd == -ELOOP || fd == -ENOENT || fd == -EAGAIN)
		return 1;
	if (fd < 0)
		return fail_path(path, -fd, err);
	if (fstat(fd, &f->st) < 0)
		return fail_path(path, errno, err);
	if (check_kind(path, &f->st, open_flags, err) < 0)
		return -1;
	if (fcntl(fd, F_SETFL, 0) < 0)
		return fail_path(path, errno, err);
	f->fd = take_fd(fd);
	return 0;
}

int jail_open(int root, struct view path, enum jail_flags flags, int open_flags,
	      struct jail_file *ret, struct err *err)
{
	for (int i = 0; i < JAIL_MAX_TRIES; i++) {
		struct jail_file f = { .fd = -1 };
		int r;

		/* EBUSY: swapped in the middle of the resolution. */
		if (jail_resolve(root, path, flags, &f.place, err) < 0) {
			if (err->sys_errno == EBUSY)
				continue;
			return -1;
		}
		r = open_place(root, path, open_flags, &f, err);
		if (r < 0)
			return -1;
		if (r == 0) {
			*ret = f;
			return 0;
		}
	}
	return fail_path(path, EAGAIN, err);
}

/* Makes the folders of `path` from `existing` on, as far as the last slash. */
static int make_folders(int root, char *path, size_t existing, struct view shown, struct err *err)
{
	char *from = path + existing + (existing ? 1 : 0);

	for (char *slash = strchr(from, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *name;
		char *parent_end;
		int r = 0;

		*slash = '\0';
		parent_end = strrchr(path, '/');
		name = parent_end ? parent_end + 1 : path;
		if (parent_end)
			*parent_end = '\0';
		auto_fd int parent =
			jail_open_at(root, parent_end ? path : "", O_RDONLY | O_DIRECTORY);
		/* Somebody else making the same folder at the same time is fine. */
		if (parent < 0)
			r = parent;
		else if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
			r = -errno;
		if (parent_end)
			*parent_end = '/';
		*slash = '/';
		if (r < 0)
			return fail_path(shown, -r, err);
	}
	return 0;
}

int jail_open_parent(int root, const struct place *place, int *ret_fd, const char **ret_name,
		     struct err *err)
{
	struct place folder = *place;
	char *slash;

	if (!place->len)
		return fail(err, EINVAL, "the path is the workspace itself, not a file in it");
	if (make_folders(root, folder.path, folder.existing, place_view(place), err) < 0)
		return -1;
	slash = strrchr(folder.path, '/');
	if (slash)
		*slash = '\0';
	auto_fd int fd = jail_open_at(root, slash ? folder.path : "", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fail_path(place_view(place), -fd, err);
	*ret_fd = take_fd(fd);
	*ret_name = slash ? place->path + (slash - folder.path) + 1 : place->path;
	return 0;
}
