/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: starting, waiting, stopping, ending. */
#include "tools/job_internal.h"

#include "base/log.h"
#include "conf/conf.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

/* More would not fit the message to init (INIT_MAX_ARGS_BYTES). */
enum { MAX_ARGV_COMMAND = 32 * 1024 };
_Static_assert(MAX_ARGV_COMMAND + 2 * KEEPER_MAX_PATH < INIT_MAX_ARGS_BYTES,
	       "a command that is an argument does not fit");

static const char jobs_kind[] = "jobs";

static void job_free(struct job *job)
{
	list_remove(&job->item);
	sd_event_source_disable_unref(job->timer);
	if (job->command)
		command_abandon(job->command);
	if (job->asked)
		engine_files_forget(job->asked, job);
	stdin_pipe_free(job->stdin_pipe);
	kept_output_free(job->kept);
	output_done(&job->output);
	free(job);
}

static void table_release(void *state)
{
	struct job_table *table = state;
	struct list *it, *tmp;

	list_each(it, tmp, &table->jobs) job_free(container_of(it, struct job, item));
	free(table);
}

/*
 * Jobs are forgotten when the server ends, their numbers must not be given out again: they begin at
 * the sandbox's age in seconds, which commands hardly outrun.
 */
static uint32_t first_id(const struct sandbox *sandbox, const struct tool_env *env)
{
	uint64_t now = clock_wall_seconds(env->clock), created = sandbox_created(sandbox);
	uint64_t age = now > created ? now - created : 0;

	return age < UINT32_MAX / 2 ? 1 + (uint32_t)age : 1;
}

static struct job_table *table_of(struct sandbox *sandbox, const struct tool_env *env,
				  struct err *err)
{
	struct job_table *table = sandbox_state(sandbox, jobs_kind);

	if (table)
		return table;
	table = calloc(1, sizeof(*table));
	if (!table || sandbox_set_state(sandbox, jobs_kind, SANDBOX_STATE_OF_OWNER, table,
					table_release) < 0) {
		free(table);
		(void)err_sys(err, ENOMEM, "start a job");
		return NULL;
	}
	list_init(&table->jobs);
	table->next_id = first_id(sandbox, env);
	return table;
}

struct job *job_find(struct sandbox *sandbox, uint32_t id)
{
	struct job_table *table = sandbox_state(sandbox, jobs_kind);
	struct list *it, *tmp;

	if (!table)
		return NULL;
	list_each(it, tmp, &table->jobs)
	{
		struct job *job = container_of(it, struct job, item);

		if (job->id == id)
			return job;
	}
	return NULL;
}

uint32_t job_count_running(const struct sandbox *sandbox)
{
	const struct job_table *table = sandbox_state(sandbox, jobs_kind);

	return table ? table->running : 0;
}

uint32_t job_id(const struct job *job)
{
	return job->id;
}

bool job_has_ended(const struct job *job)
{
	return job->state == JOB_ENDED;
}

/* ---- the end ---- */

/* Drops those over the limit that ended first. */
static void forget_old(struct job_table *table)
{
	struct list *it, *tmp;
	uint32_t ended = 0;

	list_each(it, tmp, &table->jobs) if (container_of(it, struct job, item)->state == JOB_ENDED)
		ended++;
	list_each(it, tmp, &table->jobs)
	{
		struct job *job = container_of(it, struct job, item);

		if (ended <= JOB_MAX_ENDED)
			return;
		if (job->state == JOB_ENDED && list_is_empty(&job->waiters)) {
			job_free(job);
			ended--;
		}
	}
}

static void finish(struct job *job)
{
	struct sandbox *sandbox = take_ptr(job->sandbox);
	struct list *it, *tmp;

	job->state = JOB_ENDED;
	if (job->kept)
		kept_output_close(job->kept);
	list_each(it, tmp, &job->waiters)
	{
		struct job_waiter *waiter = container_of(it, struct job_waiter, item);

		list_remove(it);
		waiter->ended(waiter->userdata);
	}
	/* It counts from its end on: one that ran for long is as new as one that took a moment. */
	list_remove(&job->item);
	list_add_tail(&job->table->jobs, &job->item);
	forget_old(job->table);
	sandbox_release(sandbox);
}

