/* SPDX-License-Identifier: Apache-2.0 */
/* The tool run_command: a shell command in the container. */
#include "tools/core_tools.h"

#include "conf/conf.h"
#include "tools/job.h"

#include <stdio.h>

enum {
	MAX_COMMAND_BYTES = 1024 * 1024,
	MAX_RESULT_BYTES = 960 * 1024,
	PROGRESS_S = 5,
	BACKGROUND_LOOK_S = 1, /* a background command that fails at once is reported as failed */
};

struct run {
	struct view command, cwd, input;
	uint32_t timeout_s;
	bool background;
	struct tool_call *call;
	struct job *job; /* NULL once it was reported as ended or left running */
	struct job_waiter waiter;
	sd_event_source *limit, *progress;
	usec started;
};

/* ---- arguments ---- */

static int check_length(struct tool_call *call, const char *name, struct view v, size_t max)
{
	if (v.len > max) {
		tool_call_fail(call, "%s has %zu bytes; at most %zu are possible", name, v.len,
			       max);
		return -1;
	}
	return 0;
}

static int read_arguments(struct tool_call *call, struct run *run, struct err *err)
{
	const json_t *args = tool_call_arguments(call);
	const struct conf *conf = tool_call_env(call)->conf;

	run->background = false;
	run->timeout_s = 0;
	run->cwd = VIEW("/workspace");
	if (json_get_string(args, "command", &run->command, err) < 0 ||
	    json_get_string(args, "cwd", &run->cwd, err) < 0 ||
	    json_get_string(args, "stdin", &run->input, err) < 0 ||
	    json_get_bool(args, "background", &run->background, err) < 0 ||
	    json_get_u32(args, "timeout_seconds", 1, conf->max_timeout, &run->timeout_s, err) < 0)
		return -1;
	if (run->timeout_s == 0)
		run->timeout_s = run->background ? conf->max_timeout : conf->command_timeout;
	if (run->command.len == 0)
		return err_set(err, ERR_INVALID,
			       "command is missing: give the shell command to run");
	return 0;
}

static int check(struct tool_call *call, void *state)
{
	struct run *run = state;
	struct err err;

	if (read_arguments(call, run, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	if (check_length(call, "command", run->command, MAX_COMMAND_BYTES) < 0 ||
	    check_length(call, "cwd", run->cwd, KEEPER_MAX_PATH - sizeof("/workspace/")) < 0)
		return -1;
	if (run->input.len > MAX_COMMAND_BYTES) {
		tool_call_fail(call,
			       "stdin has %zu bytes; at most %d are possible: put the text in a "
			       "file with write_file",
			       run->input.len, (int)MAX_COMMAND_BYTES);
		return -1;
	}
	return 0;
}

/* ---- the result ---- */

static void report(struct run *run)
{
	auto_buf struct buf status = BUF_INIT(512);
	auto_buf struct buf text = BUF_INIT(MAX_RESULT_BYTES);
	struct tool_call *call = run->call;
	struct job *job = run->job;
	struct err err;
	int r = job_report(job, &status, &text, &err);

	/* Either it has ended, or it goes on as a job: no longer this call's to stop. */
	job_wait_cancel(&run->waiter);
	run->job = NULL;
	if (r == 0 && !job_has_ended(job)) {
		r = buf_addf(
			&text,
			"%sThe command goes on. Call job with job = %u to wait for more output "
			"or its end, or to stop it; until then do something else.\n",
			text.len && text.p[text.len - 1] != '\n' ? "\n" : "", job_id(job));
		if (r < 0)
			(void)err_sys(&err, -r, "report a command");
	}
	if (r < 0 && text.len)
		tool_call_fail(call, "%s\nIts output until then:\n%s", err_public(&err),
			       buf_str(&text));
	else if (r < 0)
		tool_call_fail_err(call, &err);
	else
		tool_call_finish(call, buf_str(&status), buf_view(&text));
}

static void on_ended(void *userdata)
{
	report(userdata);
}

static int on_limit(sd_event_source *source, uint64_t now, void *userdata)
{
	struct run *run = userdata;

	(void)source;
	(void)now;
	/* Its output will be seen in parts from now on, so the whole goes to a file. */
	job_keep_output(run->job);
	report(run);
	return 0;
}

static int on_progress(sd_event_source *source, uint64_t now, void *userdata)
{
	struct run *run = userdata;
	struct tool_env *env = tool_call_env(run->call);
	char message[64];

	(void)now;
	(void)snprintf(
		message, sizeof(message), "running for %llu s",
		(unsigned long long)((clock_monotonic(env->clock) - run->started) / USEC_PER_SEC));
	mcp_call_progress(tool_call_mcp(run->call), message);
	if (sd_event_source_set_time_relative(source, PROGRESS_S * USEC_PER_SEC) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static int set_timers(struct run *run, struct err *err)
{
	struct tool_env *env = tool_call_env(run->call);
	usec limit = (run->background ? BACKGROUND_LOOK_S : env->conf->call_limit) * USEC_PER_SEC;
	int r = sd_event_add_time_relative(env->event, &run->limit, CLOCK_MONOTONIC, limit, 0,
					   on_limit, run);

	if (r >= 0)
		r = sd_event_add_time_relative(env->event, &run->progress, CLOCK_MONOTONIC,
					       PROGRESS_S * USEC_PER_SEC, 0, on_progress, run);
	return r < 0 ? err_sys(err, -r, "set a call's timers") : 0;
}

static void ready(struct tool_call *call, void *state)
{
	struct run *run = state;
	char cwd[KEEPER_MAX_PATH];
	struct job_spec spec = { .command = run->command,
				 .cwd = cwd,
				 .input = run->input,
				 .open_stdin = run->background && run->input.len == 0,
				 .timeout = run->timeout_s * USEC_PER_SEC };
	struct err err;

	/* A relative cwd is meant from /workspace. */
	(void)snprintf(cwd, sizeof(cwd), "%s%.*s", run->cwd.p[0] == '/' ? "" : "/workspace/",
		       VIEW_ARG(run->cwd));
	run->call = call;
	run->started = clock_monotonic(tool_call_env(call)->clock);
	list_init(&run->waiter.item);
	run->waiter.ended = on_ended;
	run->waiter.userdata = run;
	if (set_timers(run, &err) < 0 || job_start(call, &spec, &run->job, &err) < 0) {
		tool_call_fail_err(call, &err);
		return;
	}
	job_wait(run->job, &run->waiter);
}

/* Also when the client went away: then nobody waits for the command, and it is stopped. */
static void done(void *state)
{
	struct run *run = state;

	sd_event_source_disable_unref(run->limit);
	sd_event_source_disable_unref(run->progress);
	if (run->job) {
		job_wait_cancel(&run->waiter);
		job_stop(run->job);
	}
}

static const struct tool_begin begin = {
	.error_tag = "sandbox",
	.state_size = sizeof(struct run),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void run_command_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_BOX, &begin);
}
