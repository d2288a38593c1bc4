/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of its own that starts the mail program, so that the server can give up starting
 * programs before it serves anybody. It is forked early, holds nothing but one socket, and ends,
 * with the program it may be running, when the other end closes.
 */
#ifndef BERTH_MAIL_POSTMAN_H
#define BERTH_MAIL_POSTMAN_H

#include "base/attr.h"

#include <sys/types.h>

struct postman {
	int sock; /* -1: not started; readable when a program has ended */
	pid_t pid;
};

/* What became of a program, where it is not its exit status: a negative value is -errno of the
 * start. */
enum { POSTMAN_KILLED = 256 };

/* Forks; from a process with one thread. `program` is a path. -errno. */
int postman_start(const char *program, struct postman *ret) MUST_CHECK;
/* Runs the program with `input` (borrowed) as its standard input; one at a time. -errno. */
int postman_run(const struct postman *postman, int input) MUST_CHECK;
/* How that ended: exit status, POSTMAN_KILLED or -errno in *ret. -EAGAIN while it runs, -EPIPE when
 * there is no postman any more. */
int postman_result(const struct postman *postman, int *ret) MUST_CHECK;
/* Ends both and waits for that. */
void postman_stop(struct postman *postman);

#endif
