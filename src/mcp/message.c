/* SPDX-License-Identifier: Apache-2.0 */
/* One message: what it is, whether it may be served, and the methods. */
#include "mcp/internal.h"

#include "mcp/limits.h"
#include "mcp/param_headers.h"

#include <stdio.h>

/* The request that is being served. */
struct context {
	struct exchange *ex;
	const struct rpc_message *message;
};

static void PRINTF(4, 5)
	fail(const struct context *c, unsigned status, enum rpc_code code, const char *fmt, ...)
{
	char text[300];
	const struct rpc_error error = { code, text, NULL };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	exchange_fail(c->ex, c->message->id, status, &error);
}

/* Answers with {"jsonrpc", "id", "result": {head + middle + tail}}. */
static void succeed(const struct context *c, const char *head, struct view middle, const char *tail)
{
	auto_buf struct buf text = BUF_INIT(MCP_MAX_TOOLS_TEXT + 8192);
	int r = buf_add_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":");

	if (r == 0)
		r = rpc_add_token(&text, c->message->id);
	if (r == 0)
		r = buf_addf(&text, ",\"result\":{%s", head);
	if (r == 0)
		r = buf_add_view(&text, middle);
	if (r == 0)
		r = buf_addf(&text, "%s}}", tail);
	if (r < 0 || exchange_answer(c->ex, 200, buf_view(&text)) < 0)
		fail(c, 200, RPC_INTERNAL_ERROR, "the result does not fit");
}

/* ---- methods ---- */

static void do_initialize(const struct context *c)
{
	const json_t *asked = json_object_get(c->message->params, "protocolVersion");
	const struct buf *instructions = &c->ex->server->instructions[c->ex->view];
	char head[256];

	if (!json_is_string(asked)) {
		fail(c, 200, RPC_INVALID_PARAMS, "params.protocolVersion must be a string");
		return;
	}
	(void)snprintf(head, sizeof(head),
		       "\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
		       "\"serverInfo\":" MCP_SERVER_INFO ",\"instructions\":",
		       era_negotiate(json_view(asked)));
	succeed(c, head, buf_view(instructions), "");
}

static void do_discover(const struct context *c)
{
	const struct buf *instructions = &c->ex->server->instructions[c->ex->view];

	succeed(c,
		"\"resultType\":\"complete\",\"supportedVersions\":[\"" MCP_MODERN_VERSION
		"\"],\"capabilities\":{\"tools\":{}},\"instructions\":",
		buf_view(instructions),
		",\"ttlMs\":3600000,\"cacheScope\":\"private\"" MCP_MODERN_META);
}

/* ping; and logging/setLevel, which some clients send unasked: nothing is ever logged to them. */
static void do_nothing(const struct context *c)
{
	succeed(c, "", VIEW(""), "");
}

static void do_tools_list(const struct context *c)
{
	const json_t *cursor = json_object_get(c->message->params, "cursor");
	struct view tools = catalog_text(c->ex->server->catalog, c->ex->view);

	/* There is one page, so every cursor is unknown, the empty one too. */
	if (cursor && !json_is_null(cursor))
		fail(c, 200, RPC_INVALID_PARAMS, "Unknown cursor");
	else if (c->ex->era == MCP_MODERN)
		succeed(c, "\"resultType\":\"complete\",\"tools\":[", tools,
			"],\"ttlMs\":300000,\"cacheScope\":\"private\"" MCP_MODERN_META);
	else
		succeed(c, "\"tools\":[", tools, "]");
}

/* What only modern requests are held to. False after having answered. */
static bool check_modern_call(const struct context *c, const struct catalog_tool *tool,
			      const json_t *arguments)
{
	const json_t *capabilities = json_object_get(c->message->meta, MCP_META_CAPABILITIES);
	const char *needed = catalog_tool(tool)->needs_capability;
	struct rpc_error error = { RPC_MISSING_CAPABILITY, "Missing required client capability" };
	char data[128];
	struct err err;

	if (needed && !json_object_get(capabilities, needed)) {
		(void)snprintf(data, sizeof(data), "{\"requiredCapabilities\":{\"%s\":{}}}",
			       needed);
		error.data = data;
		exchange_fail(c->ex, c->message->id, 400, &error);
		return false;
	}
	if (param_headers_check(catalog_properties(tool), arguments, c->ex->req, &err) < 0) {
		fail(c, 400, RPC_HEADER_MISMATCH, "%s", err.msg);
		return false;
	}
	return true;
}

static void do_tools_call(const struct context *c)
{
	const json_t *name = json_object_get(c->message->params, "name");
	json_t *arguments = json_object_get(c->message->params, "arguments");
	const struct catalog_tool *tool = catalog_find(c->ex->server->catalog, json_view(name));

	if (!arguments || json_is_null(arguments))
		arguments = c->ex->server->no_arguments;
	if (!json_is_string(name))
		fail(c, 200, RPC_INVALID_PARAMS, "params.name must be a string");
	else if (!tool)
		fail(c, 200, RPC_INVALID_PARAMS, "Unknown tool: %.80s", json_string_value(name));
	else if (!json_is_object(arguments))
		fail(c, 200, RPC_INVALID_PARAMS, "params.arguments must be an object");
	else if (c->ex->era == MCP_LEGACY || check_modern_call(c, tool, arguments))
		call_start(c->ex, c->message, tool, arguments);
}

