/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cheap look at whether a file still parses, by the standard tool of its kind, in the box if one
 * runs (none is started for it). It only adds a line to a result; it never fails a call.
 */
#ifndef BERTH_TOOLS_SYNTAX_H
#define BERTH_TOOLS_SYNTAX_H

#include "tools/file_tools.h"

/* Ends the call with f->text and what the check of `path` says, if there is one for its kind. */
void syntax_check_and_finish(struct tool_call *call, struct file_call *f, struct view path);

#endif
