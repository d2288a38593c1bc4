/* SPDX-License-Identifier: Apache-2.0 */
/* The write end of a command's stdin. SIGPIPE is ignored by the whole server. */
#include "tools/stdin_pipe.h"

#include "sys/io.h"

#include <fcntl.h>

struct stdin_pipe {
	sd_event_source *io; /* enabled while the queue is not empty */
	int fd;              /* -1 once closed */
	bool closing;
	struct buf queue;
};

static void shut(struct stdin_pipe *p)
{
	sd_event_source_disable_unref(take_ptr(p->io));
	if (p->fd >= 0)
		(void)close(take_fd(p->fd));
	buf_done(&p->queue);
}

static void flush(struct stdin_pipe *p)
{
	while (p->queue.len) {
		ssize_t n = write(p->fd, p->queue.p, p->queue.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)sd_event_source_set_enabled(p->io, SD_EVENT_ON);
			return;
		}
		if (n < 0) { /* nobody reads any more */
			shut(p);
			return;
		}
		buf_consume(&p->queue, (size_t)n);
	}
	(void)sd_event_source_set_enabled(p->io, SD_EVENT_OFF);
	if (p->closing)
		shut(p);
}

static int on_writable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	(void)source;
	(void)fd;
	(void)revents;
	flush(userdata);
	return 0;
}

int stdin_pipe_new(sd_event *event, struct stdin_pipe **ret, int *ret_fd, struct err *err)
{
	struct stdin_pipe *p = calloc(1, sizeof(*p));
	int fds[2], r;

	if (!p)
		return err_sys(err, ENOMEM, "open a command's stdin");
	if (pipe2(fds, O_CLOEXEC) < 0) {
		free(p);
		return err_sys(err, errno, "open a command's stdin");
	}
	p->fd = fds[1];
	buf_init(&p->queue, STDIN_PIPE_MAX_QUEUE);
	r = io_set_nonblocking(p->fd);
	if (r == 0)
		r = sd_event_add_io(event, &p->io, p->fd, EPOLLOUT, on_writable, p);
	if (r >= 0)
		r = sd_event_source_set_enabled(p->io, SD_EVENT_OFF);
	if (r < 0) {
		(void)close(fds[0]);
		stdin_pipe_free(p);
		return err_sys(err, -r, "open a command's stdin");
	}
	*ret = p;
	*ret_fd = fds[0];
	return 0;
}

void stdin_pipe_free(struct stdin_pipe *p)
{
	if (!p)
		return;
	shut(p);
	free(p);
}

int stdin_pipe_write(struct stdin_pipe *p, struct view text, struct err *err)
{
	if (p->fd < 0 || p->closing)
		return err_set(err, ERR_GONE, "the command's stdin is closed");
	if (buf_add_view(&p->queue, text) < 0)
		return err_set(
			err, ERR_FULL,
			"the command does not read its input: %zu bytes wait already, %zu more "
			"do not fit",
			p->queue.len, text.len);
	flush(p);
	if (p->fd < 0)
		return err_set(err, ERR_GONE, "the command has closed its stdin");
	return 0;
}

void stdin_pipe_close(struct stdin_pipe *p)
{
	p->closing = true;
	if (p->fd >= 0)
		flush(p);
}
