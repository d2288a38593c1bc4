/* SPDX-License-Identifier: Apache-2.0 */
/* run_command, job, sandbox_info, reset_sandbox: the tools of the container itself. */
#ifndef BERTH_TOOLS_CORE_TOOLS_H
#define BERTH_TOOLS_CORE_TOOLS_H

#include "tools/call.h"

/* Registers the four. `env` outlives the server. */
int core_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err) MUST_CHECK;

/* Their functions, for the table in core_tools.c. */
void run_command_tool(struct mcp_call *call, void *userdata);
void job_tool(struct mcp_call *call, void *userdata);
void sandbox_info_tool(struct mcp_call *call, void *userdata);
void reset_sandbox_tool(struct mcp_call *call, void *userdata);

/*
 * What the model is told about the server as a whole (`instructions`), from the configuration: the
 * system, what survives, limits, network. `labels`: for principals with several sandboxes.
 */
enum tool_audience { TOOL_AUDIENCE_SINGLE, TOOL_AUDIENCE_LABELS };
/* What a sandbox reaches, as a sentence. */
int core_tools_network(const struct conf *conf, struct buf *out) MUST_CHECK;
int core_tools_instructions(const struct conf *conf, enum tool_audience audience,
			    struct buf *out) MUST_CHECK;
/* Seconds for which the tool job waits, unless it is told. */
uint32_t job_default_wait(const struct conf *conf);
/* What a sandbox uses now, as a line; without what the host does not count, which may be all. */
int core_tools_usage(const struct engine_usage *usage, struct buf *out) MUST_CHECK;
/* JSON text of the `sandbox` parameter. */
extern const char core_tools_sandbox_property[];

#endif
