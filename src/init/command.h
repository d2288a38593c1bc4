/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that becomes a command: descriptors, environment, capabilities, exec.
 */
#ifndef BERTH_INIT_COMMAND_H
#define BERTH_INIT_COMMAND_H

#include "wire/init.h"

/* What a command gets; descriptors are above INIT_SCRIPT_FD and close-on-exec, or -1. */
struct command_plan {
	const struct init_request *request;
	int stdin_fd, output_fd, script_fd;
	int report_fd; /* SOCK_SEQPACKET and close-on-exec: a successful exec says nothing on it */
};

/* Becomes the command. On failure sends one struct leader_report (leader.h) and exits. */
_Noreturn void command_run(const struct command_plan *plan);

#endif
