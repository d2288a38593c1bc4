/* SPDX-License-Identifier: Apache-2.0 */
/* The tool reset_sandbox: recycle or empty on request. */
#include "tools/core_tools.h"

struct reset {
	enum sandbox_reset what;
	struct pending *pending; /* while the reset is under way */
};

/* Outlives the call: a client that leaves does not stop a reset. */
struct pending {
	struct tool_call *call; /* borrowed, with `reset` */
	struct reset *reset;    /* the call's state; NULL once the call is gone */
};

static int check(struct tool_call *call, void *state)
{
	struct reset *reset = state;
	struct view what = VIEW_INIT("");
	struct err err;

	if (json_get_string(tool_call_arguments(call), "what", &what, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	if (view_is_nocase(what, "container")) {
		reset->what = SANDBOX_RESET_BOX;
	} else if (view_is_nocase(what, "everything")) {
		reset->what = SANDBOX_RESET_EVERYTHING;
	} else {
		tool_call_fail(call,
			       "what must be container (packages and processes go, files stay) "
			       "or everything (the files in /workspace go too)");
		return -1;
	}
	return 0;
}

static void on_reset(void *userdata, const struct err *err)
{
	static const struct view box = VIEW_INIT("The container is gone with its packages and "
						 "processes; files in /workspace are kept. "
						 "The next command starts a fresh one.\n");
	static const struct view everything = VIEW_INIT("The sandbox is empty: packages, processes "
							"and all files in /workspace are gone. The "
							"next command starts a fresh container.\n");
	struct pending *pending = userdata;
	struct tool_call *call = pending->call;
	struct reset *reset = pending->reset;

	free(pending);
	if (!reset)
		return;
	reset->pending = NULL;
	if (err)
		tool_call_fail_err(call, err);
	else
		tool_call_finish(call, "reset",
				 reset->what == SANDBOX_RESET_BOX ? box : everything);
}

static void ready(struct tool_call *call, void *state)
{
	struct reset *reset = state;
	struct pending *pending = calloc(1, sizeof(*pending));
	struct err err;

	if (!pending) {
		tool_call_fail_memory(call);
		return;
	}
	*pending = (struct pending){ .call = call, .reset = reset };
	if (sandbox_reset(tool_call_sandbox(call), reset->what, on_reset, pending, &err) < 0) {
		free(pending);
		tool_call_fail_err(call, &err);
		return;
	}
	reset->pending = pending;
}

static void done(void *state)
{
	struct reset *reset = state;

	if (reset->pending)
		reset->pending->reset = NULL;
}

static const struct tool_begin begin = {
	.error_tag = "sandbox",
	.state_size = sizeof(struct reset),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void reset_sandbox_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin);
}
