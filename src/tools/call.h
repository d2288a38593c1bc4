/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call context: everything one tools/call may touch, and nothing global. A tool's function
 * begins with tool_call_begin(); its `ready` runs when the sandbox is held; it ends the call with
 * exactly one of tool_call_finish(), tool_call_finish_image() or tool_call_fail(). If the client
 * cancels first, no callback of the call runs any more and its state is released.
 */
#ifndef BERTH_TOOLS_CALL_H
#define BERTH_TOOLS_CALL_H

#include "mcp/mcp.h"
#include "sandbox/sandbox.h"

struct tool_call;
struct conf;
struct links;

enum { TOOL_ENV_MAX_TOOLS = 16 };

/* What tools share: the registered userdata of every tool. All borrowed; outlive the calls. */
struct tool_env {
	struct mcp_tool tools[TOOL_ENV_MAX_TOOLS]; /* what tool_env_add() registered */
	size_t n_tools;
	sd_event *event;
	const struct clock *clock;
	const struct conf *conf;
	struct sandboxes *sandboxes;
	struct links *links;
};

/*
 * Registers a copy of `tool` with this env as its userdata; the env outlives the server. What the
 * schema is made of is read here and not kept.
 */
int tool_env_add(struct tool_env *env, struct mcp_server *server, const struct mcp_tool *tool,
		 struct err *err) MUST_CHECK;

typedef void tool_ready_fn(struct tool_call *call, void *state);

struct tool_begin {
	const char *error_tag; /* "sandbox", "file", "present": errors start "[file error] " */
	size_t state_size; /* bytes of zeroed memory handed to the callbacks, freed with the call */
	void (*state_done)(void *state); /* may be NULL; runs before the state is freed */
	/*
	 * Reads the arguments into the state before anything is acquired, so that a wrong call
	 * costs no slot. -1 after having failed the call. May be NULL.
	 */
	int (*check)(struct tool_call *call, void *state);
	tool_ready_fn *ready;
};
/*
 * Waiting in the queue, refusals, and the `sandbox` argument are dealt with here. With
 * SANDBOX_NEED_EXISTING `ready` also runs without a sandbox (NULL) if there is none.
 */
void tool_call_begin(struct mcp_call *mcp, struct tool_env *env, enum sandbox_need need,
		     const struct tool_begin *begin);

struct mcp_call *tool_call_mcp(const struct tool_call *call);
struct tool_env *tool_call_env(const struct tool_call *call);
struct sandbox *tool_call_sandbox(const struct tool_call *call);
const json_t *tool_call_arguments(const struct tool_call *call);

/*
 * Ends the call with "[sandbox KEY] [new] [status]\n", notes, then `text`. `status` may be NULL
 * (nothing shown), e.g. "exit 0"; several are joined by "] [".
 */
void tool_call_finish(struct tool_call *call, const char *status, struct view text);
void tool_call_finish_image(struct tool_call *call, const char *status, struct view text,
			    struct view image, const char *mime);
/* Ends the call as an error: "[<tag> error] <sentence>", isError. */
void tool_call_fail(struct tool_call *call, const char *fmt, ...) PRINTF(2, 3);
void tool_call_fail_err(struct tool_call *call, const struct err *err);
void tool_call_fail_memory(struct tool_call *call);

/*
 * The path argument `name` as the keeper wants it: "/workspace/a/b", "a/b" and "./a/b" give "a/b";
 * "" and absent give "" (the workspace) if `optional`. Fails the call and returns -1 for an
 * absolute path elsewhere, NUL, over KEEPER_MAX_PATH. The view is borrowed from the arguments.
 */
enum tool_path_kind { TOOL_PATH_REQUIRED, TOOL_PATH_OPTIONAL };
int tool_call_path(struct tool_call *call, const char *name, enum tool_path_kind kind,
		   struct view *ret) MUST_CHECK;

/*
 * A keeper request; `fn` runs only while the call is alive. reply is never NULL (a lost keeper
 * fails the call by itself). `fd` must be taken.
 */
typedef void tool_reply_fn(struct tool_call *call, void *state, const struct keeper_reply *reply,
			   int fd);
void tool_call_files(struct tool_call *call, const struct keeper_request *request, int in_fd,
		     tool_reply_fn *fn);

/* The words of a helper program, collected. They are borrowed. */
enum { TOOL_MAX_ARGS = 64 };
struct tool_args {
	const char *argv[TOOL_MAX_ARGS + 1]; /* NULL-terminated */
	size_t n;
};
void tool_args_add(struct tool_args *args, const char *const *words);

/*
 * Runs a helper program in the box (rg, ctags, a syntax check) as root in /workspace, stderr
 * discarded, and collects its output up to `max_output` bytes (then it is killed and `cut` is
 * true). For calls that began with SANDBOX_NEED_BOX. `exit` is NULL when it ran out of `timeout`.
 * The output may be moved out of the result.
 */
struct tool_run {
	const char *const *argv;
	struct view input; /* on stdin; copied */
	size_t max_output;
	usec timeout;
};
struct tool_output {
	const struct engine_exit *exit;
	struct buf output;
	bool cut;
};
typedef void tool_output_fn(struct tool_call *call, void *state, struct tool_output *result);
void tool_call_run(struct tool_call *call, const struct tool_run *run, tool_output_fn *fn);

/*
 * Long work on the loop's thread, in slices of TOOL_SLICE; everybody else is served in between.
 * `step` does a little of it, well under a millisecond: 1 when there is more, 0 at the end (then
 * `done` runs), -ENOMEM, which fails the call. One at a time.
 */
#define TOOL_SLICE (2 * USEC_PER_MSEC)
typedef int tool_step_fn(void *state);
void tool_call_work(struct tool_call *call, tool_step_fn *step, tool_ready_fn *done);

#endif
