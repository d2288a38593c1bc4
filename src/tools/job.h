/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: every run_command is one; it gets known to the model by its number when the call returns
 * before the command ends. A sandbox's jobs are kept with it (sandbox_state()); a running one holds
 * the sandbox, so that it is not idle. The last JOB_MAX_ENDED that ended can still be asked for.
 *
 *   RUNNING -> ENDING (it failed: its slot is asked whether the disk is full) -> ENDED
 */
#ifndef BERTH_TOOLS_JOB_H
#define BERTH_TOOLS_JOB_H

#include "base/list.h"
#include "tools/call.h"

enum {
	JOB_MAX_RUNNING = 16,
	JOB_MAX_ENDED = 20,
	JOB_STOP_GRACE_S = 5, /* from TERM to KILL */
};

struct job;

/* What a shell command needs. Borrowed for the call only. */
struct job_spec {
	struct view command; /* text for bash -lc, up to 1 MiB, no NUL */
	const char *cwd;     /* absolute */
	struct view input;   /* its whole stdin */
	bool open_stdin;     /* instead: a pipe that job_input() feeds */
	usec timeout;
};

/* In the call's sandbox, which has a box. ERR_BUSY when JOB_MAX_RUNNING run already. */
int job_start(struct tool_call *call, const struct job_spec *spec, struct job **ret,
	      struct err *err) MUST_CHECK;
/* NULL: unknown, or so long ended that it was forgotten. */
struct job *job_find(struct sandbox *sandbox, uint32_t id);
uint32_t job_id(const struct job *job);
bool job_has_ended(const struct job *job);
/* How many run in this sandbox. */
uint32_t job_count_running(const struct sandbox *sandbox);

/* Runs once, from the loop, when the job has ended. Embedded by who waits; remove before freeing.
 */
struct job_waiter {
	struct list item;
	void (*ended)(void *userdata);
	void *userdata;
};
void job_wait(struct job *job, struct job_waiter *waiter);
void job_wait_cancel(struct job_waiter *waiter);

/* TERM to everything it started, KILL JOB_STOP_GRACE_S later. */
void job_stop(struct job *job);
/* From now on its whole output goes to a file, since the model will see it in parts. */
void job_keep_output(struct job *job);
/* Queues text for its stdin; an EOT (0x04) at the end closes it. ERR_GONE when closed or ended,
 * ERR_FULL when it does not read. */
int job_input(struct job *job, struct view text, struct err *err) MUST_CHECK;

/*
 * What there is to say now: `status` ("exit 0", "running: job 7, 45 s so far", …, several joined by
 * "] [") and the output since the last report. An ERR_* when it could not be started or its
 * container was lost: err->msg tells, `text` still has the output.
 */
int job_report(struct job *job, struct buf *status, struct buf *text, struct err *err) MUST_CHECK;

#endif
