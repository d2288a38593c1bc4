/* SPDX-License-Identifier: Apache-2.0 */
/* One tools/call. */
#include "mcp/internal.h"

#include "mcp/limits.h"

#include <inttypes.h>
#include <stdio.h>

enum { PROGRESS_ROOM = 4096 }; /* bytes of a notification, whatever its token and message */

/* ---- life ---- */

static void copy_client(struct mcp_call *call, const struct rpc_message *message)
{
	const json_t *info = json_object_get(message->meta, MCP_META_CLIENT);
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *version = json_string_value(json_object_get(info, "version"));
	struct view agent = http_request_header(call->exchange->req, "User-Agent");

	if (name)
		(void)snprintf(call->client, sizeof(call->client), "%s/%s", name,
			       version ? version : "");
	else
		(void)snprintf(call->client, sizeof(call->client), "%.*s",
			       VIEW_ARG(view_first(agent, sizeof(call->client))));
}

static struct mcp_call *call_new(struct exchange *ex, const struct rpc_message *message,
				 const struct catalog_tool *tool, json_t *arguments)
{
	const json_t *token = json_object_get(message->meta, "progressToken");
	struct mcp_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->server = ex->server;
	call->exchange = ex;
	call->tool = tool;
	call->principal = ex->principal;
	/* Members of the body: shared with it, not copied. */
	call->id = json_incref(json_mutable(message->id));
	if (rpc_is_token(token))
		call->token = json_incref(json_mutable(token));
	call->arguments = json_incref(arguments);
	copy_client(call, message);
	list_add_tail(&ex->calls, &call->node);
	ex->server->n_calls++;
	ex->server->calls_made++;
	ex->pending++;
	return call;
}

void call_free(struct mcp_call *call)
{
	list_remove(&call->node);
	call->server->n_calls--;
	json_decref(call->id);
	json_decref(call->token);
	json_decref(call->arguments);
	free(call);
}

/* The exchange has no more to do with it. */
static void release(struct mcp_call *call)
{
	void (*fn)(void *userdata) = call->on_cancel;

	call->exchange = NULL;
	list_remove(&call->node);
	if (!fn) {
		list_add_tail(&call->server->detached, &call->node);
		return;
	}
	call->on_cancel = NULL;
	fn(call->cancel_userdata);
	call_free(call);
}

void call_cancel(struct mcp_call *call)
{
	release(call);
}

void call_interrupt(struct mcp_call *call, const char *text)
{
	call_answer_text(call, MCP_ERROR, view_str(text));
	release(call);
}

/* ---- what tools ask ---- */

const json_t *mcp_call_arguments(const struct mcp_call *call)
{
	return call->arguments;
}

const struct mcp_principal *mcp_call_principal(const struct mcp_call *call)
{
	return &call->principal;
}

const char *mcp_call_client(const struct mcp_call *call)
{
	return call->client;
}

const char *mcp_call_tool(const struct mcp_call *call)
{
	return catalog_tool(call->tool)->name;
}

void mcp_call_on_cancel(struct mcp_call *call, void (*fn)(void *userdata), void *userdata)
{
	call->on_cancel = fn;
	call->cancel_userdata = userdata;
}

static bool is_secret(struct view name)
{
	static const char *const secrets[] = {
		"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token",
	};

	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (view_is_nocase(name, secrets[i]))
			return true;
	return false;
}

static bool describe_header(struct view name, struct view value, void *userdata)
{
	struct view shown = is_secret(name) ? VIEW("(hidden)") : value;

	return buf_addf(userdata, "%.*s: %.*s\n", VIEW_ARG(name), VIEW_ARG(shown)) == 0;
}

int mcp_call_describe_request(const struct mcp_call *call, struct buf *out)
{
	const struct exchange *ex = call->exchange;

	if (!ex)
		return 0;
	if (!ex->req)
		return buf_add_view(out, buf_view(&ex->described));
	http_request_each_header(ex->req, describe_header, out);
	return 0;
}

/* ---- progress ---- */

static usec now_of(const struct mcp_call *call)
{
	return clock_monotonic(call->server->config.clock);
}

/* `total` 0: unknown. */
static void send_progress(struct mcp_call *call, uint64_t progress, uint64_t total,
			  const char *message)
{
	auto_buf struct buf text = BUF_INIT(PROGRESS_ROOM);
	int r = buf_add_str(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
				   "\"params\":{\"progressToken\":");

	if (r == 0)
		r = rpc_add_token(&text, call->token);
	if (r == 0)
		r = buf_addf(&text, ",\"progress\":%" PRIu64, progress);
	if (r == 0 && total)
		r = buf_addf(&text, ",\"total\":%" PRIu64, total);
	if (r == 0 && *message)
		r = buf_add_str(&text, ",\"message\":");
	if (r == 0 && *message)
		r = json_add_string(&text, view_str(message));
	if (r == 0)
		r = buf_add_str(&text, "}}");
	if (r < 0 || !exchange_notify(call->exchange, buf_view(&text)))
		return;
	call->progress = progress;
	call->progress_sent = now_of(call);
}

