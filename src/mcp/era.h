/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which revision of the protocol a message is to be served as. There are two eras: legacy (up to
 * 2025-11-25, opened with `initialize`) and modern (2026-07-28, where each request says its version
 * in params._meta). The server keeps no sessions, so each message is decided by itself, from the
 * version in its body (the claim) and the MCP-Protocol-Version header. Pure: no I/O.
 */
#ifndef BERTH_MCP_ERA_H
#define BERTH_MCP_ERA_H

#include "mcp/rpc.h"

#define MCP_MODERN_VERSION        "2026-07-28"
#define MCP_NEWEST_LEGACY_VERSION "2025-11-25"

#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_CLIENT       "io.modelcontextprotocol/clientInfo"

enum mcp_era {
	MCP_LEGACY,
	MCP_MODERN,
};

/* How to take a version header that contradicts the body: see era_decide(). */
enum era_skew {
	ERA_SKEW_ACCEPTED,
	ERA_SKEW_REFUSED,
};

enum era_action {
	ERA_SERVE,  /* as verdict.era */
	ERA_ACCEPT, /* nothing to answer: 202 */
	ERA_REFUSE, /* with HTTP 400 and verdict.error */
};

struct era_verdict {
	enum era_action action;
	enum mcp_era era;
	/* Modern, but the version header belongs to another revision: whatever set it knows nothing
	 * of Mcp-Method and Mcp-Name either, so these are checked only if they are there. */
	bool headers_optional;
	enum rpc_code code; /* of a refusal */
	char message[200];
	char data[200]; /* JSON text, or "" */
};

/* `header` is the trimmed MCP-Protocol-Version header, p == NULL when absent. For any message but
 * RPC_INVALID. */
void era_decide(const struct rpc_message *message, struct view header, enum era_skew skew,
		struct era_verdict *ret);

/* Whether an array may be served as a batch of revision 2025-03-26. NULL, or why not. */
const char *era_refuse_batch(const json_t *batch, struct view header);

/* The version to answer `initialize` with: the one asked for, or the newest legacy one. */
const char *era_negotiate(struct view asked);

#endif
