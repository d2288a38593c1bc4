/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against web pages that reach for the server from a visitor's browser: the Host header must be one
 * of ours (DNS rebinding), and the Origin, which browsers add, one that may call. Pure: no I/O.
 */
#ifndef BERTH_MCP_GUARD_H
#define BERTH_MCP_GUARD_H

#include "base/buf.h"

/* See mcp_config. */
struct guard {
	const char *public_url;
	const char *allowed_origins;
	const char *allowed_hosts;
};

/* NULL if the request may go on, else the sentence for its 403. p == NULL: header absent. */
const char *guard_refuse(const struct guard *guard, struct view host, struct view origin);

#endif
