/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HTTP server share.
 *
 *     client ── conn ──(gate)── socket pair ── link ── libmicrohttpd ── request ── handler
 *
 * conn.c     owns the client's socket: reads, lets the gate look, passes verified bytes on, relays
 *            the answer back, notices the client leaving. One request at a time goes through; the
 *            next head is looked at when the answer before it is out.
 * link.c     libmicrohttpd's end of the pair and its callbacks. A link may outlive its connection
 *            (the library ends it in its own time) and a connection may have several, one after
 *            the other.
 * request.c  what a handler sees.
 *
 * Answers take one of two ways. Whole ones and files are made by libmicrohttpd. What it cannot do
 * well is written to the client by us after its link was given up: refusals, an answer in the
 * middle of an upload, and open-ended streams (a suspended connection of the library holds tens of
 * kilobytes and does not notice a client leaving).
 *
 * Nothing is freed under a caller's feet: connections and requests that ended wait on a list until
 * the loop comes round. Callbacks of users (`gone`) run from the loop only, never from inside a
 * call into this layer.
 */
#ifndef BERTH_HTTP_INTERNAL_H
#define BERTH_HTTP_INTERNAL_H

#include "base/list.h"
#include "http/gate.h"
#include "http/http.h"
#include "http/limits.h"
#include "http/net.h"

#include <microhttpd.h>

struct http_server {
	sd_event *event;            /* referenced */
	const struct clock *clock;  /* borrowed, static */
	struct MHD_Daemon *daemon;  /* owned */
	sd_event_source *mhd_io;    /* the library's epoll fd */
	sd_event_source *mhd_again; /* the library has more to do at once */
	sd_event_source *listen;
	sd_event_source *sweep; /* time-outs; runs while there are connections */
	sd_event_source *later; /* frees the dead, drops the broken */
	int listen_fd;
	uint16_t port;
	bool is_quiesced;
	bool is_untaken_unknown; /* the kernel does not say what a client has not taken; logged */
	uint32_t max_connections;
	uint32_t n_conns;
	uint64_t n_requests; /* since the start */
	uint64_t body_bytes; /* memory of buffered bodies, without the small ones */
	usec head_timeout, body_timeout, idle_timeout, write_timeout;
	struct net_list proxies;
	struct list conns;
	struct list later_conns; /* broken or closed */
	struct list dead_requests;
	struct list links;     /* all */
	struct list completed; /* connections whose request the library has just finished */
	struct http_route routes[HTTP_MAX_ROUTES];
	size_t n_routes;
	char scratch[HTTP_READ_BYTES]; /* for one relay step */
};

enum conn_state {
	CONN_HEAD,   /* no request, or its head is coming */
	CONN_BODY,   /* the head went on, the body is coming */
	CONN_ANSWER, /* the request is complete (the gate says), its answer is not out */
	CONN_STREAM, /* an open-ended answer is under way */
	CONN_FLUSH,  /* the last answer is going out, nothing is read */
	CONN_LINGER, /* all is out; what still comes is dropped until the client closes */
	CONN_CLOSED,
};

struct http_conn {
	struct list by_server;
	struct list later;     /* in server->later_conns */
	struct list completed; /* in server->completed */
	struct http_server *server;
	int fd; /* the client's */
	sd_event_source *io;
	int pair; /* our end of the link's socket pair, or -1 */
	sd_event_source *pair_io;
	struct http_link *link;     /* NULL: none, or ended by the library */
	struct http_request *req;   /* the request under way, or NULL */
	struct http_stream *stream; /* in CONN_STREAM; owned */
	enum conn_state state;
	bool is_broken;         /* to be dropped by the loop */
	bool is_half_closed;    /* the client will send nothing more */
	bool has_input_waiting; /* it sends its next request before it has the answer */
	bool must_close;        /* after this answer */
	bool is_body_paused;    /* nothing of the body is passed on */
	struct gate gate;
	struct buf in;        /* from the client, not yet passed on */
	size_t scanned;       /* bytes of `in` that went through the gate */
	uint64_t body_length; /* declared; UINT64_MAX: chunked */
	uint64_t n_dropped;   /* bytes, while lingering */
	struct buf out;       /* for the client */
	size_t out_sent;      /* bytes of `out` that are gone */
	usec since;       /* of the state; of the first byte of a head; conn_credit() of a body */
	usec write_since; /* of `out` waiting; conn_credit() of what the client takes */
	uint64_t n_sent;  /* bytes, to the kernel */
	uint64_t n_taken; /* of these by the client, when last looked at */
	usec asked_since; /* the last time a half-closed client was asked */
	struct net_address peer;
};