static const struct method {
	struct view name;
	unsigned eras; /* bits 1 << enum mcp_era */
	void (*fn)(const struct context *c);
} methods[] = {
	{ VIEW_INIT("tools/call"), 1U << MCP_LEGACY | 1U << MCP_MODERN, do_tools_call },
	{ VIEW_INIT("tools/list"), 1U << MCP_LEGACY | 1U << MCP_MODERN, do_tools_list },
	{ VIEW_INIT("server/discover"), 1U << MCP_MODERN, do_discover },
	{ VIEW_INIT("initialize"), 1U << MCP_LEGACY, do_initialize },
	{ VIEW_INIT("ping"), 1U << MCP_LEGACY, do_nothing },
	{ VIEW_INIT("logging/setLevel"), 1U << MCP_LEGACY, do_nothing },
};

static const struct method *find_method(struct view name, enum mcp_era era)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (view_eq(methods[i].name, name))
			return methods[i].eras & 1U << era ? &methods[i] : NULL;
	return NULL;
}

/* ---- what comes before the method ---- */

/* The members every modern request has. NULL, or what is wrong. */
static const char *refuse_envelope(const json_t *meta)
{
	const json_t *capabilities = json_object_get(meta, MCP_META_CAPABILITIES);
	const json_t *client = json_object_get(meta, MCP_META_CLIENT);

	if (!capabilities)
		return "Missing required _meta key " MCP_META_CAPABILITIES;
	if (!json_is_object(capabilities))
		return "_meta key " MCP_META_CAPABILITIES " must be an object";
	if (client && (!json_is_string(json_object_get(client, "name")) ||
		       !json_is_string(json_object_get(client, "version"))))
		return "_meta key " MCP_META_CLIENT " must have a name and a version";
	return NULL;
}

/* False after having answered. */
static bool check_modern(const struct context *c, const struct mcp_headers *headers,
			 enum headers_duty duty)
{
	const char *why = refuse_envelope(c->message->meta);
	struct err err;

	if (why) {
		fail(c, 400, RPC_INVALID_PARAMS, "%s", why);
		return false;
	}
	if (mcp_headers_check(headers, c->message, duty, &err) < 0) {
		fail(c, 400, RPC_HEADER_MISMATCH, "%s", err.msg);
		return false;
	}
	return true;
}

static void serve(const struct context *c, const struct mcp_headers *headers,
		  const struct era_verdict *verdict)
{
	enum headers_duty duty = verdict->headers_optional ? HEADERS_OPTIONAL : HEADERS_REQUIRED;
	const struct method *method = find_method(c->message->method, verdict->era);

	c->ex->era = verdict->era;
	if (verdict->era == MCP_MODERN && !check_modern(c, headers, duty))
		return;
	if (method)
		method->fn(c);
	else
		/* To a legacy client 404 would mean that its session is gone. */
		fail(c, verdict->era == MCP_MODERN ? 404 : 200, RPC_METHOD_NOT_FOUND,
		     "Method not found: %.*s", VIEW_ARG(view_first(c->message->method, 80)));
}

/* Notifications ask for no answer; only one of them means something here. In the modern era a
 * client cancels by closing the connection. */
static void take_note(struct exchange *ex, const struct rpc_message *message, enum mcp_era era)
{
	if (message->kind == RPC_NOTIFICATION && era == MCP_LEGACY &&
	    view_is(message->method, "notifications/cancelled"))
		call_cancel_by_id(ex->server, &ex->principal,
				  json_object_get(message->params, "requestId"));
}

void message_handle(struct exchange *ex, const json_t *body, const struct mcp_headers *headers)
{
	enum era_skew skew =
		ex->server->config.strict_version_header ? ERA_SKEW_REFUSED : ERA_SKEW_ACCEPTED;
	struct rpc_message message;
	const struct context c = { ex, &message };
	struct era_verdict verdict;
	struct rpc_error error;

	rpc_read(body, &message);
	if (message.kind == RPC_INVALID) {
		fail(&c, 400, RPC_INVALID_REQUEST, "Invalid Request: %s", message.why);
		return;
	}
	era_decide(&message, headers->version, skew, &verdict);
	switch (verdict.action) {
	case ERA_ACCEPT:
		take_note(ex, &message, verdict.era);
		break;
	case ERA_REFUSE:
		error = (struct rpc_error){ verdict.code, verdict.message,
					    *verdict.data ? verdict.data : NULL };
		exchange_fail(ex, message.id, 400, &error);
		break;
	case ERA_SERVE:
		serve(&c, headers, &verdict);
		break;
	}
}
