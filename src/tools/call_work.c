/* SPDX-License-Identifier: Apache-2.0 */
/* What a call waits for: keeper requests, helper programs, long work of its own. */
#include "tools/call_internal.h"

#include "sys/clock.h"
#include "sys/loop.h"
#include "tools/command.h"

#include <assert.h>
#include <signal.h>

/* One keeper request; its address is the engine's userdata, so that it can be forgotten alone. */
struct request {
	struct list item;
	struct tool_call *call;
	struct engine_files *files; /* borrowed; the sandbox is held */
	tool_reply_fn *fn;
};

struct helper {
	struct list item;
	struct tool_call *call;
	struct command *command;
	sd_event_source *timer;
	struct buf output;
	bool cut, timed_out;
	tool_output_fn *fn;
};

/* ---- keeper requests ---- */

static void on_reply(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct request *r = userdata;
	struct tool_call *call = r->call;
	tool_reply_fn *fn = r->fn;

	list_remove(&r->item);
	free(r);
	if (!reply) {
		tool_call_fail(call,
			       "the sandbox's file service ended during the call; the files are "
			       "kept, try again");
		return;
	}
	fn(call, call->state, reply, fd);
}

static bool may_grow(const struct keeper_request *request)
{
	return request->verb == KEEPER_WRITE || request->verb == KEEPER_EDIT;
}

void tool_call_files(struct tool_call *call, const struct keeper_request *request, int in_fd,
		     tool_reply_fn *fn)
{
	struct request *r;
	struct err err;

	if (may_grow(request) && sandbox_check_room(call->sandbox, &err) < 0) {
		tool_call_fail_err(call, &err);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		tool_call_fail_memory(call);
		return;
	}
	*r = (struct request){ .call = call, .files = sandbox_files(call->sandbox), .fn = fn };
	list_add_tail(&call->requests, &r->item);
	if (!r->files)
		(void)err_set(&err, ERR_BUSY, "the sandbox's file service has ended; try again");
	if (!r->files || engine_files_call(r->files, request, in_fd, on_reply, r, &err) < 0) {
		list_remove(&r->item);
		free(r);
		tool_call_fail_err(call, &err);
	}
}

/* ---- helper programs ---- */

static void helper_free(struct helper *h)
{
	list_remove(&h->item);
	sd_event_source_disable_unref(h->timer);
	buf_done(&h->output);
	free(h);
}

static void helper_output(void *userdata, struct view bytes)
{
	struct helper *h = userdata;

	if (h->cut)
		return;
	if (buf_add_view(&h->output, view_first(bytes, h->output.max - h->output.len)) < 0 ||
	    h->output.len == h->output.max) {
		h->cut = true;
		command_signal(h->command, SIGKILL);
	}
}

static void helper_ended(void *userdata, const struct engine_exit *exit)
{
	struct helper *h = userdata;
	struct tool_call *call = h->call;
	struct tool_output result = { .exit = h->timed_out ? NULL : exit, .cut = h->cut };

	if (exit->kind == ENGINE_LOST) {
		helper_free(h);
		tool_call_fail(call, "the container ended during the call; files in /workspace are "
				     "kept, try again");
		return;
	}
	tool_output_fn *fn = h->fn;

	result.output = buf_move(&h->output);
	helper_free(h);
	fn(call, call->state, &result);
	buf_done(&result.output);
}

static const struct command_events helper_events = { .output = helper_output,
						     .ended = helper_ended };

static int helper_timeout(sd_event_source *source, uint64_t usec_now, void *userdata)
{
	struct helper *h = userdata;

	(void)source;
	(void)usec_now;
	h->timed_out = true;
	command_signal(h->command, SIGKILL);
	return 0;
}

void tool_args_add(struct tool_args *args, const char *const *words)
{
	for (; *words; words++) {
		assert(args->n < TOOL_MAX_ARGS);
		args->argv[args->n++] = *words;
	}
	args->argv[args->n] = NULL;
}

static int helper_launch(struct helper *h, const struct tool_run *run, struct err *err)
{
	/* The helper's complaints are not part of its result. */
	static const char *const quiet[] = { "/bin/sh", "-c", "exec \"$@\" 2>/dev/null", "sh",
					     NULL };
	struct tool_args args = { .n = 0 };
	struct tool_env *env = h->call->env;
	struct command_spec spec = { .argv = args.argv,
				     .cwd = "/workspace",
				     .no_growth = sandbox_is_full(h->call->sandbox),
				     .input = run->input,
				     .stdin_fd = -1 };
	int r;

	tool_args_add(&args, quiet);
	tool_args_add(&args, run->argv);
	r = sd_event_add_time_relative(env->event, &h->timer, CLOCK_MONOTONIC, run->timeout, 0,
				       helper_timeout, h);
	if (r < 0)
		return err_sys(err, -r, "set a time-out");
	if (!sandbox_box(h->call->sandbox))
		return err_set(err, ERR_GONE,
			       "the container has ended; files in /workspace are kept, try again");
	return command_start(env->event, sandbox_box(h->call->sandbox), &spec, &helper_events, h,
			     &h->command, err);
}

void tool_call_run(struct tool_call *call, const struct tool_run *run, tool_output_fn *fn)
{
	struct helper *h = calloc(1, sizeof(*h));
	struct err err;

	if (!h) {
		tool_call_fail_memory(call);
		return;
	}
	*h = (struct helper){ .call = call, .fn = fn };
	buf_init(&h->output, run->max_output);
	list_add_tail(&call->helpers, &h->item);
	if (helper_launch(h, run, &err) < 0) {
		helper_free(h);
		tool_call_fail_err(call, &err);
	}
}

/* ---- long work ---- */

static int on_slice(sd_event_source *source, void *userdata)
{
	struct tool_call *call = userdata;
	usec end = clock_monotonic(call->env->clock) + TOOL_SLICE;
	int r;

	do
		r = call->step(call->state);
	while (r > 0 && clock_monotonic(call->env->clock) < end);
	if (r > 0)
		loop_wake(source);
	else if (r == 0)
		call->worked(call, call->state);
	else
		tool_call_fail_memory(call);
	return 0;
}

void tool_call_work(struct tool_call *call, tool_step_fn *step, tool_ready_fn *done)
{
	call->step = step;
	call->worked = done;
	if (!call->slice && loop_add_deferred(call->env->event, &call->slice, on_slice, call) < 0)
		tool_call_fail_memory(call);
	else
		loop_wake(call->slice);
}

/* ---- the end of all of it ---- */

void tool_call_forget_work(struct tool_call *call)
{
	struct list *it, *tmp;

	list_each(it, tmp, &call->requests)
	{
		struct request *r = container_of(it, struct request, item);

		engine_files_forget(r->files, r);
		free(r);
	}
	list_each(it, tmp, &call->helpers)
	{
		struct helper *h = container_of(it, struct helper, item);

		command_abandon(h->command);
		helper_free(h);
	}
	sd_event_source_disable_unref(call->slice);
}
