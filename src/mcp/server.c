/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint: who may talk to it, reading a POST, and the server's life. */
#include "mcp/internal.h"

#include "base/log.h"
#include "http/cors.h"
#include "mcp/limits.h"
#include "sys/loop.h"

#include <assert.h>
#include <sodium.h>

static const char restart_text[] =
	"[call error] The server is restarting, and this call was interrupted. Nothing is known to "
	"be wrong with it: call again in a few seconds.";

/* ---- answers without an exchange ---- */

static void reply_error(struct http_request *req, const struct mcp_headers *headers,
			unsigned status, const struct rpc_error *error)
{
	struct http_header extra[ANSWER_MAX_HEADERS];
	auto_buf struct buf text = BUF_INIT(8192);
	char quoted[128];

	log_debug("mcp: %s gets %u: %s", http_request_network(req), status,
		  log_quote(view_str(error->message), quoted, sizeof(quoted)));
	if (rpc_add_error(&text, NULL, error) < 0)
		buf_truncate(&text, 0);
	http_reply(req, status, "application/json", buf_view(&text),
		   answer_headers(headers->origin.p != NULL, NULL, extra));
}

/* What has a status and one header only. */
static void reply_plain(struct http_request *req, const struct mcp_headers *headers,
			unsigned status, const char *name, const char *value)
{
	const struct http_header more[] = { { name, value }, { NULL, NULL } };
	struct http_header extra[ANSWER_MAX_HEADERS];

	http_reply(req, status, NULL, VIEW(""),
		   answer_headers(headers->origin.p != NULL, more, extra));
}

/* ---- a request ---- */

static bool collect_header(struct view name, struct view value, void *userdata)
{
	mcp_headers_add(userdata, name, value);
	return true;
}

static void reply_options(struct http_request *req, const struct mcp_headers *headers)
{
	/* Browser clients try the methods of older revisions too, and want to see the 405. */
	static const struct cors_policy policy = { .methods = "GET, POST, DELETE, OPTIONS" };

	if (headers->origin.p)
		cors_preflight(req, &policy);
	else
		reply_plain(req, headers, 204, "Allow", "POST");
}

/* What needs no principal. False after having answered. */
static bool may_ask(struct mcp_server *server, struct http_request *req,
		    const struct mcp_headers *headers)
{
	struct rpc_error refusal = { RPC_INVALID_REQUEST, NULL, NULL };

	refusal.message = guard_refuse(&server->guard, headers->host, headers->origin);
	if (refusal.message) {
		/* Without the headers that would let the page read it. */
		static const struct mcp_headers nobody;

		reply_error(req, &nobody, 403, &refusal);
		return false;
	}
	if (http_request_method(req) == HTTP_OPTIONS) {
		reply_options(req, headers);
		return false;
	}
	if (server->shutting_down) {
		reply_plain(req, headers, 503, "Retry-After", "2");
		return false;
	}
	return true;
}

/* All that the head tells. False after having answered. */
static bool admit(struct mcp_server *server, struct http_request *req, struct mcp_headers *headers,
		  struct mcp_principal *principal)
{
	static const struct rpc_error no_json = { RPC_INVALID_REQUEST,
						  "Content-Type must be application/json", NULL };

	http_request_each_header(req, collect_header, headers);
	if (!may_ask(server, req, headers) ||
	    server->config.authenticate(req, principal, server->config.userdata) < 0)
		return false;
	/* Only now: clients send a GET or HEAD without a token to read the challenge. */
	if (http_request_method(req) != HTTP_POST) {
		reply_plain(req, headers, 405, "Allow", "POST");
		return false;
	}
	if (!mcp_headers_are_json(headers)) {
		reply_error(req, headers, 415, &no_json);
		return false;
	}
	return true;
}

/* Nothing of the body is kept for strangers. */
static void check(struct http_request *req, void *userdata)
{
	struct mcp_headers headers = { 0 };
	struct mcp_principal principal = { 0 };

	(void)admit(userdata, req, &headers, &principal);
}

