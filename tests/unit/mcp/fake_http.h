/* SPDX-License-Identifier: Apache-2.0 */
/* http.h without a network: requests are handed over by the test, answers are kept for it. */
#ifndef BERTH_TESTS_FAKE_HTTP_H
#define BERTH_TESTS_FAKE_HTTP_H

#include "http/http.h"

struct http_stream {
	struct http_request *req;
	void (*gone)(void *userdata);
	void *userdata;
};

struct http_request {
	enum http_method method;
	const char *headers; /* "Name: value" lines */
	const char *body;
	http_gone_fn *gone;
	void *userdata;
	struct http_stream stream;
	size_t room; /* bytes the stream still takes */
	/* The answer. */
	unsigned status; /* 0: none yet */
	bool ended;
	struct buf head; /* its headers, "Name: value\n" each */
	struct buf out;  /* its body, or what was streamed */
};

struct http_server {
	struct http_route routes[4];
	size_t n_routes;
};

/* Runs the handler of the route that has exactly this path. */
void fake_http_request(struct http_server *server, const char *path, struct http_request *req);
/* The client goes away. */
void fake_http_lose(struct http_request *req);
void fake_http_done(struct http_request *req);

#endif
