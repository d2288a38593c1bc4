/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns for paths. * and ? do not match a slash, [a-z] and [!a-z] are sets, {a,b} alternatives,
 * \ takes the next byte as it is; ** as a whole component stands for any number of components. A
 * pattern without a slash is matched against the last component only. A leading dot is nothing
 * special. Matching takes time proportional to pattern times path.
 */
#ifndef BERTH_KEEPER_GLOB_H
#define BERTH_KEEPER_GLOB_H

#include "base/buf.h"

enum {
	GLOB_MAX_ALTERNATIVES = 64,
	GLOB_MAX_PARTS = 64, /* components of a pattern or a path */
};

struct glob;

/* -EINVAL for a pattern with too many alternatives or parts; -ENOMEM. */
int glob_new(struct view pattern, struct glob **ret) MUST_CHECK;
void glob_free(struct glob *g);
DEFINE_CLEANUP(glob)

bool glob_match(const struct glob *g, struct view path);

#endif