static json_t *read_body(struct http_request *req, const struct mcp_headers *headers)
{
	struct rpc_error error = { RPC_PARSE_ERROR, NULL, NULL };
	auto_buf struct buf message = BUF_INIT(1024);
	struct err err;
	json_t *body = json_parse_allow_nul(http_request_body(req), &err);

	if (body)
		return body;
	error.message = buf_addf(&message, "Parse error: %s", err.msg) == 0 ? buf_str(&message)
									    : "Parse error";
	reply_error(req, headers, 400, &error);
	return NULL;
}

static void handle_body(struct exchange *ex, const json_t *body, const struct mcp_headers *headers)
{
	const char *why = json_is_array(body) ? era_refuse_batch(body, headers->version) : NULL;
	const struct rpc_error error = { RPC_INVALID_REQUEST, why, NULL };
	const json_t *element;
	size_t i;

	if (why) {
		exchange_fail(ex, NULL, 400, &error);
	} else if (json_is_array(body)) {
		ex->is_batch = true;
		json_array_foreach(body, i, element) message_handle(ex, element, headers);
	} else {
		message_handle(ex, body, headers);
	}
}

static void handle(struct http_request *req, void *userdata)
{
	struct mcp_server *server = userdata;
	struct mcp_headers headers = { 0 };
	struct mcp_principal principal = { 0 };
	struct exchange *ex;

	/* Again if check() ran: while the body came, the sign-in may have ended. */
	if (!admit(server, req, &headers, &principal))
		return;
	auto_json json_t *body = read_body(req, &headers);
	if (!body)
		return;
	ex = exchange_new(server, req, &headers, &principal);
	if (!ex)
		return;
	handle_body(ex, body, &headers);
	exchange_done(ex);
}

/* ---- time ---- */