static void on_room(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct job *job = userdata;

	if (fd >= 0)
		(void)close(fd);
	job->asked = NULL;
	if (reply && (reply->error == EDQUOT || reply->error == ENOSPC)) {
		job->no_room = reply->error;
		job->no_room_in_layer = reply->number != 0;
	}
	finish(job);
}

/* True if on_room() will run: only for a command that failed, which a full disk may explain. */
static bool ask_for_room(struct job *job)
{
	const struct keeper_request room = { .verb = KEEPER_ROOM };
	struct engine_files *files = sandbox_files(job->sandbox);
	bool failed = job->exit.kind == ENGINE_SIGNALED ||
		      (job->exit.kind == ENGINE_EXITED && job->exit.value != 0);
	struct err err;

	if (!failed || !files || engine_files_call(files, &room, -1, on_room, job, &err) < 0)
		return false;
	job->asked = files;
	job->state = JOB_ENDING;
	return true;
}

static void on_ended(void *userdata, const struct engine_exit *exit)
{
	struct job *job = userdata;

	job->command = NULL;
	job->exit = *exit;
	if (exit->kind == ENGINE_LOST)
		(void)snprintf(job->why_lost, sizeof(job->why_lost), "%s",
			       sandbox_why_ended(job->sandbox));
	job->table->running--;
	sd_event_source_disable_unref(take_ptr(job->timer));
	stdin_pipe_free(take_ptr(job->stdin_pipe));
	if (!ask_for_room(job))
		finish(job);
}

/* ---- output ---- */

static void on_kept_open(void *userdata)
{
	struct job *job = userdata;

	if (job->command)
		command_resume(job->command);
}

void job_keep_output(struct job *job)
{
	char name[64];
	struct tm tm;
	time_t now = (time_t)clock_wall_seconds(job->env->clock);
	struct engine_files *files;
	struct err err;

	if (job->state != JOB_RUNNING || job->kept || job->keep_failed)
		return;
	if (!gmtime_r(&now, &tm))
		return;
	(void)snprintf(name, sizeof(name), "%04d%02d%02d-%02d%02d%02d-job%u.txt", tm.tm_year + 1900,
		       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, job->id);
	files = sandbox_files(job->sandbox);
	if (!files || sandbox_is_full(job->sandbox) ||
	    kept_output_open(files, name, job->env->conf->output_file, on_kept_open, job,
			     &job->kept, &err) < 0) {
		job->keep_failed = true;
		return;
	}
	/* All that came: nothing was dropped yet, and once it is reported it will be. */
	kept_output_write(job->kept, buf_view(&job->output.head));
	command_pause(job->command);
}

static void on_output(void *userdata, struct view bytes)
{
	struct job *job = userdata;

	if (output_gets_long(&job->output, bytes.len))
		job_keep_output(job);
	if (job->kept)
		kept_output_write(job->kept, bytes);
	if (output_add(&job->output, bytes) < 0)
		log_warning("job output lost: out of memory");
}

static const struct command_events job_events = { .output = on_output, .ended = on_ended };

/* ---- stopping ---- */

static int on_grace_over(sd_event_source *source, uint64_t now, void *userdata)
{
	struct job *job = userdata;

	(void)source;
	(void)now;
	if (job->command)
		command_signal(job->command, SIGKILL);
	return 0;
}

static void stop_for(struct job *job, enum job_stop_reason reason)
{
	if (job->state != JOB_RUNNING || job->stop_reason != JOB_NOT_STOPPED)
		return;
	job->stop_reason = reason;
	sd_event_source_disable_unref(take_ptr(job->timer));
	command_signal(job->command, SIGTERM);
	if (sd_event_add_time_relative(job->env->event, &job->timer, CLOCK_MONOTONIC,
				       JOB_STOP_GRACE_S * USEC_PER_SEC, 0, on_grace_over, job) < 0)
		command_signal(job->command, SIGKILL);
}

void job_stop(struct job *job)
{
	stop_for(job, JOB_STOP_ASKED);
}

static int on_timeout(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source;
	(void)now;
	stop_for(userdata, JOB_TIMED_OUT);
	return 0;
}

/* ---- the start ---- */

/*
 * Whether the command's text may be the shell's argument. Not when it is too long for one, and not
 * when it may look for processes by their arguments to end them: `pkill -f server` would find the
 * shell that runs it.
 */
