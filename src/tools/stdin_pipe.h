/* SPDX-License-Identifier: Apache-2.0 */
/* The write end of a command's stdin with a bounded queue behind it. */
#ifndef BERTH_TOOLS_STDIN_PIPE_H
#define BERTH_TOOLS_STDIN_PIPE_H

#include "base/buf.h"
#include "base/err.h"

#include <systemd/sd-event.h>

enum { STDIN_PIPE_MAX_QUEUE = 1024 * 1024 };

struct stdin_pipe;

/* *ret_fd is the read end, owned by the caller. */
int stdin_pipe_new(sd_event *event, struct stdin_pipe **ret, int *ret_fd,
		   struct err *err) MUST_CHECK;
void stdin_pipe_free(struct stdin_pipe *p);
/* ERR_FULL when the queue has no room for all of it (nothing is added), ERR_GONE when closed. */
int stdin_pipe_write(struct stdin_pipe *p, struct view text, struct err *err) MUST_CHECK;
/* End of file once the queue is written. */
void stdin_pipe_close(struct stdin_pipe *p);

#endif
