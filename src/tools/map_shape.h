/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a project: what a walk over its files adds up to once their imports are resolved.
 */
#ifndef BERTH_TOOLS_MAP_SHAPE_H
#define BERTH_TOOLS_MAP_SHAPE_H

#include "tools/map_imports.h"

enum {
	MAP_TOP_FILES = 15,
	MAP_LISTED = 15,        /* entry points, project files */
	MAP_MAX_FOLDERS = 2000, /* that are told apart */
};

/* The files that matter most, best first: entry points and what many others import. */
struct map_top {
	const struct map_file *file[MAP_TOP_FILES];
	uint64_t score[MAP_TOP_FILES];
	size_t n;
};

struct map_list {
	const struct map_file *file[MAP_LISTED];
	size_t n;
};

struct map_shape {
	uint64_t files[MAP_NUM_LANGUAGES], bytes[MAP_NUM_LANGUAGES];
	struct map_folder {
		struct view name; /* borrowed from the files; relative to their root */
		uint64_t files;
	} * folder; /* owned */
	size_t n_folders;
	struct map *folder_by_name;
	struct map_list entry_points, project_files;
	struct map_top top;
};

/* Starts with an empty one. -ENOMEM. */
int map_shape_init(struct map_shape *shape) MUST_CHECK;
void map_shape_done(struct map_shape *shape);
#define auto_map_shape CLEANUP(map_shape_done)
/* Looks at files[from, to). -ENOMEM. */
int map_shape_add(struct map_shape *shape, const struct map_files *m, const struct map_links *links,
		  size_t from, size_t to) MUST_CHECK;

#endif
