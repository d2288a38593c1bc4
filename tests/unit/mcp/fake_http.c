/* SPDX-License-Identifier: Apache-2.0 */
/* The fake HTTP server: only what the MCP layer uses. */
#include "fake_http.h"

#include <assert.h>

int http_server_add_route(struct http_server *server, const struct http_route *route,
			  struct err *err)
{
	(void)err;
	assert(server->n_routes < ARRAY_SIZE(server->routes));
	server->routes[server->n_routes++] = *route;
	return 0;
}

void fake_http_request(struct http_server *server, const char *path, struct http_request *req)
{
	buf_init(&req->head, 1 << 16);
	buf_init(&req->out, 1 << 24);
	for (size_t i = 0; i < server->n_routes; i++)
		if (strcmp(server->routes[i].path, path) == 0)
			server->routes[i].handler(req, server->routes[i].userdata);
}

void fake_http_lose(struct http_request *req)
{
	req->ended = true;
	if (req->status && req->stream.gone)
		req->stream.gone(req->stream.userdata);
	else if (!req->status && req->gone)
		req->gone(req, req->userdata);
}

void fake_http_done(struct http_request *req)
{
	buf_done(&req->head);
	buf_done(&req->out);
}

enum http_method http_request_method(const struct http_request *req)
{
	return req->method;
}

const char *http_request_network(const struct http_request *req)
{
	(void)req;
	return "192.0.2.0/24";
}

struct view http_request_body(const struct http_request *req)
{
	return view_str(req->body);
}

void http_request_each_header(const struct http_request *req,
			      bool (*fn)(struct view name, struct view value, void *userdata),
			      void *userdata)
{
	struct view rest = view_str(req->headers), line;

	while (view_split(&rest, '\n', &line)) {
		size_t colon = view_find(line, ':');

		if (!fn(view_first(line, colon), view_trim(view_from(line, colon + 1)), userdata))
			return;
	}
}

struct wanted {
	const char *name;
	struct view value;
	unsigned count;
};

static bool want(struct view name, struct view value, void *userdata)
{
	struct wanted *w = userdata;

	if (view_is_nocase(name, w->name) && w->count++ == 0)
		w->value = value;
	return true;
}

struct view http_request_header(const struct http_request *req, const char *name)
{
	struct wanted w = { .name = name };

	http_request_each_header(req, want, &w);
	return w.value;
}

unsigned http_request_header_count(const struct http_request *req, const char *name)
{
	struct wanted w = { .name = name };

	http_request_each_header(req, want, &w);
	return w.count;
}

void http_request_on_gone(struct http_request *req, http_gone_fn *fn, void *userdata)
{
	req->gone = fn;
	req->userdata = userdata;
}

static void begin(struct http_request *req, unsigned status, const char *content_type,
		  const struct http_header *extra)
{
	assert(req->status == 0 && !req->ended);
	req->status = status;
	if (content_type)
		assert(buf_addf(&req->head, "Content-Type: %s\n", content_type) == 0);
	for (; extra && extra->name; extra++)
		assert(buf_addf(&req->head, "%s: %s\n", extra->name, extra->value) == 0);
}

void http_reply(struct http_request *req, unsigned status, const char *content_type,
		struct view body, const struct http_header *extra)
{
	begin(req, status, content_type, extra);
	assert(buf_add_view(&req->out, body) == 0);
	req->ended = true;
}

void http_reply_text(struct http_request *req, unsigned status, const char *fmt, ...)
{
	(void)fmt;
	http_reply(req, status, "text/plain", VIEW(""), NULL);
}

struct http_stream *http_stream_begin(struct http_request *req, unsigned status,
				      const char *content_type, const struct http_header *extra,
				      size_t max_buffered)
{
	begin(req, status, content_type, extra);
	req->room = max_buffered;
	req->stream.req = req;
	return &req->stream;
}

int http_stream_write(struct http_stream *stream, struct view data)
{
	assert(!stream->req->ended);
	if (data.len > stream->req->room)
		return -ENOSPC;
	stream->req->room -= data.len;
	return buf_add_view(&stream->req->out, data);
}

void http_stream_end(struct http_stream *stream)
{
	assert(!stream->req->ended);
	stream->req->ended = true;
}

void http_stream_on_gone(struct http_stream *stream, void (*fn)(void *userdata), void *userdata)
{
	stream->gone = fn;
	stream->userdata = userdata;
}
