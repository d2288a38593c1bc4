/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emptying a folder that somebody hostile has filled. Paths and recursion would grow with its
 * depth, so it is flattened: each sub-folder met is renamed up into one trash folder under a
 * number, and the numbers are worked through in order. Descriptors and memory stay constant.
 */
#include "keeper/keeper_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

enum {
	DENTS_BYTES = 64 * 1024,
	MAX_STALLS = 4, /* rounds without any progress before it is given up */
	RELIEF = 64,    /* entries deleted at a full quota before it is tried again */
	NAME_BYTES = 40,
};

struct sweep {
	int trash;
	char trash_name[NAME_BYTES];
	uint64_t next, done; /* numbers in the trash: the next free one, the next to work on */
	int64_t deleted;     /* less the trash folder, while that is there */
	int error;           /* the last one, negative; only reported when nothing moves any more */
};

bool is_no_room(int r)
{
	return r == -EDQUOT || r == -ENOSPC;
}

typedef void entry_fn(struct sweep *s, int dir, const char *name);

static bool is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Calls `fn` for every entry but the trash; returns how many there were, or -errno. */
static int64_t each_entry(struct sweep *s, int dir, entry_fn *fn)
{
	_Alignas(struct dirent64) char dents[DENTS_BYTES];
	int64_t entries = 0;

	if (lseek(dir, 0, SEEK_SET) < 0)
		return -errno;
	for (;;) {
		ssize_t n = getdents64(dir, dents, sizeof(dents));

		if (n < 0)
			return -errno;
		if (n == 0)
			return entries;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(dents + at);

			at += e->d_reclen;
			if (is_dot(e->d_name) || strcmp(e->d_name, s->trash_name) == 0)
				continue;
			entries++;
			if (fn)
				fn(s, dir, e->d_name);
		}
	}
}

/* Deletes a file or an empty folder; false, with the reason in s->error, when it is neither. */
static bool remove_simple(struct sweep *s, int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0) {
		s->deleted++;
		return true;
	}
	s->error = -errno;
	return errno == ENOENT;
}

static void remove_if_simple(struct sweep *s, int dir, const char *name)
{
	(void)remove_simple(s, dir, name);
}

/* A sub-folder of `dir` to go into, or -ENOENT. */
static int open_a_folder(int dir)
{
	_Alignas(struct dirent64) char dents[DENTS_BYTES];
	ssize_t n;

	if (lseek(dir, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = getdents64(dir, dents, sizeof(dents))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(dents + at);
			int fd;

			at += e->d_reclen;
			if (is_dot(e->d_name))
				continue;
			fd = openat(dir, e->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd >= 0)
				return fd;
		}
	}
	return n < 0 ? -errno : -ENOENT;
}

/* Takes `dir`. Deletes the files and empty folders of the first one on a way down that has any. */
static int relieve_once(struct sweep *s, int dir)
{
	int64_t before = s->deleted;

	while (dir >= 0) {
		int64_t r = each_entry(s, dir, remove_if_simple);
		int below = r > 0 && s->deleted == before ? open_a_folder(dir) : -ENOENT;

		(void)close(dir);
		if (r < 0)
			return (int)r;
		dir = below;
	}
	return s->deleted == before ? -ENOSPC : 0;
}

/*
 * Where the quota is so full that a folder can neither be made nor renamed: deletes some of what
 * is below `name` of `parent`, if anything is there. More than one entry, for trying again may
 * cost the file system a whole transaction.
 */
static int relieve(struct sweep *s, int parent, const char *name)
{
	int64_t enough = s->deleted + RELIEF;
	int r = 0;

	for (int64_t before = s->deleted; r == 0 && s->deleted < enough;) {
		int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		r = dir < 0 ? -errno : relieve_once(s, dir);
		if (r == -ENOSPC && s->deleted > before)
			return 0;
	}
	return r;
}

static int move(struct sweep *s, int dir, const char *name)
{
	char number[NAME_BYTES];

	(void)snprintf(number, sizeof(number), "%" PRIu64, s->next);
	if (renameat(dir, name, s->trash, number) < 0)
		return -errno;
	s->next++;
	return 0;
}