static bool fits_argument(struct view command)
{
	return command.len <= MAX_ARGV_COMMAND && !memmem(command.p, command.len, "kill", 4);
}

static int launch(struct job *job, const struct job_spec *spec, struct err *err)
{
	char *text = NULL;
	const char *argv[] = { "/bin/bash", "-lc", NULL, NULL };
	auto_fd int stdin_fd = -1;
	struct command_spec command = { .argv = argv,
					.or_sh = true,
					.cwd = spec->cwd,
					.no_growth = sandbox_is_full(job->sandbox),
					.input = spec->input,
					.stdin_fd = -1 };
	auto_free char *copy = NULL;

	if (fits_argument(spec->command)) {
		copy = text = view_dup(spec->command);
		if (!copy)
			return err_sys(err, ENOMEM, "start a command");
	} else {
		/* The shell reads it from fd 3 and runs it itself. */
		static char from_fd[] = "set -- \"$(cat <&3)\"; exec 3<&-; eval \"set --; $1\"";

		text = from_fd;
		command.script = spec->command;
	}
	argv[2] = text;
	if (spec->open_stdin) {
		if (stdin_pipe_new(job->env->event, &job->stdin_pipe, &stdin_fd, err) < 0)
			return -1;
		command.stdin_fd = stdin_fd;
	}
	return command_start(job->env->event, sandbox_box(job->sandbox), &command, &job_events, job,
			     &job->command, err);
}

static int begin(struct job *job, const struct job_spec *spec, struct err *err)
{
	int r;

	if (!sandbox_box(job->sandbox))
		return err_set(err, ERR_GONE,
			       "the container ended before the command began; files in /workspace "
			       "are kept, try again");
	r = sd_event_add_time_relative(job->env->event, &job->timer, CLOCK_MONOTONIC, spec->timeout,
				       0, on_timeout, job);
	if (r < 0)
		return err_sys(err, -r, "set a command's time-out");
	return launch(job, spec, err);
}

int job_start(struct tool_call *call, const struct job_spec *spec, struct job **ret,
	      struct err *err)
{
	struct sandbox *sandbox = tool_call_sandbox(call);
	struct tool_env *env = tool_call_env(call);
	struct job_table *table = table_of(sandbox, env, err);
	struct job *job;

	if (!table)
		return -1;
	if (table->running >= JOB_MAX_RUNNING)
		return err_set(
			err, ERR_BUSY,
			"%d commands are running in this sandbox already; wait for one or stop "
			"one with the job tool",
			(int)JOB_MAX_RUNNING);
	job = calloc(1, sizeof(*job));
	if (!job)
		return err_sys(err, ENOMEM, "start a job");
	*job = (struct job){ .table = table,
			     .env = env,
			     .sandbox = sandbox,
			     .started = clock_monotonic(env->clock),
			     .timeout = spec->timeout };
	list_init(&job->item);
	list_init(&job->waiters);
	output_init(&job->output, env->conf->output_chars);
	if (begin(job, spec, err) < 0) {
		job_free(job);
		return -1;
	}
	sandbox_hold(sandbox);
	job->id = table->next_id++;
	table->running++;
	list_add_tail(&table->jobs, &job->item);
	*ret = job;
	return 0;
}

void job_wait(struct job *job, struct job_waiter *waiter)
{
	assert(job->state != JOB_ENDED);
	list_add_tail(&job->waiters, &waiter->item);
}

void job_wait_cancel(struct job_waiter *waiter)
{
	list_remove(&waiter->item);
}

int job_input(struct job *job, struct view text, struct err *err)
{
	bool closes = text.len && text.p[text.len - 1] == '\x04';

	if (job->state != JOB_RUNNING)
		return err_set(err, ERR_GONE, "job %u has ended", job->id);
	if (!job->stdin_pipe)
		return err_set(err, ERR_GONE,
			       "the stdin of job %u is closed: start the command with background = "
			       "true to be able to write to it",
			       job->id);
	if (closes)
		text.len--;
	if (text.len && stdin_pipe_write(job->stdin_pipe, text, err) < 0)
		return -1;
	if (closes)
		stdin_pipe_close(job->stdin_pipe);
	return 0;
}
