/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a client of the MCP endpoint can make grow, and how far; and the times of an
 * open call. Sizes are bytes. The body limit is the operator's (mcp_config).
 */
#ifndef BERTH_MCP_LIMITS_H
#define BERTH_MCP_LIMITS_H

#include "sys/clock.h"

enum {
	MCP_MAX_ID = 256,   /* a string id or progress token */
	MCP_MAX_BATCH = 16, /* messages in one 2025-03-26 batch */
	/* A whole result message: several clients refuse one of 1,048,576 characters. */
	MCP_MAX_RESULT = 1000 * 1000,
	MCP_MAX_ANSWERS = 4 * MCP_MAX_RESULT, /* all answers of one batch */
	MCP_MAX_CALLS = 4096,                 /* calls under way */
	MCP_MAX_CALLS_PER_PRINCIPAL = 32,
	MCP_MAX_DESCRIPTION = 16 * 1024, /* the request's headers as text */
	MCP_MAX_TOOLS_TEXT = 1024 * 1024,
	MCP_MAX_PROGRESS_TEXT = 160,
	MCP_MAX_STREAM = 2 * MCP_MAX_RESULT, /* unsent bytes of an event stream */
};

/* How long a result may take before the answer becomes an event stream. */
#define MCP_STREAM_AFTER (3 * USEC_PER_SEC)
/* Silence on an open stream: clients and proxies give up after 60 s of it, some earlier. */
#define MCP_KEEPALIVE (8 * USEC_PER_SEC)
/* Progress notifications of one call. */
#define MCP_PROGRESS_EVERY (2 * USEC_PER_SEC)
/* A legacy client whose connection ended may only be changing networks. */
#define MCP_CANCEL_GRACE (30 * USEC_PER_SEC)

#endif
