/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a box with its output on a pipe: what run_command, jobs and helper programs share.
 * Callbacks run from the loop, never from inside command_start().
 */
#ifndef BERTH_TOOLS_COMMAND_H
#define BERTH_TOOLS_COMMAND_H

#include "engine/engine.h"

struct command;

struct command_spec {
	const char *const *argv; /* NULL-terminated */
	bool or_sh;              /* a bash command that /bin/sh may run where there is no bash */
	const char *cwd;         /* absolute inside the box */
	bool no_growth;          /* it can make no file larger: its sandbox is full */
	struct view input;       /* its whole stdin; empty: end of file at once */
	int stdin_fd;            /* borrowed; instead of `input`, or -1 */
	struct view script;      /* the command finds it as fd 3; empty: none */
};

struct command_events {
	/* Bytes as they come; may pause. */
	void (*output)(void *userdata, struct view bytes);
	/* The command has ended and all it wrote was handed over. It is freed after this returns.
	 * Children that it left behind may go on; what they write goes nowhere. */
	void (*ended)(void *userdata, const struct engine_exit *exit);
};

/* `events` and userdata are borrowed until `ended`. */
int command_start(sd_event *event, struct engine_box *box, const struct command_spec *spec,
		  const struct command_events *events, void *userdata, struct command **ret,
		  struct err *err) MUST_CHECK;
/* To the command and everything it started. No effect once it has ended. */
void command_signal(struct command *c, int sig);
/* Stops and goes on reading; while paused the command blocks on a full pipe, and `ended` waits. */
void command_pause(struct command *c);
void command_resume(struct command *c);
/* Kills it; no callback runs any more. Not from inside its own callbacks. */
void command_abandon(struct command *c);

#endif
