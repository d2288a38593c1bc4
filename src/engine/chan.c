/* SPDX-License-Identifier: Apache-2.0 */
/* A SOCK_SEQPACKET connection on the event loop. */
#include "engine/chan.h"

#include "base/list.h"
#include "sys/io.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct queued {
	struct list in_queue;
	size_t len, n_fds;
	int fds[IO_MAX_FDS];
	char bytes[];
};

struct chan {
	int fd;
	sd_event_source *io;
	const struct chan_handlers *handlers; /* borrowed */
	const struct chan_buffer *buffer;     /* borrowed */
	void *userdata;
	struct list queue;
	size_t n_queued;
};

static void queued_free(struct queued *q)
{
	list_remove(&q->in_queue);
	for (size_t i = 0; i < q->n_fds; i++)
		(void)close(q->fds[i]);
	free(q);
}

void chan_free(struct chan *chan)
{
	struct list *it, *tmp;

	if (!chan)
		return;
	list_each(it, tmp, &chan->queue) queued_free(container_of(it, struct queued, in_queue));
	(void)sd_event_source_disable_unref(chan->io);
	(void)close(chan->fd);
	free(chan);
}

static void end(struct chan *chan, enum chan_end how)
{
	(void)sd_event_source_set_enabled(chan->io, SD_EVENT_OFF);
	chan->handlers->closed(chan->userdata, how);
}

static int flush(struct chan *chan)
{
	struct list *it, *tmp;

	list_each(it, tmp, &chan->queue)
	{
		struct queued *q = container_of(it, struct queued, in_queue);
		int r = io_send_fds(chan->fd, q->bytes, q->len, q->fds, q->n_fds);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
		queued_free(q);
		chan->n_queued--;
	}
	return sd_event_source_set_io_events(chan->io, EPOLLIN);
}

/* One message a turn: others get theirs, and the handler may free the channel. */
static void receive(struct chan *chan)
{
	const struct chan_handlers *handlers = chan->handlers;
	int fds[IO_MAX_FDS];
	size_t n_fds = handlers->max_fds;
	ssize_t n = io_recv_fds(chan->fd, chan->buffer->p, handlers->max_message, fds, &n_fds);

	if (n == -EAGAIN)
		return;
	if (n == -EMSGSIZE)
		end(chan, CHAN_BROKE_RULES);
	else if (n <= 0)
		end(chan, CHAN_HUNG_UP);
	else
		handlers->message(chan->userdata, chan->buffer->p, (size_t)n, fds, n_fds);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct chan *chan = userdata;

	(void)source;
	(void)fd;
	if ((events & EPOLLOUT) && flush(chan) < 0)
		end(chan, CHAN_HUNG_UP);
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(chan);
	return 0;
}

int chan_new(sd_event *event, int fd, const struct chan_handlers *handlers, void *userdata,
	     const struct chan_buffer *buffer, struct chan **ret, struct err *err)
{
	struct chan *chan = calloc(1, sizeof(*chan));
	int r;

	assert(handlers->max_message < buffer->size && handlers->max_fds <= IO_MAX_FDS);
	if (!chan) {
		(void)close(fd);
		return err_set(err, ERR_SYSTEM, "out of memory");
	}
	chan->fd = fd;
	chan->handlers = handlers;
	chan->userdata = userdata;
	chan->buffer = buffer;
	list_init(&chan->queue);
	r = io_set_nonblocking(fd);
	if (r == 0)
		r = sd_event_add_io(event, &chan->io, fd, EPOLLIN, on_io, chan);
	if (r < 0) {
		chan_free(chan);
		return err_sys(err, -r, "watch a connection");
	}
	*ret = chan;
	return 0;
}

static int enqueue(struct chan *chan, const void *p, size_t len, const int *fds, size_t n_fds)
{
	struct queued *q;

	if (chan->n_queued >= chan->handlers->max_queue)
		return -EAGAIN;
	q = calloc(1, sizeof(*q) + len);
	if (!q)
		return -ENOMEM;
	list_init(&q->in_queue);
	memcpy(q->bytes, p, len);
	q->len = len;
	for (; q->n_fds < n_fds; q->n_fds++) {
		q->fds[q->n_fds] = fcntl(fds[q->n_fds], F_DUPFD_CLOEXEC, 3);
		if (q->fds[q->n_fds] < 0) {
			int saved = errno;

			queued_free(q);
			return -saved;
		}
	}
	list_add_tail(&chan->queue, &q->in_queue);
	chan->n_queued++;
	return sd_event_source_set_io_events(chan->io, EPOLLIN | EPOLLOUT);
}

int chan_send(struct chan *chan, const void *p, size_t len, const int *fds, size_t n_fds)
{
	int r = -EAGAIN;

	assert(n_fds <= IO_MAX_FDS);
	if (list_is_empty(&chan->queue))
		r = io_send_fds(chan->fd, p, len, fds, n_fds);
	return r == -EAGAIN ? enqueue(chan, p, len, fds, n_fds) : r;
}