struct http_link {
	struct list by_server;
	struct http_server *server;
	struct http_conn *conn;     /* NULL: given up, the library will end it */
	struct http_request *req;   /* NULL: none, or answered another way */
	struct MHD_Connection *mhd; /* NULL until the library has taken it up */
	int mhd_fd;                 /* the library's end; owned by it; to recognise the link */
	bool is_suspended;
};

enum request_phase {
	REQUEST_HEAD, /* the head is there, the handler may be called for it */
	REQUEST_BODY,
	REQUEST_COMPLETE,
};

struct http_request {
	struct list dead; /* in server->dead_requests */
	struct http_server *server;
	struct http_conn *conn; /* NULL once it ended */
	struct http_link *link; /* where the headers are; NULL once it was given up */
	const struct http_route *route;
	const struct http_route *refused_route; /* the path is known, the method is not allowed */
	enum request_phase phase;
	bool is_started; /* the library called for it */
	bool is_answered;
	enum http_method method;
	char method_name[HTTP_MAX_METHOD + 1];
	struct buf body;
	uint64_t body_counted; /* of it in server->body_bytes */
	uint64_t n_body;       /* bytes seen so far */
	char client[NET_ADDRESS_TEXT];
	char network[NET_NETWORK_TEXT];
	bool is_https, is_local;
	bool speaks_for_many; /* no visitor: this machine, or a proxy that names nobody */
	http_gone_fn *gone;
	void *gone_userdata;
	void *data;
	void (*release)(void *data);
	size_t path_len;
	char target[]; /* as sent */
};

struct http_stream {
	struct http_conn *conn;
	struct http_request *req;
	size_t max_buffered;
	bool is_chunked;
	bool is_events; /* text/event-stream */
	void (*gone)(void *userdata);
	void *userdata;
};

/* ---- server.c ---- */

usec server_now(const struct http_server *server);
/* Lets the loop look at `conn` (NULL: at dead requests only) soon. */
void server_later(struct http_server *server, struct http_conn *conn);
/* Lets the library work soon: it does not notice by itself that it got a socket. */
void server_kick_mhd(struct http_server *server);
/* This machine and trusted proxies: nothing is counted by their network. */
bool server_is_many(const struct http_server *server, const struct net_address *address);
/* After a connection ended. */
void server_conn_ended(struct http_server *server);

/* ---- conn.c ---- */

/* Takes fd. 0 or -errno. */
int conn_new(struct http_server *server, int fd, const struct net_address *peer) MUST_CHECK;
/* Ends the connection at once; a request or stream under way hears `gone`. From the loop only. */
void conn_drop(struct http_conn *conn);
void conn_free(struct http_conn *conn);
/* Refuses the request under way and ends the connection. From the loop only. */
void conn_refuse(struct http_conn *conn, unsigned status, const char *reason);
/* Closes a connection that had no request for `idle`, or (`half`) whose head has not come whole for
 * so long; false if it had. */
bool conn_close_idle(struct http_conn *conn, usec idle, bool half);
/* Reads what the library has answered. */
void conn_relay(struct http_conn *conn);
/* Gives up the link, so that we may write to the client ourselves. */
void conn_give_up_link(struct http_conn *conn);
/* Appends to what the client will get and sends what it takes. -ENOSPC, -ENOMEM: nothing was added.
 */
int conn_send(struct http_conn *conn, struct view a, struct view b, struct view c) MUST_CHECK;
size_t conn_pending(const struct http_conn *conn);
/* The answer is complete in `out`; CONN_ANSWER goes on with the next request, CONN_FLUSH ends. */
void conn_answer_done(struct http_conn *conn, enum conn_state next);
/* Holds the body back, or lets it go on. */
void conn_pause_body(struct http_conn *conn, bool is_paused);
/* To be dropped by the loop: for failures in calls from above. */
void conn_break(struct http_conn *conn);

