/* SPDX-License-Identifier: Apache-2.0 */
/* /health, /metrics and the start page: the snapshot filled, the routes added. */
#include "app/health.h"
#include "app/index_page.h"
#include "app/metrics.h"
#include "app/wiring.h"
#include "http/page.h"
#include "mail/courier.h"

#include <stdio.h>
#include <sys/resource.h>

enum {
	MAX_PAGE = 256 * 1024,
	MAX_STRAY_BODY = 64 * 1024, /* of a call that came to the start page */
};

static void add_enforced(const struct server *server, struct snapshot *s)
{
	const struct conf *c = &server->conf;
	struct engine_facts facts;

	sandboxes_engine_facts(server->sandboxes, &facts);
	s->enforced.engine = facts.name;
	s->enforced.namespaces = facts.namespaces;
	s->enforced.limits_by = facts.limits;
	s->enforced.network = conf_network_name((enum conf_network)c->network);
	s->enforced.network_by = facts.network;
	s->enforced.storage = server->slots.storage;
	s->enforced.disk_by = server->slots.workspace_bounded && server->slots.layer_bounded
				      ? "kernel"
				      : "measured";
	s->enforced.filter = server->confinement.filter;
	s->enforced.landlock = server->confinement.landlock;
	s->enforced.workspace = server->slots.workspace_bounded;
	s->enforced.layer = server->slots.layer_bounded;
	s->enforced.memory = facts.memory_limited;
	s->enforced.cpu = facts.cpu_limited;
	s->enforced.processes = facts.pids_limited;
	s->enforced.io = facts.io_limited && conf_limits_disk(c);
	s->enforced.connections = server->slots.connections_bounded;
	s->enforced.bandwidth = server->slots.bandwidth_bounded;
}

static void add_oauth(const struct server *server, struct snapshot *s)
{
	struct oauth_counts n;

	oauth_count(server->oauth, &n);
	s->clients = n.clients;
	s->sign_ins = n.families;
	s->registrations = n.registrations;
	s->presses = n.presses;
	s->presses_refused = n.presses_refused;
	s->refreshes = n.refreshes;
	s->rate_limited = n.rate_limited;
	s->reuses = n.reuses;
}

static void add_mail(const struct server *server, struct snapshot *s)
{
	struct outbox_stats mail;

	if (!server->courier)
		return;
	courier_get_stats(server->courier, &mail);
	s->mails_waiting = mail.waiting;
	s->mails_sent = mail.sent;
	s->mails_failed = mail.refused;
	s->mails_forgotten = mail.forgotten;
}

static void add_process(struct snapshot *s)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	s->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	s->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Cheap: anybody may ask for it a thousand times a second. */
static struct snapshot take_snapshot(struct server *server)
{
	const struct conf *c = &server->conf;
	usec now = clock_monotonic(server->clock);
	struct snapshot s = {
		.version = BERTH_VERSION,
		.profile = conf_profile_name((enum conf_profile)c->profile),
		.public_url = server->public_url,
		.has_oauth = (c->auth & CONF_AUTH_OAUTH) != 0,
		.needs_token = c->auth == CONF_AUTH_TOKEN,
		.empties = c->empty_when_idle,
		.can_serve = sandboxes_can_serve(server->sandboxes) && !server->stopping,
		.has_room = sandboxes_have_room(server->sandboxes),
		.uptime_seconds = (now - server->started) / USEC_PER_SEC,
		.running = sandboxes_running(server->sandboxes),
		.max_running = c->max_running,
		.rolled_back = sandboxes_rolled_back(server->sandboxes),
		.boxes_started = sandboxes_boxes_started(server->sandboxes),
		.boxes_failed = sandboxes_boxes_failed(server->sandboxes),
		.memory_bytes = c->memory,
		.workspace_bytes = c->workspace,
		.cpu_percent = c->cpu_percent,
		.idle_seconds = c->idle,
		.connections = http_server_connections(server->http),
		.http_requests = http_server_requests(server->http),
		.tool_calls = mcp_server_calls_made(server->mcp),
		.tool_errors = mcp_server_calls_failed(server->mcp),
		.longest_turn = (double)server->turn.wall / (double)USEC_PER_SEC,
		.longest_turn_cpu = (double)server->turn.cpu / (double)USEC_PER_SEC,
	};

