/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from byte strings to pointers. Keys are copied. The hash is keyed per process
 * (SipHash), so that keys from outside cannot be chosen to collide.
 */
#ifndef BERTH_BASE_MAP_H
#define BERTH_BASE_MAP_H

#include "base/buf.h"

struct map;

/* NULL when out of memory. */
struct map *map_new(void) MUST_CHECK;
/* Frees the table and its keys, not the values. */
void map_free(struct map *m);
DEFINE_CLEANUP(map)

size_t map_count(const struct map *m);
/* The value, or NULL. */
void *map_get(const struct map *m, struct view key);
/* Adds or replaces; `value` is not NULL. Returns the value it replaced in *ret_old (NULL if none;
 * may itself be NULL). -ENOMEM leaves the table as it was. */
int map_put(struct map *m, struct view key, void *value, void **ret_old) MUST_CHECK;
/* Removes and returns the value, or NULL. */
void *map_remove(struct map *m, struct view key);
/*
 * Iteration: *at starts at 0; returns the next value, NULL at the end. Removing the current entry
 * is allowed, adding is not.
 */
void *map_next(const struct map *m, size_t *at, struct view *ret_key);

#endif
