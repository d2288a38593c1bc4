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

/*
 * As tool_call_path(), without "." and ".." and empty components, which a client that follows a
 * link takes out itself, so that it would ask for another path than was signed. What leads out of
 * the workspace keeps its "..", for the keeper to refuse. `path` is initialised here.
 */
int link_tools_path(struct tool_call *call, const char *name, enum tool_path_kind kind,
		    struct buf *path) MUST_CHECK;

/* "2026-11-29 17:30:00 UTC (600 seconds from now)". */
int link_tools_add_expiry(const struct tool_env *env, uint64_t expiry, struct buf *out) MUST_CHECK;

#endif
