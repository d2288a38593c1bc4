/* SPDX-License-Identifier: Apache-2.0 */
/* The call context inside, for call.c (its beginning and end) and call_work.c (what it waits for).
 */
#ifndef BERTH_TOOLS_CALL_INTERNAL_H
#define BERTH_TOOLS_CALL_INTERNAL_H

#include "base/list.h"
#include "tools/call.h"

struct tool_call {
	struct mcp_call *mcp;
	struct tool_env *env;
	const struct tool_begin *begin;
	enum sandbox_need need;
	struct sandbox_wait *wait; /* while the sandbox is being acquired */
	struct sandbox *sandbox;   /* held */
	bool is_new_box;
	char notes[SANDBOX_MAX_NOTE];
	struct list requests;   /* struct request: keeper requests under way */
	struct list helpers;    /* struct helper: programs under way */
	sd_event_source *slice; /* of long work */
	tool_step_fn *step;
	tool_ready_fn *worked;
	void *state;
};

/* No callback of a request, a program or long work runs any more. */
void tool_call_forget_work(struct tool_call *call);

#endif
