/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a project_map call, and the three things that the tool can do. */
#ifndef BERTH_TOOLS_PROJECT_MAP_H
#define BERTH_TOOLS_PROJECT_MAP_H

#include "tools/file_tools.h"
#include "tools/map_report.h"

struct map_call {
	struct file_call file; /* first */
	struct view path, query;
	char *path_arg; /* "./path" */

	struct map_walk {
		struct map_files *files;    /* being filled; the sandbox shares it when complete */
		struct map_files *old;      /* the sandbox's, of the same folder; or NULL */
		bool no_ignore;             /* .gitignore left nothing: list without it */
		bool is_late;               /* no time was left to scan all imports */
		struct buf output;          /* of a program, while it is read */
		struct view listing;        /* what of it is left, when it is the listing, */
		struct map_scan scan;       /* and when it is imports */
		enum map_language language; /* being scanned */
		enum map_phase { MAP_INDEX, MAP_LINK, MAP_SHAPE, MAP_DONE } phase;
		size_t at;    /* the next file of this phase or language */
		size_t batch; /* the first one that is being scanned */
		struct map_index *index;
		struct map_links links;
		struct map_shape shape;
	} walk;

	struct buf uses; /* ripgrep's output for a query */
	bool uses_cut;
};

/* The shape of the folder (map_overview.c). */
void map_overview(struct tool_call *call, struct map_call *m);
void map_overview_done(struct map_walk *walk);
/* Symbols and imports of the file (map_outline.c). */
void map_outline(struct tool_call *call, struct map_call *m);
/* Where the name is defined and used (map_query.c). */
void map_query(struct tool_call *call, struct map_call *m);

/* A program with the limits that all of them have. */
void map_run(struct tool_call *call, struct map_call *m, const struct tool_args *args,
	     struct view input, size_t max_output, tool_output_fn *fn);
/* ripgrep's words to pull imports out of files of the language; those follow. */
void map_add_import_search(struct tool_args *args, enum map_language language);
/* Ends the call with the text. */
void map_finish(struct tool_call *call, const struct map_call *m);

#endif
