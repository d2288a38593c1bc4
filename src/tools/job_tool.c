/* SPDX-License-Identifier: Apache-2.0 */
/* The tool job: the rest of a running command. */
#include "tools/core_tools.h"

#include "conf/conf.h"
#include "tools/job.h"

enum { MAX_RESULT_BYTES = 960 * 1024, DEFAULT_WAIT_S = 30 };

enum action { ACTION_WAIT, ACTION_STDIN, ACTION_STOP };

struct wait {
	uint32_t id, wait_s;
	enum action action;
	struct view input;
	struct tool_call *call;
	struct job *job;
	struct job_waiter waiter;
	sd_event_source *timer;
};

uint32_t job_default_wait(const struct conf *conf)
{
	return DEFAULT_WAIT_S < conf->call_limit ? DEFAULT_WAIT_S : conf->call_limit;
}

static int read_action(const json_t *args, enum action *ret, struct err *err)
{
	static const char *const names[] = { "wait", "stdin", "stop" };
	struct view name = VIEW_INIT("wait");

	if (json_get_string(args, "action", &name, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (view_is_nocase(name, names[i])) {
			*ret = (enum action)i;
			return 0;
		}
	return err_set(err, ERR_INVALID, "action must be wait, stdin or stop");
}

static int check(struct tool_call *call, void *state)
{
	const json_t *args = tool_call_arguments(call);
	const struct conf *conf = tool_call_env(call)->conf;
	struct wait *wait = state;
	struct err err;

	wait->wait_s = job_default_wait(conf);
	list_init(&wait->waiter.item);
	if (json_get_u32(args, "job", 1, UINT32_MAX, &wait->id, &err) < 0 ||
	    json_get_u32(args, "wait_seconds", 0, conf->call_limit, &wait->wait_s, &err) < 0 ||
	    json_get_string(args, "stdin", &wait->input, &err) < 0 ||
	    read_action(args, &wait->action, &err) < 0)
		goto fail;
	if (wait->id == 0) {
		(void)err_set(&err, ERR_INVALID,
			      "job is missing: give the number that run_command returned");
		goto fail;
	}
	if (wait->action == ACTION_STDIN && wait->input.len == 0) {
		(void)err_set(&err, ERR_INVALID,
			      "stdin is missing: give the text to send, with its line feed");
		goto fail;
	}
	return 0;

fail:
	tool_call_fail_err(call, &err);
	return -1;
}

static void report(struct wait *wait)
{
	auto_buf struct buf status = BUF_INIT(512);
	auto_buf struct buf text = BUF_INIT(MAX_RESULT_BYTES);
	struct err err;

	job_wait_cancel(&wait->waiter);
	if (job_report(wait->job, &status, &text, &err) < 0) {
		if (text.len)
			tool_call_fail(wait->call, "%s\nIts output until then:\n%s",
				       err_public(&err), buf_str(&text));
		else
			tool_call_fail_err(wait->call, &err);
		return;
	}
	tool_call_finish(wait->call, buf_str(&status), buf_view(&text));
}

static void on_ended(void *userdata)
{
	report(userdata);
}

static int on_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source;
	(void)now;
	report(userdata);
	return 0;
}

static void fail_unknown(struct tool_call *call, uint32_t id)
{
	tool_call_fail(
		call,
		"there is no job %u in this sandbox. Jobs end with their container, and long "
		"ended ones are forgotten; output that was kept is in "
		"/workspace/.berth/output",
		id);
}

static void ready(struct tool_call *call, void *state)
{
	struct tool_env *env = tool_call_env(call);
	struct wait *wait = state;
	struct err err;
	int r;

	wait->call = call;
	wait->job = job_find(tool_call_sandbox(call), wait->id);
	if (!wait->job) {
		fail_unknown(call, wait->id);
		return;
	}
	if (wait->action == ACTION_STDIN && job_input(wait->job, wait->input, &err) < 0) {
		tool_call_fail_err(call, &err);
		return;
	}
	if (wait->action == ACTION_STOP)
		job_stop(wait->job);
	if (job_has_ended(wait->job)) {
		report(wait);
		return;
	}
	wait->waiter.ended = on_ended;
	wait->waiter.userdata = wait;
	job_wait(wait->job, &wait->waiter);
	r = sd_event_add_time_relative(env->event, &wait->timer, CLOCK_MONOTONIC,
				       wait->wait_s * USEC_PER_SEC, 0, on_timer, wait);
	if (r < 0)
		report(wait);
}

static void done(void *state)
{
	struct wait *wait = state;

	job_wait_cancel(&wait->waiter);
	sd_event_source_disable_unref(wait->timer);
}

static const struct tool_begin begin = {
	.error_tag = "job",
	.state_size = sizeof(struct wait),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void job_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin);
}
