/* SPDX-License-Identifier: Apache-2.0 */
/* The administration socket: connections and lines. */
#include "app/admin.h"

#include "app/commands.h"
#include "base/list.h"
#include "base/log.h"
#include "sys/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
	MAX_CONNECTIONS = 16,
	MAX_REQUEST = 64 * 1024,
	MAX_ANSWER = 8 * 1024 * 1024, /* the status of 5,000 slots */
};

struct admin {
	struct server *server;
	int fd;
	sd_event_source *io;
	struct list connections;
	uint32_t n_connections;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct connection {
	struct list item;
	struct admin *admin;
	int fd;
	sd_event_source *io;
	struct buf in, out;
	struct admin_call *call; /* under way; no further request is read meanwhile */
};

struct admin_call {
	struct connection *connection; /* NULL once the client has left */
};

static void connection_free(struct connection *c)
{
	if (c->call)
		c->call->connection = NULL;
	list_remove(&c->item);
	c->admin->n_connections--;
	sd_event_source_disable_unref(c->io);
	(void)close(c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

/* -1 when the connection is to be closed. */
static int flush(struct connection *c)
{
	while (c->out.len) {
		ssize_t n = send(c->fd, c->out.p, c->out.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -1;
		buf_consume(&c->out, (size_t)n);
	}
	/* While an answer waits, no further request is read. */
	return sd_event_source_set_io_events(c->io, c->out.len ? EPOLLOUT : EPOLLIN) < 0 ? -1 : 0;
}

static int send_answer(struct connection *c)
{
	return buf_add_char(&c->out, '\n') < 0 ? -1 : flush(c);
}

/* After 1 from admin_execute() the connection may be gone: its answer may have failed already. */
static int execute_line(struct connection *c)
{
	auto_buf struct buf line = BUF_INIT(MAX_REQUEST);
	size_t end = view_find(buf_view(&c->in), '\n');
	struct admin_call *call;

	if (end == c->in.len || c->call)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call || buf_add(&line, c->in.p, end) < 0) {
		free(call);
		return -1;
	}
	buf_consume(&c->in, end + 1);
	call->connection = c;
	c->call = call;
	if (admin_execute(c->admin->server, buf_view(&line), call, &c->out) == 1)
		return 0;
	c->call = NULL;
	free(call);
	return send_answer(c);
}

void admin_finish(struct admin_call *call, json_t *result, const struct err *err)
{
	struct connection *c = call->connection;

	free(call);
	if (c) {
		c->call = NULL;
		admin_print(result, err, &c->out);
		if (send_answer(c) < 0)
			connection_free(c);
	}
	json_decref(result);
}

static int read_more(struct connection *c)
{
	char chunk[4096];
	ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || buf_add(&c->in, chunk, (size_t)n) < 0)
		return -1;
	return execute_line(c);
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct connection *c = userdata;
	int r;

	(void)source;
	(void)fd;
	if (revents & EPOLLOUT) {
		r = flush(c);
		if (r == 0 && c->out.len == 0)
			r = execute_line(c);
	} else {
		r = read_more(c);
	}
	if (r < 0)
		connection_free(c);
	return 0;
}

/* Root and the server's user; the socket's mode says the same. */
static bool may_connect(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static int on_accept(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
	struct admin *admin = userdata;
	auto_fd int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	(void)source;
	(void)revents;
	if (fd < 0 || !may_connect(fd) || admin->n_connections == MAX_CONNECTIONS)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return 0;
	c->admin = admin;
	c->fd = take_fd(fd);
	buf_init(&c->in, MAX_REQUEST);
	buf_init(&c->out, MAX_ANSWER);
	list_add_tail(&admin->connections, &c->item);
	admin->n_connections++;
	if (sd_event_add_io(admin->server->event, &c->io, c->fd, EPOLLIN, on_connection, c) < 0)
		connection_free(c);
	return 0;
}

static int listen_at(struct admin *admin, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", admin->path);
	admin->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (admin->fd < 0)
		return err_sys(err, errno, "make the admin socket");
	/* The state's lock is held: whoever made an earlier one is gone. */
	(void)unlink(admin->path);
	if (bind(admin->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(admin->path, 0600) < 0 || listen(admin->fd, MAX_CONNECTIONS) < 0)
		return err_sys(err, errno, "listen at %s", admin->path);
	return 0;
}

int admin_new(struct server *server, const char *path, struct admin **ret, struct err *err)
{
	struct admin *admin = calloc(1, sizeof(*admin));
	int r;

	if (!admin)
		return err_sys(err, ENOMEM, "make the admin socket");
	admin->server = server;
	admin->fd = -1;
	list_init(&admin->connections);
	if (view_copy(view_str(path), admin->path, sizeof(admin->path)) < 0) {
		free(admin);
		return err_set(err, ERR_INVALID,
			       "the path of the admin socket is too long for a socket: %s", path);
	}
	if (listen_at(admin, err) < 0) {
		admin_free(admin);
		return -1;
	}
	r = sd_event_add_io(server->event, &admin->io, admin->fd, EPOLLIN, on_accept, admin);
	if (r < 0) {
		admin_free(admin);
		return err_sys(err, -r, "watch the admin socket");
	}
	*ret = admin;
	return 0;
}

void admin_free(struct admin *admin)
{
	struct list *it, *tmp;

	if (!admin)
		return;
	list_each(it, tmp, &admin->connections)
		connection_free(container_of(it, struct connection, item));
	sd_event_source_disable_unref(admin->io);
	if (admin->fd >= 0) {
		(void)close(admin->fd);
		(void)unlink(admin->path);
	}
	free(admin);
}
