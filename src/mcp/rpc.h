/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 messages: telling their kinds apart, and the text of errors. */
#ifndef BERTH_MCP_RPC_H
#define BERTH_MCP_RPC_H

#include "json/json.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_LEGACY_BAD_VERSION = -32000, /* what legacy clients know for an unknown version */
	RPC_HEADER_MISMATCH = -32020,
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind {
	RPC_INVALID,
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE, /* a client's answer; nothing is ever asked, so it is ignored */
};

/* Everything is borrowed from the parsed body. */
struct rpc_message {
	enum rpc_kind kind;
	const char *why;      /* RPC_INVALID: what is wrong with it */
	const json_t *id;     /* NULL if there is none that could be echoed */
	struct view method;   /* of requests and notifications */
	const json_t *params; /* an object; NULL when absent or null */
	const json_t *meta;   /* params._meta, if that is an object */
};

void rpc_read(const json_t *body, struct rpc_message *ret);

/* True for a string of bounded length without NUL, or an integer: what can be echoed exactly. */
bool rpc_is_token(const json_t *value);
/* Appends such a value as JSON text. As buf_add(). */
int rpc_add_token(struct buf *out, const json_t *token) MUST_CHECK;

struct rpc_error {
	enum rpc_code code;
	const char *message;
	const char *data; /* JSON text, or NULL */
};
/* Appends an error response. `id` may be NULL: then there is no id member (null is not valid). */
int rpc_add_error(struct buf *out, const json_t *id, const struct rpc_error *error) MUST_CHECK;

#endif
