/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/1.1 server of the front door: libmicrohttpd behind a request gate, a router, bounded
 * bodies, streams and files. Single-threaded on one sd-event loop. Knows no OAuth and no MCP.
 *
 * A request is owned by the server. A handler answers exactly once with one of http_reply*(),
 * http_stream_begin() or http_send_file(), either before it returns or later. When the client goes
 * away first, the request's `gone` callback runs (once, if set); after it, or after the answer
 * was given, the request must not be used any more. A handler that keeps a request for later must
 * set `gone`.
 *
 * When is a client gone? When its connection is reset or closed both ways, at once, even while
 * nothing is sent. A client that only ends its sending side after a complete request may still be
 * reading, and looks the same as one that closed: so it is asked, at once and every few seconds,
 * with an interim 100 answer or an SSE comment, and a closed one's kernel answers with a reset.
 */
#ifndef BERTH_HTTP_HTTP_H
#define BERTH_HTTP_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/clock.h"

#include <systemd/sd-event.h>

enum http_method {
	HTTP_GET = 1 << 0,
	HTTP_HEAD = 1 << 1,
	HTTP_POST = 1 << 2,
	HTTP_PUT = 1 << 3,
	HTTP_DELETE = 1 << 4,
	HTTP_OPTIONS = 1 << 5,
	HTTP_PATCH = 1 << 6,
	HTTP_OTHER = 1 << 7, /* any other token */
};

struct http_server;
struct http_request;
struct http_stream;
struct http_sending; /* a file on its way */

/* One extra response header; both NUL-terminated, no CR or LF (asserted). */
struct http_header {
	const char *name;
	const char *value;
};

/* ---- server ---- */

struct http_config {
	const char *address; /* "127.0.0.1", "::1", "0.0.0.0"…; ignored with listen_fd */
	uint16_t port;       /* 0: any free one */
	int listen_fd;       /* taken; an already listening socket (socket activation), or -1 */
	uint32_t max_connections;   /* more wait in the kernel's queue */
	uint32_t other_descriptors; /* open files of the process that are no connection's */
	/* CIDR list, comma separated; X-Forwarded-For and -Proto count only from these peers. */
	const char *trusted_proxies; /* NULL or "": none */
	/* 0: the default in http/limits.h. */
	usec head_timeout;  /* from the first byte of a request to the end of its head */
	usec body_timeout;  /* how far a body may be behind HTTP_MIN_BYTES_PER_SEC */
	usec idle_timeout;  /* a connection without a request */
	usec write_timeout; /* the same for a client that reads what waits for it */
};

/* The config is read during the call only. */
int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret,
		    struct err *err) MUST_CHECK;
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
/* Borrowed; -1 after http_server_quiesce(). */
int http_server_listen_fd(const struct http_server *server);
/* Whether a listening socket is bound to exactly this address and port. */
bool http_listens_at(int fd, const char *address, uint16_t port);
/* Accepts no more connections and closes those that have been idle for a second; requests under way
 * go on, each connection ends after its answer. */
void http_server_quiesce(struct http_server *server);
uint32_t http_server_connections(const struct http_server *server);
/* Requests since the start whose head was understood. */
uint64_t http_server_requests(const struct http_server *server);

/* ---- routes ---- */

typedef void http_handler_fn(struct http_request *req, void *userdata);
/*
 * Body bytes of a streaming route as they come. 0: go on, -1: refuse (the handler must have
 * replied; the connection ends after the answer).
 */
typedef int http_body_fn(struct http_request *req, struct view chunk, void *userdata);

enum http_match {
	HTTP_MATCH_EXACT,  /* the path */
	HTTP_MATCH_PREFIX, /* the path and whatever follows it */
};

struct http_route {
	const char *path; /* borrowed for the life of the server; starts with '/' */
	enum http_match match;
	unsigned methods;      /* bits of enum http_method; others get 405 with Allow */
	size_t max_body_bytes; /* a longer body gets 413 before the handler runs; 0: no body allowed
				*/
	/* Called once: when the whole body is there, or on a streaming route when the headers are.
	 * There it may answer at once to refuse the body. */
	http_handler_fn *handler;
	http_body_fn *on_body;        /* NULL: the body is buffered; else a streaming route */
	http_handler_fn *on_body_end; /* streaming routes: the body is complete */
	void *userdata;               /* borrowed */
	/* Buffered routes, may be NULL: called before the handler when the headers are there and
	 * the rest of the body is not. It may answer at once; the body is then not kept. */
	http_handler_fn *check;
};

/* The longest matching path wins. A path without route is answered 404. GET includes HEAD: the
 * handler runs as for GET, and what it sends is cut to the headers. Not for use while serving. */
int http_server_add_route(struct http_server *server, const struct http_route *route,
			  struct err *err) MUST_CHECK;

