/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools that the MCP conformance suite calls by name. For test builds only (-Dfixtures=true)
 * and test servers.
 */
#ifndef BERTH_MCP_FIXTURES_H
#define BERTH_MCP_FIXTURES_H

#include "mcp/mcp.h"

/* `event` is borrowed; outlives the server. */
int mcp_fixtures_add(struct mcp_server *server, sd_event *event, struct err *err) MUST_CHECK;

#endif
