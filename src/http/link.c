/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd: the daemon on an external epoll, and its ends of the socket pairs. */
#include "http/internal.h"

#include <assert.h>

enum {
	/* A head of the greatest allowed size, what the library notes about its fields, and the
	 * head of the answer. */
	LINK_POOL_BYTES = 48 * 1024,
	LINK_SPARE = 64, /* given up, but not yet ended by the library */
};

static void link_free(struct http_link *link)
{
	list_remove(&link->by_server);
	free(link);
}

void link_free_all(struct http_server *server)
{
	while (!list_is_empty(&server->links))
		link_free(container_of(server->links.next, struct http_link, by_server));
}

static struct http_link *find_new(struct http_server *server, int fd)
{
	struct list *it, *tmp;

	/* New ones are at the front. */
	list_each(it, tmp, &server->links)
	{
		struct http_link *link = container_of(it, struct http_link, by_server);

		if (!link->mhd && link->mhd_fd == fd)
			return link;
	}
	return NULL;
}

static struct http_link *link_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* The library takes a socket up, and lets it go just before closing it. */
static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
		struct http_link *link = find_new(server, info->connect_fd);

		assert(link);
		link->mhd = mhd;
		*context = link;
		/* Out of the way of the next search. */
		list_remove(&link->by_server);
		list_add_tail(&server->links, &link->by_server);
	} else {
		struct http_link *link = *context;

		if (link->conn)
			link->conn->link = NULL; /* the end of its pair tells it the rest */
		link_free(link);
		*context = NULL;
	}
}

/* The first sight of a request: its target, before the library takes it apart. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
	struct http_link *link = link_of(mhd);

	(void)cls;
	if (link && link->conn && !link->req) {
		link->req = request_new(link, target);
		link->conn->req = link->req;
	}
	return link;
}

/* Escapes stay: whoever needs a decoded text decodes it exactly. */
static size_t on_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void)cls;
	(void)mhd;
	return strlen(text);
}

/* Waits for an answer, unless the handler gave it already. */
static enum MHD_Result wait_for_answer(struct http_link *link)
{
	if (!link->req)
		return MHD_NO; /* answered by us: this connection is not needed any more */
	if (!link->req->is_answered) {
		link->is_suspended = true;
		MHD_suspend_connection(link->mhd);
	}
	return MHD_YES;
}

/*
 * Called by the library when the head is there, for each piece of the body, at the end of the
 * request, and again after a suspended link was given up.
 */
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **context)
{
	struct http_link *link = *context;
	struct http_request *req = link ? link->req : NULL;

	(void)cls;
	(void)mhd;
	(void)url;
	(void)version;
	if (!req)
		return MHD_NO;
	if (!req->is_started) {
		request_start(req, method);
		route_head(req);
		return link->req ? MHD_YES : MHD_NO;
	}
	if (*size) {
		route_body(req, view_of(data, *size));
		*size = 0;
		return link->req ? MHD_YES : MHD_NO;
	}
	if (req->is_answered)
		return MHD_YES;
	route_complete(req);
	return wait_for_answer(link);
}

/* The answer has been handed over to the socket, or will never be. */
static void on_completed(void *cls, struct MHD_Connection *mhd, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct http_link *link = *context;
	struct http_request *req = link ? take_ptr(link->req) : NULL;
	struct http_conn *conn = link ? link->conn : NULL;

	(void)cls;
	(void)mhd;
	*context = NULL;
	if (!req || !conn)
		return;
	/* Without an answer of ours the library has refused it and closes. */
	if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK || !req->is_answered)
		conn->must_close = true;
	if (conn->state == CONN_BODY)
		conn->state = CONN_FLUSH;
	conn->req = NULL;
	request_end(req);
	list_remove(&conn->completed);
	list_add_tail(&conn->server->completed, &conn->completed);
}

int link_daemon_start(struct http_server *server, struct err *err)
{
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO | MHD_USE_NO_LISTEN_SOCKET,
		0, NULL, NULL, on_request, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, server, MHD_OPTION_UNESCAPE_CALLBACK,
		on_unescape, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LINK_POOL_BYTES,
		MHD_OPTION_CONNECTION_LIMIT, 2 * server->max_connections + LINK_SPARE,
		MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_END);
	return server->daemon ? 0 : err_set(err, ERR_SYSTEM, "libmicrohttpd does not start");
}

int link_new(struct http_conn *conn, int *ret_pair)
{
	static const struct sockaddr_in nobody = { .sin_family = AF_INET };
	struct http_server *server = conn->server;
	struct http_link *link = calloc(1, sizeof(*link));
	int pair[2];

	if (!link)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		free(link);
		return -errno;
	}
	link->server = server;
	link->conn = conn;
	link->mhd_fd = pair[1];
	list_add_head(&server->links, &link->by_server);
	/* Closes its end on failure. */
	if (MHD_add_connection(server->daemon, pair[1], (const struct sockaddr *)&nobody,
			       sizeof(nobody)) != MHD_YES) {
		(void)close(pair[0]);
		link_free(link);
		return -EAGAIN;
	}
	server_kick_mhd(server);
	conn->link = link;
	*ret_pair = pair[0];
	return 0;
}

static void resume(struct http_link *link)
{
	if (!link->is_suspended)
		return;
	link->is_suspended = false;
	MHD_resume_connection(link->mhd);
	server_kick_mhd(link->server);
}

void link_give_up(struct http_link *link)
{
	if (link->req)
		link->req->link = NULL;
	link->req = NULL;
	link->conn = NULL;
	/* It finds its socket closed, or no request. */
	resume(link);
}

int link_answer(struct http_request *req, unsigned status, struct MHD_Response *response)
{
	struct http_link *link = req->link;

	if (MHD_queue_response(link->mhd, status, response) != MHD_YES) {
		conn_break(req->conn);
		return -1;
	}
	/* An early answer: the rest of the body is not wanted, the library closes. */
	if (req->phase == REQUEST_HEAD) {
		req->conn->must_close = true;
		if (req->conn->state == CONN_BODY)
			req->conn->state = CONN_FLUSH;
	}
	resume(link);
	return 0;
}