void server_wake_ticker(struct mcp_server *server)
{
	int enabled = SD_EVENT_OFF;

	if (sd_event_source_get_enabled(server->ticker, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return;
	loop_wake_after(server->ticker, server->tick_every);
}

static int tick(sd_event_source *source, uint64_t when, void *userdata)
{
	struct mcp_server *server = userdata;
	usec now = clock_monotonic(server->config.clock);
	struct list *it, *tmp;

	(void)source;
	(void)when;
	list_each(it, tmp, &server->exchanges)
		exchange_tick(container_of(it, struct exchange, node), now);
	if (!list_is_empty(&server->exchanges))
		server_wake_ticker(server);
	return 0;
}

static usec least(usec a, usec b)
{
	return a < b ? a : b;
}

/* Often enough for the shortest of the times. */
static usec tick_interval(const struct mcp_config *config)
{
	usec shortest = least(config->stream_after, least(config->keepalive, config->cancel_grace));

	return least(shortest / 4 + 1, USEC_PER_SEC / 2);
}

/* ---- the server ---- */

static void set_defaults(struct mcp_config *config)
{
	if (!config->stream_after)
		config->stream_after = MCP_STREAM_AFTER;
	if (!config->keepalive)
		config->keepalive = MCP_KEEPALIVE;
	if (!config->cancel_grace)
		config->cancel_grace = MCP_CANCEL_GRACE;
	if (!config->clock)
		config->clock = &clock_system;
}

static int write_instructions(struct mcp_server *server, struct err *err)
{
	const char *texts[CATALOG_NUM_VIEWS] = {
		[CATALOG_PLAIN] = server->config.instructions,
		[CATALOG_LABELS] = server->config.instructions_labels,
	};

	for (size_t i = 0; i < CATALOG_NUM_VIEWS; i++) {
		buf_init(&server->instructions[i], MCP_MAX_TOOLS_TEXT);
		if (json_add_string(&server->instructions[i], view_str(texts[i])) < 0)
			return err_set(err, ERR_INVALID, "the instructions are too long");
	}
	return 0;
}

static int add_routes(struct mcp_server *server, struct http_server *http, struct err *err)
{
	static const char *const paths[] = { "/mcp", "/mcp/" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct http_route route = {
			.path = paths[i],
			.match = HTTP_MATCH_EXACT,
			.methods = HTTP_GET | HTTP_HEAD | HTTP_POST | HTTP_PUT | HTTP_DELETE |
				   HTTP_OPTIONS | HTTP_PATCH | HTTP_OTHER,
			.max_body_bytes = server->config.max_body_bytes,
			.handler = handle,
			.check = check,
			.userdata = server,
		};

		if (http_server_add_route(http, &route, err) < 0)
			return -1;
	}
	return 0;
}

static int add_ticker(struct mcp_server *server, sd_event *event, struct err *err)
{
	int r = loop_add_timer(event, &server->ticker, tick, server);

	return r < 0 ? err_sys(err, -r, "timer of open calls") : 0;
}

int mcp_server_new(sd_event *event, struct http_server *http, const struct mcp_config *config,
		   struct mcp_server **ret, struct err *err)
{
	struct mcp_server *server = calloc(1, sizeof(*server));

	assert(config->authenticate);
	if (!server || sodium_init() < 0) {
		free(server);
		return err_sys(err, ENOMEM, "MCP server");
	}
	server->config = *config;
	set_defaults(&server->config);
	server->guard = (struct guard){ config->public_url, config->allowed_origins,
					config->allowed_hosts };
	server->tick_every = tick_interval(&server->config);
	list_init(&server->exchanges);
	list_init(&server->detached);
	server->no_arguments = json_object();
	if (!server->no_arguments ||
	    catalog_new(config->sandbox_property, &server->catalog, err) < 0 ||
	    write_instructions(server, err) < 0 || add_ticker(server, event, err) < 0 ||
	    add_routes(server, http, err) < 0) {
		mcp_server_free(server);
		return err_wrap(err, "MCP server");
	}
	*ret = server;
	return 0;
}

void mcp_server_free(struct mcp_server *server)
{
	struct list *it, *tmp;

	if (!server)
		return;
	list_each(it, tmp, &server->exchanges)
	{
		struct exchange *ex = container_of(it, struct exchange, node);

		/* Whatever the HTTP server still does with them does not come back here. */
		if (ex->req)
			http_request_on_gone(ex->req, NULL, NULL);
		if (ex->stream)
			http_stream_end(ex->stream);
		exchange_abandon(ex);
	}
	list_each(it, tmp, &server->detached) call_free(container_of(it, struct mcp_call, node));
	sd_event_source_disable_unref(server->ticker);
	catalog_free(server->catalog);
	for (size_t i = 0; i < CATALOG_NUM_VIEWS; i++)
		buf_done(&server->instructions[i]);
	json_decref(server->no_arguments);
	free(server);
}

int mcp_server_add_tool(struct mcp_server *server, const struct mcp_tool *tool, struct err *err)
{
	return catalog_add(server->catalog, tool, err);
}

/* Ends all calls of an exchange, and with the last one the exchange. */
static void interrupt(struct exchange *ex)
{
	struct list *it, *tmp;
	uint32_t calls = 0;

	list_each(it, tmp, &ex->calls)
	{
		call_interrupt(container_of(it, struct mcp_call, node), restart_text);
		calls++;
	}
	for (; calls; calls--)
		exchange_done(ex);
}

void mcp_server_shut_down(struct mcp_server *server)
{
	struct list *it, *tmp;

	server->shutting_down = true;
	list_each(it, tmp, &server->exchanges) interrupt(container_of(it, struct exchange, node));
}

uint32_t mcp_server_calls(const struct mcp_server *server)
{
	return server->n_calls;
}

uint64_t mcp_server_calls_made(const struct mcp_server *server)
{
	return server->calls_made;
}

uint64_t mcp_server_calls_failed(const struct mcp_server *server)
{
	return server->calls_failed;
}
