/* SPDX-License-Identifier: Apache-2.0 */
/* present_file and request_upload: files to the user and from the user. */
#ifndef BERTH_TOOLS_LINK_TOOLS_H
#define BERTH_TOOLS_LINK_TOOLS_H

#include "tools/call.h"

/* Registers both. `env` (with its links) outlives the server. */
int link_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err) MUST_CHECK;

/* Their functions, for the table in link_tools.c. */
void present_file_tool(struct mcp_call *call, void *userdata);
void request_upload_tool(struct mcp_call *call, void *userdata);

/* "2026-11-29 17:30:00 UTC (600 seconds from now)". */
int link_tools_add_expiry(const struct tool_env *env, uint64_t expiry, struct buf *out) MUST_CHECK;

#endif
