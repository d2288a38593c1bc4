/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say about a job: status line and output. */
#include "tools/job_internal.h"

#include "conf/conf.h"

#include <string.h>

static unsigned long long seconds(usec t)
{
	return t / USEC_PER_SEC;
}

static int add_size(struct buf *out, uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
	uint64_t scaled = bytes >> 10;
	size_t i = 0;

	while (scaled >= 1024 && scaled % 1024 == 0 && i + 1 < ARRAY_SIZE(unit)) {
		scaled >>= 10;
		i++;
	}
	return buf_addf(out, "%llu %s", (unsigned long long)scaled, unit[i]);
}

static int add_signal(struct buf *out, int sig)
{
	const char *name = sigabbrev_np(sig);

	if (name)
		return buf_addf(out, "SIG%s", name);
	return buf_addf(out, "signal %d", sig);
}

static int add_exit(const struct engine_exit *exit, struct buf *out)
{
	int r;

	if (exit->kind == ENGINE_SIGNALED) {
		r = buf_addf(out, "exit %d: killed by ", 128 + exit->value);
		return r == 0 ? add_signal(out, exit->value) : r;
	}
	r = buf_addf(out, "exit %d", exit->value);
	/* The shell's way of passing on that its last command died of a signal. */
	if (r == 0 && exit->value > 128 && exit->value <= 128 + 64 &&
	    sigabbrev_np(exit->value - 128)) {
		r = buf_add_str(out, ": 128 + ");
		if (r == 0)
			r = add_signal(out, exit->value - 128);
	}
	return r;
}

/* "2.0 of 2.0 GiB": a quota that is reached is used up. */
static int add_quota(struct buf *out, uint64_t bytes)
{
	static const char *const unit[] = { "MiB", "GiB", "TiB" };
	double scaled = (double)bytes / (1 << 20);
	size_t i = 0;

	for (; scaled >= 1024 && i + 1 < ARRAY_SIZE(unit); i++)
		scaled /= 1024;
	return buf_addf(out, "%.1f of %.1f %s", scaled, scaled, unit[i]);
}

static int add_no_room(const struct job *job, struct buf *out)
{
	const struct conf *conf = job->env->conf;
	int r;

	if (job->no_room == ENOSPC)
		return buf_add_str(out, "] [disk full: no space left");
	r = buf_add_str(out, "] [disk quota reached: ");
	if (r == 0)
		r = add_quota(out, job->no_room_in_layer ? conf->layer : conf->workspace);
	return r == 0 && job->no_room_in_layer ? buf_add_str(out, " outside /workspace") : r;
}

static int add_facts(const struct job *job, struct buf *out)
{
	const struct conf *conf = job->env->conf;
	int r = 0;

	if (job->exit.oom_kills) {
		r = buf_add_str(out, "] [out of memory: limit ");
		if (r == 0)
			r = add_size(out, conf->memory);
	}
	if (r == 0 && job->exit.pids_refused)
		r = buf_addf(out, "] [process limit reached: %u", conf->processes);
	return r == 0 && job->no_room ? add_no_room(job, out) : r;
}

static int add_running(const struct job *job, struct buf *out)
{
	usec so_far = clock_monotonic(job->env->clock) - job->started;

	return buf_addf(out, "running: job %u, %llu s so far", job->id, seconds(so_far));
}

static int add_status(const struct job *job, struct buf *out)
{
	int r;

	if (job->state != JOB_ENDED)
		return add_running(job, out);
	if (job->stop_reason == JOB_TIMED_OUT)
		r = buf_addf(out, "timed out after %llu s", seconds(job->timeout));
	else if (job->stop_reason == JOB_STOP_ASKED)
		r = buf_add_str(out, "stopped");
	else
		r = 0;
	if (r == 0 && job->stop_reason != JOB_NOT_STOPPED)
		r = buf_add_str(out, "] [");
	if (r == 0)
		r = add_exit(&job->exit, out);
	return r == 0 ? add_facts(job, out) : r;
}

static int start_error(const struct job *job, struct err *err)
{
	const char *reason = strerrordesc_np(job->exit.value);

	switch (job->exit.stage) {
	case ENGINE_STAGE_CWD:
		return err_set(
			err, ERR_NOT_FOUND,
			"nothing was run: the folder given as cwd cannot be entered (%s). Make "
			"it first, or leave cwd out for /workspace",
			reason ? reason : "unknown error");
	case ENGINE_STAGE_FORK:
		return err_set(
			err, ERR_BUSY,
			"nothing was run: no process could be started (%s; the limit is %u "
			"processes). Stop something with the job tool, or call reset_sandbox",
			reason ? reason : "unknown error", job->env->conf->processes);
	case ENGINE_STAGE_EXEC:
	case ENGINE_STAGE_NONE:
		break;
	}
	return err_set(err, ERR_GONE,
		       "nothing was run: no shell can be started in the container (%s). Call "
		       "reset_sandbox with what = container to get a fresh one; files are kept",
		       reason ? reason : "unknown error");
}

static int add_output(struct job *job, struct buf *text)
{
	const char *path = job->kept ? kept_output_path(job->kept) : NULL;
	const char *gap = job->kept ? kept_output_gap(job->kept) : NULL;
	int r = output_render(&job->output, path, text);

	if (r == 0 && path && gap)
		r = buf_addf(text, "\n[%s does not hold everything: %s]\n", path, gap);
	else if (r == 0 && gap)
		r = buf_addf(text, "\n[the whole output could not be kept in a file: %s]\n", gap);
	output_reset(&job->output);
	return r;
}

int job_report(struct job *job, struct buf *status, struct buf *text, struct err *err)
{
	if (job->state == JOB_ENDED && job->exit.kind == ENGINE_NOT_STARTED)
		return start_error(job, err);
	if (add_output(job, text) < 0)
		return err_sys(err, ENOMEM, "show a command's output");
	if (job->state == JOB_ENDED && job->exit.kind == ENGINE_LOST)
		return err_set(
			err, ERR_GONE,
			"the container ended while the command ran%s%s%s: its packages and "
			"processes are gone, files in /workspace are kept. The next call gets a "
			"fresh one",
			*job->why_lost ? " (" : "", job->why_lost, *job->why_lost ? ")" : "");
	if (add_status(job, status) < 0)
		return err_sys(err, ENOMEM, "show a command's status");
	return 0;
}
