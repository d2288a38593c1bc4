/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SOCK_SEQPACKET connection on the event loop: whole messages in, whole messages out, both
 * bounded. The other side may be hostile: a message that is too long or brings descriptors that it
 * should not ends the channel.
 */
#ifndef BERTH_ENGINE_CHAN_H
#define BERTH_ENGINE_CHAN_H

#include "base/err.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

struct chan;

/* Where messages are received: one for all channels of a loop, since they are handled one by one.
 */
struct chan_buffer {
	char *p;
	size_t size;
};

enum chan_end {
	CHAN_HUNG_UP,
	CHAN_BROKE_RULES, /* a message too long, or with descriptors too many */
};

struct chan_handlers {
	/* `fds` are the handler's now. The channel may be freed here. */
	void (*message)(void *userdata, const char *p, size_t len, const int *fds, size_t n_fds);
	/* Once, and nothing after it; the channel is still to be freed (here, if one likes). */
	void (*closed)(void *userdata, enum chan_end end);
	size_t max_message; /* at most the buffer's size less one */
	size_t max_fds;     /* in a message */
	size_t max_queue;   /* messages waiting for the other side to read */
};

/* Takes `fd`, also on failure. `handlers` and `buffer` are borrowed and outlive it. */
int chan_new(sd_event *event, int fd, const struct chan_handlers *handlers, void *userdata,
	     const struct chan_buffer *buffer, struct chan **ret, struct err *err) MUST_CHECK;
void chan_free(struct chan *chan);
DEFINE_CLEANUP(chan)

/* Sends or queues; `fds` are borrowed. -EAGAIN when the queue is full, else fatal. */
int chan_send(struct chan *chan, const void *p, size_t len, const int *fds,
	      size_t n_fds) MUST_CHECK;

#endif
