/* SPDX-License-Identifier: Apache-2.0 */
/* What job.c and job_report.c share. */
#ifndef BERTH_TOOLS_JOB_INTERNAL_H
#define BERTH_TOOLS_JOB_INTERNAL_H

#include "tools/command.h"
#include "tools/job.h"
#include "tools/kept_output.h"
#include "tools/output.h"
#include "tools/stdin_pipe.h"

enum job_state { JOB_RUNNING, JOB_ENDING, JOB_ENDED };

/* Why a running command is being ended by us. */
enum job_stop_reason { JOB_NOT_STOPPED, JOB_TIMED_OUT, JOB_STOP_ASKED };

struct job {
	struct list item; /* in the table */
	struct job_table *table;
	struct tool_env *env;    /* borrowed */
	struct sandbox *sandbox; /* held while RUNNING or ENDING, else NULL */
	uint32_t id;
	enum job_state state;
	enum job_stop_reason stop_reason;
	struct command *command; /* while RUNNING */
	struct stdin_pipe *stdin_pipe;
	sd_event_source *timer; /* first the time-out, then the grace before KILL */
	struct list waiters;
	usec started, timeout;

	struct output output; /* since the last report */
	struct kept_output *kept;
	bool keep_failed;

	struct engine_exit exit;    /* from ENDING on */
	char why_lost[160];         /* its container was ended under it; may be "" */
	struct engine_files *asked; /* ENDING: who was asked whether there is room */
	int no_room;                /* ENDED: EDQUOT or ENOSPC if there was none after it */
	bool no_room_in_layer;      /* that was not in /workspace */
};

struct job_table {
	struct list jobs; /* those that ended in the order of their ends */
	uint32_t next_id;
	uint32_t running;
};

#endif
