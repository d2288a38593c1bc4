/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP headers that the protocol gives a meaning, read in one pass, and their checks against
 * the body. Names are compared without case, values with it, after trimming. Pure: no I/O.
 */
#ifndef BERTH_MCP_HEADERS_H
#define BERTH_MCP_HEADERS_H

#include "base/err.h"
#include "mcp/rpc.h"

/* Views are borrowed from the request; p == NULL when the header is absent. One that came twice
 * with different values has a value that equals no other. */
struct mcp_headers {
	struct view host, origin, content_type;
	struct view version, method, name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
	bool accepts_json, accepts_stream; /* said so, each by itself or by a wildcard */
};

/* Start with a zeroed struct and add each header of the request. */
void mcp_headers_add(struct mcp_headers *h, struct view name, struct view value);

/* Content-Type: application/json, whatever its parameters. */
bool mcp_headers_are_json(const struct mcp_headers *h);
/*
 * False for a client that lists JSON and no event stream. Everybody else may be sent one, with or
 * without an Accept header: clients that forget it are common.
 */
bool mcp_headers_allow_stream(const struct mcp_headers *h);

enum headers_duty {
	HEADERS_REQUIRED,
	HEADERS_OPTIONAL, /* checked only if there */
};
/* Mcp-Method and Mcp-Name of a modern request. ERR_INVALID names the header (-32020). */
int mcp_headers_check(const struct mcp_headers *h, const struct rpc_message *message,
		      enum headers_duty duty, struct err *err) MUST_CHECK;

/*
 * A header's value as the text it stands for: itself, or what is wrapped in "=?base64?…?=".
 * -EINVAL for bytes that must be wrapped and are not, and for sloppy base64; -ENOMEM.
 */
int mcp_header_decode(struct view value, struct buf *out) MUST_CHECK;

#endif
