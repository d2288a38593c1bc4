/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots whose disk space the kernel does not bound: what is measured is judged here. Pure decisions
 * over what the owner measured; nothing is remembered here, no clock is read.
 */
#ifndef BERTH_POOL_DISK_H
#define BERTH_POOL_DISK_H

#include "base/usec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one slot; 0: not to be measured, since the kernel bounds it. */
struct disk_limits {
	uint64_t workspace, layer; /* bytes */
	uint64_t files;            /* files and folders in both */
};

struct disk_use {
	uint64_t workspace, layer, files;
	bool is_too_deep; /* the rest is a lower bound */
};

enum disk_full {
	DISK_HAS_ROOM,
	DISK_WORKSPACE,
	DISK_LAYER,
	DISK_FILES,
	DISK_TOO_DEEP, /* not known, which would be a way to hide bytes */
};

/* For limits of this many bytes; each 0 if the kernel bounds that. */
struct disk_limits disk_limits_of(uint64_t workspace, uint64_t layer);
bool disk_is_measured(const struct disk_limits *limits);
/* What is over its limit. */
enum disk_full disk_judge(const struct disk_limits *limits, const struct disk_use *use);
/*
 * Whether a slot that is full takes up more than it did: what is deleted there may leave its marks,
 * so a little more does not count.
 */
bool disk_has_grown(const struct disk_use *before, const struct disk_use *now);
/*
 * Until the next measurement: measuring takes at most a twentieth of the time, where the pause for
 * that is not more than a minute. It has no lower priority than a tenant's work, who could keep it
 * from ever ending.
 */
usec disk_pause(const struct disk_limits *limits, const struct disk_use *use, usec took);

/* ---- the reserve of the file system that all of them share ---- */

/* A container that runs. */
struct disk_grower {
	uint32_t slot;
	usec measured;  /* when its last measurement began, 0: never */
	uint64_t grown; /* bytes since it started */
};

enum disk_guard {
	DISK_GUARD_NOTHING,
	DISK_GUARD_MEASURE, /* all of them, now */
	DISK_GUARD_END,     /* the one at *ret_at */
};

/*
 * For as long as less is free than the reserve (`is_low`): has everyone measured anew, and then the
 * one that grew most ended, one at a time. Nobody is ended who did not grow. *low_since is the
 * caller's to keep, 0 at first.
 */
enum disk_guard disk_guard(usec *low_since, bool is_low, const struct disk_grower *growers,
			   size_t n, usec now, size_t *ret_at);

#endif
