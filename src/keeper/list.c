/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_LIST: the entries of a folder, or those of a tree whose path matches a pattern, sorted by
 * name, with kind, size and time. Runs in a child, so that a tree of a million files costs the
 * keeper nothing. What is not shown is counted and said.
 */
#include "keeper/glob.h"
#include "keeper/keeper_internal.h"
#include "keeper/lines.h"
#include "sys/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
	LIST_DEFAULT = 200, /* entries shown */
	LIST_MAX = 1000,
	LIST_MAX_DEPTH = 64,
	/* Of the names that are held at once: those of a folder and of all that it is in. */
	LIST_MAX_NAMES_BYTES = 32 * 1024 * 1024,
	LIST_SECONDS = 20,
	LIST_MAX_BYTES = 60 * 1024, /* of the text */
};

/* Folders that a search does not enter unless asked to: large, and made by programs. */
static const char *const skipped_names[] = {
	".git", ".hg",  ".svn",        "node_modules",  "__pycache__", ".venv",
	"venv", ".tox", ".mypy_cache", ".pytest_cache", ".cache",      ".gradle",
};

struct listing {
	const struct glob *glob; /* NULL: one folder, one level */
	uint32_t flags;
	uint64_t limit, shown, matched, scanned;
	uint64_t skipped_folders, too_deep, unreadable;
	char first_skipped[SHOW_MAX];
	usec deadline;
	bool is_late;
	size_t names_left; /* of LIST_MAX_NAMES_BYTES */
	struct buf *out;
	struct view top; /* where the listing began, as the caller named it */
	struct buf path; /* of the entry, relative to that */
};

/* The names of one folder, sorted. */
struct names {
	struct buf bytes;  /* per entry its type (DT_…), then its name and NUL */
	const char **name; /* each preceded by its type */
	size_t n;
};

static void names_done(struct names *names)
{
	buf_done(&names->bytes);
	free(names->name);
}
#define auto_names CLEANUP(names_done)

/* With its share of the index. */
static size_t names_size(const struct names *names)
{
	return names->bytes.len + names->n * sizeof(*names->name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int names_index(struct names *names)
{
	const char *p = names->bytes.p;

	names->name = calloc(names->n ? names->n : 1, sizeof(*names->name));
	if (!names->name)
		return -ENOMEM;
	for (size_t i = 0; i < names->n; i++) {
		names->name[i] = p + 1;
		p += 1 + strlen(p + 1) + 1;
	}
	qsort(names->name, names->n, sizeof(*names->name), compare_names);
	return 0;
}

static int names_read(struct names *names, int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *e;
	int r = 0;

	if (!dir) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	while (r == 0 && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = buf_add_char(&names->bytes, (char)e->d_type);
		if (r == 0)
			r = buf_add(&names->bytes, e->d_name, strlen(e->d_name) + 1);
		names->n++;
		if (r == 0 && names_size(names) > names->bytes.max)
			r = -ENOSPC;
	}
	(void)closedir(dir);
	return r < 0 ? r : names_index(names);
}

static char kind_mark(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return '/';
	case S_IFIFO:
		return '|';
	case S_IFSOCK:
		return '=';
	case S_IFREG:
		return mode & 0111 ? '*' : '\0';
	default:
		return '\0';
	}
}

static int add_target(struct buf *out, int dir, const char *name)
{
	char target[KEEPER_MAX_PATH];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));
	int r = buf_add_str(out, " -> ");

	return r < 0 || n < 0 ? r : show_add(out, view_of(target, (size_t)n));
}

/* The path that other tools take. */
static int add_path(struct buf *out, struct view top, struct view path)
{
	auto_buf struct buf whole = BUF_INIT((size_t)2 * KEEPER_MAX_PATH);
	int r = buf_add_view(&whole, top);

	if (r == 0 && top.len)
		r = buf_add_char(&whole, '/');
	if (r == 0)
		r = buf_add_view(&whole, path);
	return r < 0 ? r : show_add(out, buf_view(&whole));
}

