/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What project_map says, within a few thousand tokens: the shape of a project, one file's outline,
 * where a name is defined.
 */
#ifndef BERTH_TOOLS_MAP_REPORT_H
#define BERTH_TOOLS_MAP_REPORT_H

#include "tools/map_shape.h"
#include "tools/symbols.h"

enum {
	MAP_MAX_REPORT = 64 * 1024,
	MAP_MAX_OUTLINE = 400, /* symbols of one file */
};

/* The overview up to the most important files; sorts the folders. As buf_add(). */
int map_report_shape(struct buf *out, const struct map_files *m,
		     struct map_shape *shape) MUST_CHECK;
/* Each of the top files with its importers and symbols. */
int map_report_top(struct buf *out, const struct map_files *m, const struct map_top *top,
		   const struct map_links *links, const struct symbols *symbols) MUST_CHECK;
/* Imports that resolve to nothing. */
int map_report_missing(struct buf *out, const struct map_files *m,
		       const struct map_links *links) MUST_CHECK;
/* One import as the file has it, more or less. */
int map_report_import(struct buf *out, enum map_language language, struct view import) MUST_CHECK;
/* "12-40  function main(int argc, char **argv)", indented by scope. */
int map_report_outline(struct buf *out, const struct symbols *symbols) MUST_CHECK;
/* The symbols named `name`, with their addresses; how many in *ret_n. */
int map_report_definitions(struct buf *out, const struct symbols *symbols, struct view name,
			   uint64_t *ret_n) MUST_CHECK;

#endif