/* ---- conn_time.c ---- */

/* The beginning of a client's time, moved on by what its bytes are worth at the slowest fair speed.
 * Not beyond now: who was fast earlier must not be slow for hours. */
usec conn_credit(usec since, uint64_t bytes, usec now);
void conn_check_deadline(struct http_conn *conn, usec now);
/* The states in which the client has nothing to say, but may leave. */
bool conn_watches_half_close(const struct http_conn *conn);
/*
 * The client ended its side after a complete request. It may have closed altogether or may still
 * read: the bytes sent to ask make the kernel of a closed one answer with a reset.
 */
void conn_ask(struct http_conn *conn);

/* ---- link.c ---- */

int link_daemon_start(struct http_server *server, struct err *err) MUST_CHECK;
/* A new link for conn; on success *ret_pair is our end. 0 or -errno. */
int link_new(struct http_conn *conn, int *ret_pair) MUST_CHECK;
/* When the library has stopped. */
void link_free_all(struct http_server *server);
/* The connection wants no more of it; its request (if any) has been taken away. */
void link_give_up(struct http_link *link);
/* Queues the library's answer for the request. -1: the connection is dropped instead. */
int link_answer(struct http_request *req, unsigned status, struct MHD_Response *response);

/* ---- request.c ---- */

struct http_request *request_new(struct http_link *link, const char *target);
/* It must not be used any more; freed by the loop. */
void request_end(struct http_request *req);
void request_free(struct http_request *req);
/* Ends it and tells the handler that the client is gone. From the loop only. */
void request_gone(struct http_request *req);
/* Method, route and client: called when the headers are there. */
void request_start(struct http_request *req, const char *method);
/* The client or we want this connection to end after the answer. */
bool request_must_close(const struct http_request *req);

/* ---- share.c ---- */

/* False: the network of `req` has its part of the requests already. */
bool share_takes_request(const struct http_request *req);

enum share_verdict { SHARE_FITS, SHARE_NETWORK_FULL, SHARE_ALL_FULL };
/* After the body has grown. */
enum share_verdict share_count_body(struct http_request *req);
/* Nobody looks at the body any more. */
void share_drop_body(struct http_request *req);

/* ---- route.c ---- */

void route_find(struct http_request *req);
/* The three moments of a request. The handler may answer in any of them. */
void route_head(struct http_request *req);
void route_body(struct http_request *req, struct view chunk);
void route_complete(struct http_request *req);

/* ---- reply.c ---- */

enum { HTTP_DATE_SIZE = 80 }; /* for any numbers the compiler can think of */
/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 5.6.7). */
void http_date(uint64_t seconds, char out[HTTP_DATE_SIZE]);

enum reply_framing { REPLY_LENGTH, REPLY_CHUNKED, REPLY_UNTIL_CLOSE };

/*
 * For refusals that pass. They say nothing of anybody and come before a handler could say who may
 * read its answers: scripts of any origin may.
 */
extern const struct http_header reply_retry_later[];

/* An answer that we write ourselves. */
struct reply {
	unsigned status;
	const char *content_type;        /* NULL: none */
	const struct http_header *extra; /* NULL: none; else ends with { NULL, NULL } */
	enum reply_framing framing;
	uint64_t length; /* of the body, with REPLY_LENGTH */
	bool closes;     /* the connection ends after it */
};
/* Its head. 0 or -errno. */
int reply_head(struct buf *out, const struct http_server *server,
	       const struct reply *reply) MUST_CHECK;
/* Adds the headers and hands the response (taken; NULL: out of memory) to the library. -1: the
 * connection is dropped instead. */
int reply_by_library(struct http_request *req, unsigned status, struct MHD_Response *response,
		     const char *content_type, const struct http_header *extra);

/* ---- stream.c ---- */

/* The client ended its side: asks whether it is still there. From the loop only. */
void stream_ask(struct http_stream *stream);
/* The client is gone: tells the owner, frees. From the loop only. */
void stream_gone(struct http_stream *stream);

#endif
