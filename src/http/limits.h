/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that an HTTP client can make grow, or make last.
 */
#ifndef BERTH_HTTP_LIMITS_H
#define BERTH_HTTP_LIMITS_H

#include "sys/clock.h"

enum {
	HTTP_MAX_METHOD = 32,             /* bytes */
	HTTP_MAX_TARGET = 8 * 1024,       /* bytes; 414 */
	HTTP_MAX_QUERY_PARTS = 128,       /* '&'s in the target; 414 */
	HTTP_MAX_FIELDS = 100,            /* header lines; 431 */
	HTTP_MAX_FIELD_BYTES = 16 * 1024, /* all header lines; 431 */
	HTTP_MAX_FIELD_NAME = 256,        /* bytes; 431 */
	HTTP_MAX_HEAD = HTTP_MAX_METHOD + HTTP_MAX_TARGET + HTTP_MAX_FIELD_BYTES + 64,

	HTTP_READ_BYTES = 16 * 1024,     /* read from a client at once */
	HTTP_MAX_OUT = 16 * 1024 * 1024, /* for one client: the wall around all smaller bounds */
	HTTP_RELAY_BYTES = 64 * 1024,    /* of an answer, waiting for one client */
	/* Between us and the library when a body is paused: the socket pair and its buffers. */
	HTTP_PAUSED_BODY_BYTES = 512 * 1024,
	HTTP_MAX_ROUTES = 64,
	HTTP_MAX_PROXIES = 64,           /* networks in the list of trusted proxies */
	HTTP_MAX_FORWARDED = 32,         /* hops of X-Forwarded-For looked at */
	HTTP_MAX_REPLY_HEAD = 16 * 1024, /* the head of an answer */
	HTTP_MAX_REASON = 256,           /* the sentence of a refusal */

	/* Slower than this, by as much as the time-out of that direction, is too slow. */
	HTTP_MIN_BYTES_PER_SEC = 1024,
	HTTP_LINGER_MAX_BYTES = 64 * 1024 * 1024, /* read and dropped after an early answer */
	HTTP_DEFAULT_CONNECTIONS = 1024,
	HTTP_NETWORK_PART = 4, /* one network has at most this part of them, and of the requests */
	HTTP_LISTEN_BACKLOG = 512,
	HTTP_SMALL_BODY = 64 * 1024,         /* memory of a buffered body that nobody counts */
	HTTP_MAX_BODIES = 256 * 1024 * 1024, /* of all others together; of one network: a quarter */
	HTTP_ACCEPT_BATCH = 64,              /* in one turn of the loop */
	HTTP_OWN_DESCRIPTORS = 64,           /* of the server, beside those of connections */
};

#define HTTP_HEAD_TIMEOUT   (10 * USEC_PER_SEC)
#define HTTP_BODY_TIMEOUT   (60 * USEC_PER_SEC)
#define HTTP_IDLE_TIMEOUT   (75 * USEC_PER_SEC)
#define HTTP_LINK_IDLE      (1 * USEC_PER_SEC)
#define HTTP_WRITE_TIMEOUT  (60 * USEC_PER_SEC)
#define HTTP_ASK_PERIOD     (5 * USEC_PER_SEC) /* is a half-closed client still there? */
#define HTTP_LINGER_TIMEOUT (2 * USEC_PER_SEC)

#endif
