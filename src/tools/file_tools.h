/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools for files and code: read_file, write_file, edit_file, find_files, project_map. The work
 * on files is the keeper's; what needs a program (search, symbols, syntax checks) runs in the box.
 */
#ifndef BERTH_TOOLS_FILE_TOOLS_H
#define BERTH_TOOLS_FILE_TOOLS_H

#include "tools/call.h"
#include "tools/symbols.h"

/*
 * For all programs of a call together, whatever the sandbox has put in the place of ripgrep and
 * ctags. The largest projects that were measured take a quarter of it.
 */
enum { FILE_TOOL_SECONDS = 20 };

/* Registers them. `env` outlives the server. */
int file_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err) MUST_CHECK;

/* Their functions, for the table in file_tools.c. */
void read_file_tool(struct mcp_call *call, void *userdata);
void write_file_tool(struct mcp_call *call, void *userdata);
void edit_file_tool(struct mcp_call *call, void *userdata);
void find_files_tool(struct mcp_call *call, void *userdata);
void project_map_tool(struct mcp_call *call, void *userdata);

/*
 * What the state of each of these calls begins with, so that the steps they share (ctags.h,
 * symbol_lines.h, syntax.h) find their part of it.
 */
struct file_call {
	usec deadline;        /* for its programs; 0 until the first one */
	char *symbol_path;    /* owned */
	struct view symbol;   /* borrowed from the arguments */
	uint64_t first, last; /* its lines, once found */
	tool_ready_fn *found;
	struct {
		struct symbols symbols;
		struct buf output;
		struct view rest; /* of the output, to be read */
		bool is_cut;
		tool_ready_fn *fn;
	} ctags;               /* ctags.h */
	struct view syntax_of; /* the path that is checked (syntax.h) */
	struct buf text;       /* of the result */
};
void file_call_done(struct file_call *f);

/* Fails the call with the keeper's sentence if the reply is an error: true. */
bool file_tool_failed(struct tool_call *call, const struct keeper_reply *reply);

/* What is left of FILE_TOOL_SECONDS, which begin with the first question. */
usec file_tool_time_left(struct tool_call *call, struct file_call *f);

/*
 * False, having failed the call, when the program is missing, took too long, could not be started
 * or was killed (other than for its output's length).
 */
bool file_tool_ran(struct tool_call *call, const struct tool_output *output, const char *program);
/* The same where the output is that of xargs, which runs it. */
bool file_tool_ran_each(struct tool_call *call, const struct tool_output *output,
			const char *program);

/* A string argument; -1 after having failed the call. */
int file_tool_string(struct tool_call *call, const char *name, struct view *ret) MUST_CHECK;

#endif
