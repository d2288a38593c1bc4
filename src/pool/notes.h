/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keys are to be told once, when they come back. At most POOL_MAX_NOTES; the oldest goes
 * first, since most of those keys never return. Only the pool uses it.
 */
#ifndef BERTH_POOL_NOTES_H
#define BERTH_POOL_NOTES_H

#include "base/list.h"
#include "base/map.h"
#include "pool/pool.h"

struct notes {
	struct map *by_key;
	struct list oldest_first;
};

int notes_init(struct notes *notes) MUST_CHECK;
void notes_done(struct notes *notes);

/* Replaces the key's note. Without memory for it the key is not told: no reason to fail. */
void notes_put(struct notes *notes, const char *key, enum pool_note what);
enum pool_note notes_take(struct notes *notes, const char *key);

#endif