/* Milliseconds since the call came, but always more than before. */
static void send_elapsed(struct mcp_call *call, const char *message)
{
	uint64_t ms = (now_of(call) - call->exchange->begun) / USEC_PER_MSEC;

	send_progress(call, ms > call->progress ? ms : call->progress + 1, 0, message);
}

void mcp_call_progress(struct mcp_call *call, const char *message)
{
	if (!call->token || !call->exchange)
		return;
	(void)snprintf(call->waiting, sizeof(call->waiting), "%s", message);
	if (call->progress_sent && now_of(call) - call->progress_sent < MCP_PROGRESS_EVERY)
		return;
	send_elapsed(call, call->waiting);
	call->waiting[0] = '\0';
}

void call_progress_now(struct mcp_call *call, uint64_t progress, uint64_t total)
{
	if (call->token && call->exchange)
		send_progress(call, progress, total, "");
}

void call_tick(struct mcp_call *call, usec now)
{
	char alive[64];
	usec seconds = (now - call->exchange->begun) / USEC_PER_SEC;

	if (!call->token)
		return;
	(void)snprintf(alive, sizeof(alive), "running, %" PRIu64 " s", seconds);
	send_elapsed(call, *call->waiting ? call->waiting : alive);
	call->waiting[0] = '\0';
}

/* ---- start and cancel ---- */

static uint32_t calls_of(const struct mcp_server *server, const char *principal)
{
	struct list *it, *tmp, *ct, *ctmp;
	uint32_t n = 0;

	list_each(it, tmp, &server->exchanges)
	{
		struct exchange *ex = container_of(it, struct exchange, node);

		if (strcmp(ex->principal.id, principal) != 0)
			continue;
		list_each(ct, ctmp, &ex->calls) n++;
	}
	return n;
}

void call_start(struct exchange *ex, const struct rpc_message *message,
		const struct catalog_tool *tool, json_t *arguments)
{
	static const struct rpc_error no_memory = { RPC_INTERNAL_ERROR, "out of memory", NULL };
	struct mcp_call *call = call_new(ex, message, tool, arguments);
	struct err err;

	if (!call)
		exchange_fail(ex, message->id, 200, &no_memory);
	else if (ex->server->n_calls > MCP_MAX_CALLS)
		mcp_call_finishf(call, MCP_ERROR,
				 "[call error] The server is busy with %d calls. Try again in a "
				 "minute.",
				 MCP_MAX_CALLS);
	else if (calls_of(ex->server, ex->principal.id) > MCP_MAX_CALLS_PER_PRINCIPAL)
		mcp_call_finishf(call, MCP_ERROR,
				 "[call error] You have %d calls under way. Wait for one of them.",
				 MCP_MAX_CALLS_PER_PRINCIPAL);
	else if (catalog_check_arguments(tool, ex->view, arguments, &err) < 0)
		mcp_call_finishf(call, MCP_ERROR, "[call error] %s", err_public(&err));
	else
		catalog_tool(tool)->fn(call, catalog_tool(tool)->userdata);
}

/* The only legacy call of this principal with this id, or NULL. Ids of different clients collide:
 * everybody counts from 0. */
static struct mcp_call *find_call(const struct mcp_server *server, const char *principal,
				  const json_t *id)
{
	struct list *it, *tmp, *ct, *ctmp;
	struct mcp_call *found = NULL;

	list_each(it, tmp, &server->exchanges)
	{
		struct exchange *ex = container_of(it, struct exchange, node);

		if (ex->era != MCP_LEGACY || strcmp(ex->principal.id, principal) != 0)
			continue;
		list_each(ct, ctmp, &ex->calls)
		{
			struct mcp_call *call = container_of(ct, struct mcp_call, node);

			if (!json_equal(call->id, id))
				continue;
			if (found)
				return NULL;
			found = call;
		}
	}
	return found;
}

void call_cancel_by_id(struct mcp_server *server, const struct mcp_principal *principal,
		       const json_t *id)
{
	struct mcp_call *call = id ? find_call(server, principal->id, id) : NULL;
	struct exchange *ex;

	if (!call)
		return;
	ex = call->exchange;
	call_cancel(call);
	exchange_done(ex);
}