/* "14230  2026-11-29 16:49  src/a.c" */
static int add_entry(const struct listing *l, int dir, const char *name, const struct stat *st)
{
	time_t when = st->st_mtim.tv_sec;
	struct buf *out = l->out;
	struct tm tm = { 0 };
	char mark = kind_mark(st->st_mode), date[32] = "-";
	int r;

	if (gmtime_r(&when, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
	if (S_ISREG(st->st_mode))
		r = buf_addf(out, "%11" PRIu64 "  %s  ", (uint64_t)st->st_size, date);
	else
		r = buf_addf(out, "%11s  %s  ", "-", date);
	if (r == 0)
		r = add_path(out, l->top, buf_view(&l->path));
	if (r == 0 && mark)
		r = buf_add_char(out, mark);
	if (r == 0 && S_ISLNK(st->st_mode))
		r = add_target(out, dir, name);
	return r < 0 ? r : buf_add_char(out, '\n');
}

static int show_entry(struct listing *l, int dir, const char *name, const struct stat *st)
{
	size_t mark = l->out->len;
	int r;

	l->matched++;
	if (l->shown >= l->limit || l->out->len > LIST_MAX_BYTES)
		return 0;
	r = add_entry(l, dir, name, st);
	if (r < 0) {
		buf_truncate(l->out, mark);
		return r == -ENOSPC ? 0 : r;
	}
	l->shown++;
	return 0;
}

static bool is_skipped(struct listing *l, const char *name)
{
	if (l->flags & KEEPER_ALL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(skipped_names); i++) {
		if (strcmp(name, skipped_names[i]) != 0)
			continue;
		if (!l->skipped_folders++)
			(void)show_name(buf_view(&l->path), l->first_skipped);
		return true;
	}
	return false;
}

static int list_folder(struct listing *l, int fd, uint32_t depth);

static int enter(struct listing *l, int parent, const char *name, uint32_t depth)
{
	int fd;

	if (is_skipped(l, name))
		return 0;
	if (depth >= LIST_MAX_DEPTH) {
		l->too_deep++;
		return 0;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		l->unreadable++;
		return 0;
	}
	return list_folder(l, fd, depth);
}

static int list_entry(struct listing *l, int dir, const char *name, uint32_t depth)
{
	bool is_match = !l->glob || glob_match(l->glob, buf_view(&l->path));
	unsigned char type = (unsigned char)name[-1];
	struct stat st;

	l->scanned++;
	/* Most entries of a search are neither shown nor entered: they need no look. */
	if (!is_match && type != DT_DIR && type != DT_UNKNOWN)
		return 0;
	if (is_match && l->shown >= l->limit && type != DT_DIR && type != DT_UNKNOWN) {
		l->matched++;
		return 0;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (is_match) {
		int r = show_entry(l, dir, name, &st);

		if (r < 0)
			return r;
	}
	if (l->glob && S_ISDIR(st.st_mode))
		return enter(l, dir, name, depth + 1);
	return 0;
}

/* Takes `fd`. Recursive, at most LIST_MAX_DEPTH deep, with the names of each level. */
static int list_folder(struct listing *l, int fd, uint32_t depth)
{
	auto_names struct names names = { .bytes = BUF_INIT(l->names_left) };
	auto_fd int dir = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	size_t mark = l->path.len;
	size_t left = l->names_left;
	int r = dir < 0 ? -errno : 0;

	if (r == 0)
		r = names_read(&names, fd);
	else
		(void)close(fd);
	if (r == 0)
		l->names_left -= names_size(&names);
	for (size_t i = 0; r == 0 && i < names.n && !l->is_late; i++) {
		r = mark ? buf_add_char(&l->path, '/') : 0;
		if (r == 0)
			r = buf_add_str(&l->path, names.name[i]);
		if (r == 0)
			r = list_entry(l, dir, names.name[i], depth);
		buf_truncate(&l->path, mark);
		l->is_late = clock_monotonic(&clock_system) > l->deadline;
	}
	l->names_left = left;
	if (r == -ENOSPC) { /* names or path too long to go on here */
		l->too_deep++;
		r = 0;
	}
	return r;
}

static int add_of_all(const struct listing *l, struct view pattern, struct buf *out)
{
	char shown[SHOW_MAX];
	int r = buf_add_str(out, " of ");

	if (r == 0)
		r = add_count(out, l->scanned, NULL);
	return r < 0 ? r : buf_addf(out, " entries match %s", show_name(pattern, shown));
}

static int add_summary(const struct listing *l, struct view path, struct view pattern,
		       struct buf *out)
{
	char shown[SHOW_MAX];
	int r = buf_addf(out, "%s: ", show_name(path, shown));

	if (r == 0)
		r = add_count(out, l->matched, NULL);
	if (r == 0)
		r = l->glob ? add_of_all(l, pattern, out)
			    : buf_add_str(out, l->matched == 1 ? " entry" : " entries");
	if (r == 0 && l->shown < l->matched)
		r = buf_addf(out, ", the first %" PRIu64 " shown", l->shown);
	return r < 0 ? r : buf_add_str(out, " (bytes, UTC time, name)\n");
}

static int add_left_out(const struct listing *l, struct buf *out)
{
	int r = 0;

	if (l->shown < l->matched)
		r = buf_addf(out, "[%" PRIu64 " more; name a folder or a narrower pattern]\n",
			     l->matched - l->shown);
	if (r == 0 && l->skipped_folders)
		r = buf_addf(out,
			     "[not searched: %" PRIu64 " folders such as %s; name one as path "
			     "to search it]\n",
			     l->skipped_folders, l->first_skipped);
	if (r == 0 && l->too_deep)
		r = buf_addf(out,
			     "[not searched: %" PRIu64 " folders that are too deep or large]\n",
			     l->too_deep);
	if (r == 0 && l->unreadable)
		r = buf_addf(out, "[%" PRIu64 " folders could not be read]\n", l->unreadable);
	if (r == 0 && l->is_late)
		r = buf_addf(out, "[stopped after %d s; the rest was not searched]\n",
			     LIST_SECONDS);
	return r;
}

static int list(struct listing *l, int fd, const struct keeper_request *request,
		struct answer *answer)
{
	auto_buf struct buf entries = BUF_INIT(KEEPER_MAX_TEXT - 16 * 1024);
	auto_of(glob) struct glob *glob = NULL;
	int r = request->path2.len ? glob_new(request->path2, &glob) : 0;

	if (r < 0) {
		(void)close(fd);
		return r;
	}
	l->glob = glob;
	l->out = &entries;
	r = list_folder(l, fd, 0);
	if (r == 0)
		r = add_summary(l, request->path, request->path2, &answer->text);
	if (r == 0)
		r = buf_add_view(&answer->text, buf_view(&entries));
	l->glob = NULL;
	l->out = NULL;
	return r < 0 ? r : add_left_out(l, &answer->text);
}

int verb_list(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	struct listing l = { .flags = request->flags,
			     .names_left = LIST_MAX_NAMES_BYTES,
			     .limit = request->limit ? request->limit : LIST_DEFAULT,
			     .deadline =
				     clock_monotonic(&clock_system) + LIST_SECONDS * USEC_PER_SEC,
			     .path = BUF_INIT(KEEPER_MAX_PATH) };
	char shown[SHOW_MAX];
	struct place place;
	int fd, r;

	(void)in_fd;
	l.top = request->path;
	while (view_ends(l.top, VIEW("/")))
		l.top.len--;
	if (l.limit > LIST_MAX)
		l.limit = LIST_MAX;
	if (jail_resolve(k->workspace, request->path, JAIL_FOLLOW, &place, err) < 0)
		return -1;
	fd = jail_open_at(k->workspace, place.path, O_RDONLY | O_DIRECTORY);
	if (fd == -ENOTDIR)
		return fail(err, ENOTDIR, "%s is a file, not a folder; use read_file",
			    show_name(request->path, shown));
	if (fd < 0)
		return fail_errno(err, -fd, "list %s", show_name(request->path, shown));
	r = list(&l, fd, request, answer);
	buf_done(&l.path);
	answer->reply.number = l.shown;
	answer->reply.count = l.matched;
	if (r == -EINVAL)
		return fail(err, EINVAL, "the pattern is too complicated; use a simpler one");
	return r < 0 ? fail_errno(err, -r, "list %s", show_name(request->path, shown)) : 0;
}