/* ---- request ---- */

enum http_method http_request_method(const struct http_request *req);
/* "GET", or what the client wrote. */
const char *http_request_method_name(const struct http_request *req);
/* The path as sent, still percent-encoded, without the query. */
struct view http_request_path(const struct http_request *req);
/* What follows '?', still encoded; empty if none. */
struct view http_request_query(const struct http_request *req);
/* Value of a header by name (ASCII case), or the empty view with p == NULL when absent. If it was
 * sent more than once: the first. */
struct view http_request_header(const struct http_request *req, const char *name);
/* How often that header was sent. */
unsigned http_request_header_count(const struct http_request *req, const char *name);
/* Calls fn for each header in order; stops when fn returns false. */
void http_request_each_header(const struct http_request *req,
			      bool (*fn)(struct view name, struct view value, void *userdata),
			      void *userdata);
/* The whole body of a buffered route, until its handler returns. */
struct view http_request_body(const struct http_request *req);
/* Declared length, or UINT64_MAX when chunked. */
uint64_t http_request_content_length(const struct http_request *req);
/* The client's address in text, after X-Forwarded-For from a trusted proxy. */
const char *http_request_client(const struct http_request *req);
/* The network that address is in, "192.0.2.0/24" or "2001:db8:1::/48": what limits count, and all
 * that a log may say of a visitor. */
const char *http_request_network(const struct http_request *req);
/* True when a trusted proxy says that the client spoke https to it. */
bool http_request_is_https(const struct http_request *req);
/* True when the peer is loopback, Host says so too, and no proxy header was sent. */
bool http_request_is_local(const struct http_request *req);

typedef void http_gone_fn(struct http_request *req, void *userdata);
void http_request_on_gone(struct http_request *req, http_gone_fn *fn, void *userdata);
/* One pointer for the handler's use; `release` (may be NULL) runs with it when the request ends. */
void http_request_set_data(struct http_request *req, void *data, void (*release)(void *));
void *http_request_data(const struct http_request *req);

/*
 * Holds back the rest of a streaming route's body, e.g. until the file it goes to is open. What is
 * on its way already still comes, at most HTTP_PAUSED_BODY_BYTES (http/limits.h).
 */
void http_request_pause_body(struct http_request *req);
void http_request_resume_body(struct http_request *req);

/* ---- answers ---- */

/*
 * The whole answer; body is copied. content_type may be NULL (no body type). extra may be NULL,
 * else ends with { NULL, NULL }. HEAD sends the headers only. Failures to send end the connection.
 */
void http_reply(struct http_request *req, unsigned status, const char *content_type,
		struct view body, const struct http_header *extra);
void http_reply_text(struct http_request *req, unsigned status, const char *fmt, ...) PRINTF(3, 4);

/*
 * A file: `size` bytes of `fd` with Range, If-Range, If-None-Match, ETag and
 * Content-Length handled here (RFC 9110 13, 14). `etag` is a quoted string. A file that shrinks
 * while it is sent ends the connection early; one that grows is cut at `size`. `done` (may be NULL)
 * runs once when the last byte is out or the client is gone, never inside the call.
 */
struct http_file {
	int fd; /* borrowed until `done` or http_sending_cut() */
	uint64_t size;
	const char *content_type;
	const char *etag;                /* copied */
	uint64_t last_modified;          /* seconds since 1970; 0: none sent */
	const struct http_header *extra; /* copied; ends with { NULL, NULL } */
	void (*done)(void *userdata);
	void *userdata;
};
/* Valid until `done` runs. NULL: out of memory, the connection is dropped, `done` does not run. */
struct http_sending *http_send_file(struct http_request *req, const struct http_file *file);
/* Drops the connection, so that the client sees that something is missing. `done` does not run;
 * `sending` must not be used any more. */
void http_sending_cut(struct http_sending *sending);

/*
 * An open-ended answer (SSE). The stream owns the request from here on: its data is released when
 * the stream ends, its headers are there no more. Data waits in a buffer of at most `max_buffered`
 * bytes. Each write of a text/event-stream ends with the end of a line. NULL: out of memory, the
 * connection is dropped, nobody hears of it again.
 */
struct http_stream *http_stream_begin(struct http_request *req, unsigned status,
				      const char *content_type, const struct http_header *extra,
				      size_t max_buffered);
/* -ENOSPC: the reader is too slow, nothing was added. */
int http_stream_write(struct http_stream *stream, struct view data) MUST_CHECK;
/* Ends the answer after what is buffered was sent; the stream must not be used any more. */
void http_stream_end(struct http_stream *stream);
/* `fn` runs once when the client goes away; the stream is invalid after it. */
void http_stream_on_gone(struct http_stream *stream, void (*fn)(void *userdata), void *userdata);

#endif
