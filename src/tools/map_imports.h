/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From import lines to files: which file of the project each one means, by the rules of the
 * language as far as paths tell.
 */
#ifndef BERTH_TOOLS_MAP_IMPORTS_H
#define BERTH_TOOLS_MAP_IMPORTS_H

#include "tools/map_index.h"

enum map_resolution {
	MAP_FOUND,
	MAP_EXTERNAL, /* of the system or a package, or it cannot be told */
	MAP_MISSING,  /* should be in the project and is not */
};

/* What `import` (as ripgrep pulled it out of `from`) means; *ret is set for MAP_FOUND. */
enum map_resolution map_resolve(const struct map_index *index, const struct map_file *from,
				struct view import, const struct map_file **ret);

/* MAP_FOUND with *ret, if there is a file; else `otherwise`. */
enum map_resolution map_found_or(const struct map_file *f, enum map_resolution otherwise,
				 const struct map_file **ret);
/* The rules of Python, which are longer than others: "module:names" in a file of `folder`. */
enum map_resolution map_resolve_python(const struct map_index *index, struct view folder,
				       struct view import, const struct map_file **ret);

enum { MAP_MISSING_KEPT = 20 };

/* What the imports of a project say, once all are resolved. */
struct map_links {
	uint32_t *importers; /* by position in files->file: how often it is imported */
	struct map_missing {
		const struct map_file *from; /* the first one */
		struct view import;          /* borrowed from the files */
		uint64_t n;                  /* files that have it */
	} missing[MAP_MISSING_KEPT];         /* the first ones */
	size_t n_missing;
	uint64_t n_more_missing; /* imports beside those */
};

/* Resolves the imports of files[from, to) with a complete index. */
void map_links_add(struct map_links *links, const struct map_index *index, size_t from, size_t to);

#endif
