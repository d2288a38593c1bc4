/* SPDX-License-Identifier: Apache-2.0 */
/* Which handler gets a request, and its body. */
#include "http/internal.h"

#include <assert.h>
#include <stdio.h>

int http_server_add_route(struct http_server *server, const struct http_route *route,
			  struct err *err)
{
	assert(route->path[0] == '/' && route->handler && (!route->on_body || route->on_body_end));
	if (server->n_routes == HTTP_MAX_ROUTES)
		return err_set(err, ERR_BUG, "more than %d routes", HTTP_MAX_ROUTES);
	server->routes[server->n_routes++] = *route;
	return 0;
}

static bool matches(const struct http_route *route, struct view path)
{
	if (route->match == HTTP_MATCH_EXACT)
		return view_is(path, route->path);
	return view_starts(path, view_str(route->path));
}

static bool allows(const struct http_route *route, enum http_method method)
{
	unsigned methods = route->methods;

	if (methods & HTTP_GET)
		methods |= HTTP_HEAD;
	return methods & (unsigned)method;
}

/* Exact before prefix, longer before shorter. */
static bool is_better(const struct http_route *a, const struct http_route *than)
{
	if (!than)
		return true;
	if (a->match != than->match)
		return a->match == HTTP_MATCH_EXACT;
	return strlen(a->path) > strlen(than->path);
}

/* Several routes may have one path, for different methods. */
void route_find(struct http_request *req)
{
	const struct http_server *server = req->server;

	for (size_t i = 0; i < server->n_routes; i++) {
		const struct http_route *route = &server->routes[i];
		const struct http_route **best =
			allows(route, req->method) ? &req->route : &req->refused_route;

		if (matches(route, http_request_path(req)) && is_better(route, *best))
			*best = route;
	}
	/* "GET /a/" as a prefix must not answer for a "/a/b" that only takes POST. */
	if (req->route && req->refused_route && is_better(req->refused_route, req->route) &&
	    strcmp(req->route->path, req->refused_route->path) != 0)
		req->route = NULL;
}

static void add_method(char *out, size_t size, const char *name)
{
	size_t used = strlen(out);

	(void)snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
}

/* 405 with the methods of every route for that path. */
static void reply_not_allowed(struct http_request *req)
{
	static const struct {
		enum http_method method;
		const char *name;
	} names[] = {
		{ HTTP_GET, "GET" },     { HTTP_HEAD, "HEAD" },     { HTTP_POST, "POST" },
		{ HTTP_PUT, "PUT" },     { HTTP_DELETE, "DELETE" }, { HTTP_OPTIONS, "OPTIONS" },
		{ HTTP_PATCH, "PATCH" },
	};
	const struct http_server *server = req->server;
	char allow[128] = "";
	const struct http_header headers[] = { { "Allow", allow }, { NULL, NULL } };

	for (size_t n = 0; n < ARRAY_SIZE(names); n++)
		for (size_t i = 0; i < server->n_routes; i++)
			if (strcmp(server->routes[i].path, req->refused_route->path) == 0 &&
			    allows(&server->routes[i], names[n].method)) {
				add_method(allow, sizeof(allow), names[n].name);
				break;
			}
	http_reply(req, 405, "text/plain; charset=utf-8",
		   VIEW("405: This address does not take that method.\n"), headers);
}

/* Answers a request that no handler gets. */
static void reply_no_route(struct http_request *req)
{
	if (req->refused_route)
		reply_not_allowed(req);
	else
		http_reply_text(req, 404, "404: There is nothing at this address.\n");
}

static void reply_too_large(struct http_request *req)
{
	static const struct http_header any_origin[] = { { "Access-Control-Allow-Origin", "*" },
							 { NULL, NULL } };
	char words[80];

	(void)snprintf(words, sizeof(words),
		       "413: The body is larger than the %zu bytes allowed here.\n",
		       req->route->max_body_bytes);
	http_reply(req, 413, "text/plain; charset=utf-8", view_str(words), any_origin);
}

static void reply_later(struct http_request *req, unsigned status, struct view words)
{
	http_reply(req, status, "text/plain; charset=utf-8", words, reply_retry_later);
}

/* A body for which there is no room any more. */
static void grow_body(struct http_request *req, struct view chunk)
{
	if (buf_add_view(&req->body, chunk) < 0) {
		reply_later(req, 503, VIEW("503: The server is out of memory, try again later.\n"));
		return;
	}
	switch (share_count_body(req)) {
	case SHARE_FITS:
		return;
	case SHARE_NETWORK_FULL:
		reply_later(req, 429,
			    VIEW("429: Your network sends many large requests at once. Try again "
				 "in a moment.\n"));
		break;
	case SHARE_ALL_FULL:
		reply_later(req, 503,
			    VIEW("503: Many large requests are on their way here. Try again in a "
				 "moment.\n"));
		break;
	}
	share_drop_body(req);
}

/* An answer now costs the connection; what has come whole can wait for its handler. */
static bool is_body_coming(const struct http_request *req)
{
	return req->conn->state == CONN_BODY;
}

void route_head(struct http_request *req)
{
	uint64_t length = http_request_content_length(req);
	const struct http_route *route = req->route;

	if (!share_takes_request(req)) {
		reply_later(req, 429,
			    VIEW("429: Your network has many requests under way here. Try again "
				 "in a moment.\n"));
	} else if (!route) {
		/* Without a body it waits for its end, so that the connection lives on. */
		if (length)
			reply_no_route(req);
	} else if (length != UINT64_MAX && length > route->max_body_bytes) {
		reply_too_large(req);
	} else if (route->on_body) {
		route->handler(req, route->userdata);
	} else {
		buf_init(&req->body, route->max_body_bytes);
		if (route->check && is_body_coming(req))
			route->check(req, route->userdata);
	}
	if (!req->is_answered)
		req->phase = REQUEST_BODY;
}

void route_body(struct http_request *req, struct view chunk)
{
	const struct http_route *route = req->route;

	/* What comes after an answer, before the connection ends, is dropped. */
	if (req->is_answered)
		return;
	if (chunk.len > route->max_body_bytes - req->n_body) {
		reply_too_large(req);
		return;
	}
	req->n_body += chunk.len;
	if (!route->on_body)
		grow_body(req, chunk);
	else if (route->on_body(req, chunk, route->userdata) < 0)
		assert(req->is_answered);
}

void route_complete(struct http_request *req)
{
	const struct http_route *route = req->route;

	req->phase = REQUEST_COMPLETE;
	if (!route) {
		reply_no_route(req);
	} else if (route->on_body) {
		route->on_body_end(req, route->userdata);
	} else {
		route->handler(req, route->userdata);
		/* Its answer may take hours. */
		share_drop_body(req);
	}
}