static void remove_or_move(struct sweep *s, int dir, const char *name)
{
	while (!remove_simple(s, dir, name)) {
		int r = move(s, dir, name);

		if (is_no_room(r))
			r = relieve(s, dir, name) < 0 ? r : 1;
		if (r < 0)
			s->error = r;
		if (r <= 0)
			return;
	}
}

/* Until a pass finds nothing, or changes nothing (what is left is reported by the caller). */
static int drain(struct sweep *s, int dir)
{
	for (;;) {
		int64_t before = s->deleted + (int64_t)s->next;
		int64_t found = each_entry(s, dir, remove_or_move);

		if (found < 0)
			return (int)found;
		if (!found || s->deleted + (int64_t)s->next == before)
			return 0;
	}
}

/*
 * One folder of the trash. What could not be emptied (too many links in the trash, a full quota)
 * goes to the end of the queue: room appears as others are deleted.
 */
static int drain_numbered(struct sweep *s)
{
	char number[NAME_BYTES], later[NAME_BYTES];
	int r;

	(void)snprintf(number, sizeof(number), "%" PRIu64, s->done);
	s->done++;
	auto_fd int dir = openat(s->trash, number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	r = drain(s, dir);
	if (r < 0)
		return r;
	if (unlinkat(s->trash, number, AT_REMOVEDIR) == 0) {
		s->deleted++;
		return 0;
	}
	(void)snprintf(later, sizeof(later), "%" PRIu64, s->next);
	if (renameat(s->trash, number, s->trash, later) < 0)
		return -errno;
	s->next++;
	return 0;
}

static int drain_trash(struct sweep *s)
{
	uint64_t round_end = s->next;
	int64_t deleted = s->deleted;
	int stalls = 0;

	while (s->done < s->next) {
		int r = drain_numbered(s);

		if (r < 0)
			return r;
		if (s->done < round_end)
			continue;
		/* A round with all that was queued at its start. */
		stalls = s->deleted == deleted ? stalls + 1 : 0;
		if (stalls > MAX_STALLS)
			return s->error ? s->error : -ENOTEMPTY;
		deleted = s->deleted;
		round_end = s->next;
	}
	return 0;
}

static int make_trash(struct sweep *s, int dir)
{
	uint64_t tag;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -EIO;
	(void)snprintf(s->trash_name, sizeof(s->trash_name), ".trash-%016" PRIx64, tag);
	while (mkdirat(dir, s->trash_name, 0700) < 0) {
		int r = -errno;

		if (is_no_room(r))
			r = relieve(s, dir, ".");
		if (r < 0)
			return r;
	}
	s->deleted--;
	s->trash = openat(dir, s->trash_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->trash < 0 ? -errno : 0;
}

static int sweep_once(struct sweep *s, int dir)
{
	int r = make_trash(s, dir);

	if (r == 0)
		r = drain(s, dir);
	if (r == 0)
		r = drain_trash(s);
	if (s->trash >= 0)
		(void)close(s->trash);
	if (r == 0 && unlinkat(dir, s->trash_name, AT_REMOVEDIR) < 0)
		r = -errno;
	if (r == 0)
		s->deleted++;
	return r;
}

int empty_folder(int dir)
{
	int64_t deleted = 0, most = 0;
	int stalls = 0;

	for (;;) {
		struct sweep s = { .trash = -1 };
		int64_t left = each_entry(&s, dir, NULL);
		int r;

		if (left < 0)
			return (int)left;
		if (left == 0)
			return 0;
		r = sweep_once(&s, dir);
		deleted += s.deleted;
		if (deleted > most) {
			most = deleted;
			stalls = 0;
			continue;
		}
		/* Something new may have appeared, or an old sweep's trash have been in the way. */
		if (++stalls > MAX_STALLS)
			return r < 0 ? r : s.error ? s.error : -ENOTEMPTY;
	}
}
