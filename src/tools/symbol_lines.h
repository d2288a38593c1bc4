/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From "path:symbol" to lines: ctags in the box finds the symbol; where its parser does not know
 * the end (JavaScript, TypeScript, Rust), brackets are counted.
 */
#ifndef BERTH_TOOLS_SYMBOL_LINES_H
#define BERTH_TOOLS_SYMBOL_LINES_H

#include "tools/file_tools.h"

/* Splits "dir/file.c:name"; false if `path` is not of that form. */
bool symbol_lines_split(struct view path, struct view *ret_file, struct view *ret_name);

/* Finds first and last, then runs `found`; fails the call if there is no such symbol, or several.
 */
void symbol_lines_find(struct tool_call *call, struct file_call *f, struct view file,
		       struct view name, tool_ready_fn *found);

#endif