	pool_get_stats(sandboxes_pool(server->sandboxes), now, &s.pool);
	add_enforced(server, &s);
	return s;
}

/* The rest, for the operator: it counts rows of the state. */
static void add_operators_part(const struct server *server, struct snapshot *s)
{
	add_oauth(server, s);
	add_mail(server, s);
	add_process(s);
}

static void on_health(struct http_request *req, void *userdata)
{
	static const struct http_header headers[] = { { "Cache-Control", "no-store" },
						      { NULL, NULL } };
	auto_buf struct buf text = BUF_INIT(MAX_PAGE);
	struct snapshot s = take_snapshot(userdata);
	unsigned status;
	struct err err;

	if (health_print(&s, &text, &status, &err) < 0)
		http_reply_text(req, 503, "{\"status\":\"unavailable\"}\n");
	else
		http_reply(req, status, "application/json", buf_view(&text), headers);
}

/* Numbers about visitors are the operator's: loopback without a proxy, or a bearer token. */
static void on_metrics(struct http_request *req, void *userdata)
{
	struct server *server = userdata;
	auto_buf struct buf text = BUF_INIT(MAX_PAGE);
	struct oauth_principal principal;
	struct snapshot s;

	if (!http_request_is_local(req)) {
		if (oauth_authenticate(server->oauth, req, &principal) < 0)
			return;
		if (strncmp(principal.id, "owner-", 6) != 0) {
			http_reply_text(req, 403, "The metrics are for the operator.\n");
			return;
		}
	}
	s = take_snapshot(server);
	add_operators_part(server, &s);
	if (metrics_print(&s, &text) < 0)
		http_reply_text(req, 503, "The server is out of memory.\n");
	else
		http_reply(req, 200, METRICS_CONTENT_TYPE, buf_view(&text), NULL);
}

static void on_index(struct http_request *req, struct server *server)
{
	auto_buf struct buf page = BUF_INIT(MAX_PAGE);
	struct snapshot s = take_snapshot(server);
	struct err err;

	if (index_page_print(&s, &page, &err) < 0)
		http_reply_text(req, 500, "The page cannot be shown.\n");
	else
		http_reply(req, 200, "text/html; charset=utf-8", buf_view(&page),
			   page_security_headers);
}

/*
 * People paste the bare origin into their client, which then calls here. Clients show the text of a
 * 404 to them, so it says what to do.
 */
static void on_wrong_endpoint(struct http_request *req, const struct server *server)
{
	static const struct http_header headers[] = { { "Cache-Control", "no-store" },
						      { NULL, NULL } };
	auto_buf struct buf text = BUF_INIT(MAX_PAGE);

	if (buf_addf(&text,
		     "{\"error\":\"not_found\",\"error_description\":\"This is the start page. The "
		     "address of the MCP server is %s/mcp with /mcp at the end.\"}",
		     server->public_url) < 0)
		http_reply_text(req, 404, "The address of the MCP server ends with /mcp.\n");
	else
		http_reply(req, 404, "application/json", buf_view(&text), headers);
}

static void on_root(struct http_request *req, void *userdata)
{
	if (http_request_method(req) == HTTP_POST)
		on_wrong_endpoint(req, userdata);
	else
		on_index(req, userdata);
}

int wiring_pages(struct server *server, struct err *err)
{
	const struct http_route routes[] = {
		{ .path = "/health", .methods = HTTP_GET, .handler = on_health },
		{ .path = "/metrics", .methods = HTTP_GET, .handler = on_metrics },
		{ .path = "/",
		  .methods = HTTP_GET | HTTP_POST,
		  .max_body_bytes = MAX_STRAY_BODY,
		  .handler = on_root },
	};

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		struct http_route route = routes[i];

		route.match = HTTP_MATCH_EXACT;
		route.userdata = server;
		if (http_server_add_route(server->http, &route, err) < 0)
			return -1;
	}
	return 0;
}
