/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registered tools: their texts for tools/list, made once when a tool is added, and the check
 * of a call's arguments against what the tool takes.
 */
#ifndef BERTH_MCP_CATALOG_H
#define BERTH_MCP_CATALOG_H

#include "mcp/mcp.h"

struct catalog;

/* Which tools a principal sees: with or without the `sandbox` parameter. */
enum catalog_view {
	CATALOG_PLAIN,
	CATALOG_LABELS,
	CATALOG_NUM_VIEWS,
};

/* `sandbox_property` is the JSON text of that parameter's schema; borrowed during the call. */
int catalog_new(const char *sandbox_property, struct catalog **ret, struct err *err) MUST_CHECK;
void catalog_free(struct catalog *catalog);
DEFINE_CLEANUP(catalog)

/* `tool` is borrowed. ERR_INVALID for a bad name or schema, ERR_EXISTS. */
int catalog_add(struct catalog *catalog, const struct mcp_tool *tool, struct err *err) MUST_CHECK;

/* The elements of the "tools" array, separated by commas. */
struct view catalog_text(const struct catalog *catalog, enum catalog_view view);

struct catalog_tool;
/* NULL when there is none of that name. */
const struct catalog_tool *catalog_find(const struct catalog *catalog, struct view name);
const struct mcp_tool *catalog_tool(const struct catalog_tool *tool);
/* The schemas of its arguments by name, without `sandbox`. */
const json_t *catalog_properties(const struct catalog_tool *tool);

/*
 * Every argument must be one the tool has, and every required one be there. ERR_INVALID with a
 * sentence for the model that names what is wrong and what the tool takes.
 */
int catalog_check_arguments(const struct catalog_tool *tool, enum catalog_view view,
			    const json_t *arguments, struct err *err) MUST_CHECK;

#endif
