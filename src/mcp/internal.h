/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this layer share: the server, one POST (an exchange) and one tools/call.
 *
 * An exchange owns its request, later its stream, until every message in it has its answer. It is
 * answered with one JSON body, or, when that takes too long, with an event stream. Each tools/call
 * in it is a struct mcp_call, which the exchange owns until the tool finishes it. When the client
 * is gone, calls are cancelled: at once in the modern era, after a grace in the legacy one, where
 * the exchange stays, without request, so long. A call whose tool cannot be told (no on_cancel) is
 * detached: it lives on without exchange until the tool finishes it.
 */
#ifndef BERTH_MCP_INTERNAL_H
#define BERTH_MCP_INTERNAL_H

#include "base/list.h"
#include "mcp/catalog.h"
#include "mcp/era.h"
#include "mcp/guard.h"
#include "mcp/headers.h"
#include "mcp/mcp.h"

#define MCP_SERVER_INFO "{\"name\":\"berth\",\"title\":\"Berth\",\"version\":\"" BERTH_VERSION "\"}"
/* Ends the result of a modern answer. */
#define MCP_MODERN_META ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" MCP_SERVER_INFO "}"

struct mcp_server {
	struct mcp_config config; /* defaults filled in */
	struct guard guard;
	struct catalog *catalog;
	struct buf instructions[CATALOG_NUM_VIEWS]; /* JSON strings */
	json_t *no_arguments;                       /* an empty object */
	struct list exchanges;                      /* that wait for something */
	struct list detached;                       /* calls without exchange */
	uint32_t n_calls;
	uint64_t calls_made, calls_failed; /* since the start */
	sd_event_source *ticker;           /* runs while there are exchanges */
	usec tick_every;
	bool shutting_down;
};

/* Makes sure that exchanges are looked at. */
void server_wake_ticker(struct mcp_server *server);

struct exchange {
	struct list node; /* in server->exchanges */
	struct mcp_server *server;
	struct http_request *req;   /* NULL once it became a stream or the client went away */
	struct http_stream *stream; /* NULL before, and when the client went away */
	struct mcp_principal principal;
	enum catalog_view view;
	enum mcp_era era;
	bool is_batch;
	bool may_stream;
	bool for_browser;     /* an Origin was sent */
	uint32_t pending;     /* answers to come, and one while messages are being read */
	unsigned status;      /* of the JSON answer */
	struct buf answers;   /* separated by commas */
	struct list calls;    /* struct mcp_call */
	usec begun;           /* monotonic, as the next two */
	usec sent;            /* the last byte of the stream */
	usec gone;            /* when the client went away, or 0 */
	struct buf described; /* the request's headers, kept when the request ends */
};

/* Takes the request. NULL when out of memory (then it was answered). It holds one pending. */
struct exchange *exchange_new(struct mcp_server *server, struct http_request *req,
			      const struct mcp_headers *headers,
			      const struct mcp_principal *principal);
/* One answer of several, or the only one. -ENOSPC when it does not fit beside the others. */
int exchange_answer(struct exchange *ex, unsigned status, struct view text) MUST_CHECK;
/* The same for an error. */
void exchange_fail(struct exchange *ex, const json_t *id, unsigned status,
		   const struct rpc_error *error);
/* One pending less; with the last one everything is sent and the exchange is freed. */
void exchange_done(struct exchange *ex);
/* A notification about one of the calls. Makes the answer a stream; false if that is not allowed
 * or nobody listens any more. */
bool exchange_notify(struct exchange *ex, struct view text);
/* What is due by time: becoming a stream, keep-alive, the end of the grace (then it is freed). */
void exchange_tick(struct exchange *ex, usec now);
/* Cancels all calls and frees it without an answer. */
void exchange_abandon(struct exchange *ex);

/* Extra headers of an answer on this endpoint: CORS where a browser asked, then `more` (may be
 * NULL, else ends with { NULL, NULL }). Returns out. */
enum { ANSWER_MAX_HEADERS = 8 };
const struct http_header *answer_headers(bool for_browser, const struct http_header *more,
					 struct http_header out[ANSWER_MAX_HEADERS]);

struct mcp_call {
	struct list node; /* in exchange->calls or server->detached */
	struct mcp_server *server;
	struct exchange *exchange; /* NULL when detached */
	const struct catalog_tool *tool;
	struct mcp_principal principal;
	json_t *id;        /* owned, as the next two */
	json_t *token;     /* of progress, or NULL */
	json_t *arguments; /* an object */
	usec progress_sent;
	uint64_t progress; /* the last value */
	char waiting[160]; /* a message that came too soon after the last one, or "" */
	void (*on_cancel)(void *userdata);
	void *cancel_userdata;
	char client[128];
};

/* Runs the tool for a request whose params are checked. */
void call_start(struct exchange *ex, const struct rpc_message *message,
		const struct catalog_tool *tool, json_t *arguments);
/* The client does not wait for it any more: tells the tool. Does not touch exchange->pending. */
void call_cancel(struct mcp_call *call);
/* Gives `text` as the error result, then tells the tool as above. */
void call_interrupt(struct mcp_call *call, const char *text);
/* Frees a call that no tool knows any more. */
void call_free(struct mcp_call *call);
/* Progress that was held back, or a sign of life for clients that count on some. */
void call_tick(struct mcp_call *call, usec now);
/* notifications/cancelled: only for one's own call, and only if it is clear which is meant. */
void call_cancel_by_id(struct mcp_server *server, const struct mcp_principal *principal,
		       const json_t *id);

/* Sends the call's answer; the call stays (its end is up to the caller). Not for detached calls. */
void call_answer_text(struct mcp_call *call, enum mcp_outcome outcome, struct view text);

/* For tools of this layer (fixtures): progress at once with these numbers; a result with any
 * content, the JSON elements of the "content" array. */
void call_progress_now(struct mcp_call *call, uint64_t progress, uint64_t total);
void call_finish_content(struct mcp_call *call, enum mcp_outcome outcome, struct view content);

/* One message of an exchange: decides its era, checks it, and answers or starts it. */
void message_handle(struct exchange *ex, const json_t *body, const struct mcp_headers *headers);

#endif
