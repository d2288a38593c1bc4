/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baseline of the HTTP benchmark: libmicrohttpd alone on an epoll loop, without gate, limits or
 * router. Answers POST /echo, and keeps GET /sse open by suspending it.
 */
#include "base/attr.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/x\"}\n";

struct stream {
	struct MHD_Connection *connection;
	int said_hello;
};

static ssize_t on_read(void *cls, uint64_t pos, char *out, size_t max)
{
	static const char hello[] = ": hello\n\n";
	struct stream *s = cls;

	(void)pos;
	if (s->said_hello || max < sizeof(hello)) {
		MHD_suspend_connection(s->connection);
		return 0;
	}
	s->said_hello = 1;
	memcpy(out, hello, sizeof(hello) - 1);
	return sizeof(hello) - 1;
}

static struct MHD_Response *make_response(struct MHD_Connection *connection, const char *url)
{
	struct stream *s;

	if (strcmp(url, "/sse") != 0)
		return MHD_create_response_from_buffer(sizeof(body) - 1, (void *)(uintptr_t)body,
						       MHD_RESPMEM_PERSISTENT);
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->connection = connection;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 512, on_read, s, free);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **context)
{
	static int seen;
	struct MHD_Response *response;
	enum MHD_Result r;

	(void)cls;
	(void)method;
	(void)version;
	(void)data;
	if (!*context || *size) {
		*context = &seen;
		*size = 0;
		return MHD_YES;
	}
	response = make_response(connection, url);
	if (!response)
		return MHD_NO;
	r = MHD_queue_response(connection, 200, response);
	MHD_destroy_response(response);
	return r;
}

int main(void)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL, on_request,
		NULL, MHD_OPTION_CONNECTION_LIMIT, 5000U, MHD_OPTION_END);
	struct epoll_event e = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (!daemon || ep < 0)
		return 1;
	(void)printf("port %u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	(void)fflush(stdout);
	if (epoll_ctl(ep, EPOLL_CTL_ADD,
		      MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, &e) < 0)
		return 1;
	for (;;) {
		MHD_UNSIGNED_LONG_LONG wait_ms;
		int again = MHD_get_timeout(daemon, &wait_ms) == MHD_YES && wait_ms == 0;

		(void)epoll_wait(ep, &e, 1, again ? 0 : 1000);
		(void)MHD_run(daemon);
	}
}
