/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the file that an import may mean: by path, by the end of a path. An index lives only as
 * long as a report is made.
 */
#ifndef BERTH_TOOLS_MAP_INDEX_H
#define BERTH_TOOLS_MAP_INDEX_H

#include "tools/map_files.h"

enum { MAP_MAX_PATH = 4096 };

/* A hash table of the files by the last component of their paths: positions plus one, 0 is none. */
struct map_index {
	const struct map_files *files;
	uint32_t *first; /* by hash */
	uint32_t *next;  /* by position: the file before it with the same hash */
	size_t mask;
	struct view go_module; /* what go.mod says; "" if there is none */
	struct view go_root;   /* the folder of go.mod */
};

/*
 * An empty index. NULL when out of memory. Borrows `files`. Filling it is done in parts,
 * files[from, to), so that the loop goes on in between.
 */
struct map_index *map_index_new(const struct map_files *files) MUST_CHECK;
void map_index_add(struct map_index *index, size_t from, size_t to);
void map_index_free(struct map_index *index);
DEFINE_CLEANUP(map_index)

/* Without a slash at the end; "" for what lies at the top. */
struct view map_folder_of(struct view path);
/* folder/path without "." and ".." in *out; false when it leaves the project. */
bool map_join(struct buf *out, struct view folder, struct view path);
/* Adds "a.b.c" as a/b/c; false when it does not fit. */
bool map_dotted_path(struct view name, struct buf *out);
/* The file `path` with one of the endings (each followed by a blank; "-" is none), or NULL. */
const struct map_file *map_with_ending(const struct map_index *index, struct view path,
				       const char *endings);
/* The file whose path is `suffix` or ends in "/suffix"; the shortest path, if there are several. */
const struct map_file *map_by_suffix(const struct map_index *index, struct view suffix);
/* Whether there are files below `folder`. */
bool map_has_folder(const struct map_index *index, struct view folder);

#endif
