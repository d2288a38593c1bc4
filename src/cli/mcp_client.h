/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small MCP client over HTTP for tests of an operator's own server: one request at a time, each
 * bounded in time and size. It blocks.
 */
#ifndef BERTH_CLI_MCP_CLIENT_H
#define BERTH_CLI_MCP_CLIENT_H

#include "sys/clock.h"
#include "json/json.h"

#include <curl/curl.h>

#define MCP_CLIENT_MODERN "2026-07-28" /* the revision without an initialize request */

enum { MCP_CLIENT_MAX_BODY = 8 << 20, MCP_CLIENT_TIMEOUT_S = 120 };

struct mcp_client {
	CURL *curl;          /* owned */
	const char *url;     /* of the endpoint; borrowed */
	const char *token;   /* bearer token or NULL; borrowed */
	const char *ca_file; /* certificates to trust instead of the system's, or NULL; borrowed */
};

struct mcp_reply {
	long status;
	struct buf body;
	json_t *result;         /* of the JSON-RPC answer, or NULL; owned */
	char error[256];        /* its error message, or "" */
	usec first_byte, ended; /* since the request was sent; first_byte 0: no body */
	bool is_stream;         /* text/event-stream */
};

int mcp_client_init(struct mcp_client *ret, const char *url, const char *token,
		    struct err *err) MUST_CHECK;
void mcp_client_done(struct mcp_client *client);

/*
 * Sends `method` in the given revision. `params` is taken over. 0 whenever the server answered,
 * with whatever status; -1 when it did not.
 */
int mcp_client_request(struct mcp_client *client, const char *revision, const char *method,
		       json_t *params, struct mcp_reply *ret, struct err *err) MUST_CHECK;
/* GET of any URL, without the token and without following redirects. */
int mcp_client_get(struct mcp_client *client, const char *url, struct mcp_reply *ret,
		   struct err *err) MUST_CHECK;

void mcp_reply_done(struct mcp_reply *reply);
#define auto_reply CLEANUP(mcp_reply_done)
/* The text of a tool's result; "" if it has none. Borrowed. */
const char *mcp_reply_text(const struct mcp_reply *reply);

#endif
