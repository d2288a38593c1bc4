/* SPDX-License-Identifier: Apache-2.0 */
/* Universal Ctags in the box, and what it says as a list of symbols. */
#ifndef BERTH_TOOLS_CTAGS_H
#define BERTH_TOOLS_CTAGS_H

#include "tools/file_tools.h"

/*
 * Fills f->ctags.symbols with those of one file ("./dir/file.c"), or of a list with one on each
 * line, then runs `fn`. Fails the call when ctags is missing or takes too long.
 */
void ctags_of_file(struct tool_call *call, struct file_call *f, const char *path,
		   tool_ready_fn *fn);
void ctags_of_list(struct tool_call *call, struct file_call *f, struct view list,
		   tool_ready_fn *fn);

#endif
