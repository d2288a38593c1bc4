/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process above one command: sees its end, reaches what it started.
 */
#ifndef BERTH_INIT_LEADER_H
#define BERTH_INIT_LEADER_H

#include "init/command.h"

enum leader_report_kind {
	LEADER_CHILD,  /* by the command itself: `value` is its pid */
	LEADER_FAILED, /* the command was not started: `stage`, and `value` is the errno */
	LEADER_ENDED,  /* `value` is the wait status */
};

/* What a leader (and a command that cannot be started) tells init. The other way goes one int: a
 * signal for the command and everything it started. */
struct leader_report {
	enum leader_report_kind kind;
	enum init_stage stage;
	int value;
	uint64_t cpu_usec; /* ENDED */
};

/*
 * Starts the command of `plan` and sees it through; `plan->report_fd` is the leader's end. After a
 * request for SIGTERM or SIGKILL the end is reported when nothing that the command started is left;
 * else when the command itself has ended.
 */
_Noreturn void leader_run(const struct command_plan *plan);

#endif
