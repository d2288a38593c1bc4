/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path jail: the only way from a path to a descriptor.
 *
 * jail_resolve() follows a path by hand, one component at a time, to a place: a path without any
 * symbolic link. What is then opened is opened by the kernel from the workspace's descriptor with
 * RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV, so whoever swaps
 * a component in between gets a refusal (and the resolution is repeated a bounded number of times),
 * never a way out.
 *
 * Symbolic links: relative ones are followed while they stay inside. Absolute ones are followed
 * where they point into /workspace, which is what the workspace is called inside the sandbox; other
 * absolute ones are refused. For a path that does not exist yet the deepest existing part is
 * resolved; a link that leads to nothing or in circles is refused. With JAIL_KEEP_LAST the last
 * component alone is not followed: the place is then the link itself, to be replaced.
 */
#ifndef BERTH_KEEPER_JAIL_H
#define BERTH_KEEPER_JAIL_H

#include "keeper/fail.h"
#include "wire/keeper.h"

#include <sys/stat.h>

enum {
	JAIL_MAX_LINKS = 40, /* followed in one path, as the kernel's own limit */
	JAIL_MAX_TRIES = 64, /* against somebody who renames all the time */
};

enum jail_flags {
	JAIL_FOLLOW = 0,
	JAIL_NOFOLLOW = 1 << 0,  /* a link in any component is refused: ELOOP */
	JAIL_MAY_MISS = 1 << 1,  /* the last components need not exist */
	JAIL_KEEP_LAST = 1 << 2, /* a link that is the last component is the place itself */
};

struct place {
	char path[KEEPER_MAX_PATH]; /* without links, "." and ".."; "" is the workspace */
	size_t len;
	size_t existing; /* length of the part that exists; == len when all of it does */
};

static inline struct view place_view(const struct place *p)
{
	return view_of(p->path, p->len);
}

static inline bool place_exists(const struct place *p)
{
	return p->existing == p->len;
}

/* EXDEV: leads outside. ELOOP: a link refused or in circles. ENOENT, ENOTDIR, ENAMETOOLONG. */
int jail_resolve(int root, struct view path, enum jail_flags flags, struct place *ret,
		 struct err *err) MUST_CHECK;

/* openat2() of the place; returns the descriptor or -errno. Never creates. */
int jail_open_at(int root, const char *path, int flags) MUST_CHECK;

/*
 * Resolves and opens for reading or, with O_RDWR, for both: a regular file only (O_PATH: anything).
 * `st` describes what was opened.
 */
struct jail_file {
	struct place place;
	int fd;
	struct stat st;
};
int jail_open(int root, struct view path, enum jail_flags flags, int open_flags,
	      struct jail_file *ret, struct err *err) MUST_CHECK;

/*
 * Opens the folder that holds the place's last component, making folders (0755) that are missing.
 * *ret_name points into `place`. EINVAL for the workspace itself.
 */
int jail_open_parent(int root, const struct place *place, int *ret_fd, const char **ret_name,
		     struct err *err) MUST_CHECK;

/* "a folder", "a named pipe", … */
const char *jail_kind_of_mode(mode_t mode);

#endif
