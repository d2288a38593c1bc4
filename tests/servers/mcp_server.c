/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MCP endpoint alone, without sandboxes or sign-in: for the conformance suite and for tests
 * with real clients. Prints "listening on 127.0.0.1:PORT". TERM and INT end it after open calls got
 * their last word.
 *
 * usage: mcp_server [PORT [STREAM-AFTER-MS [KEEPALIVE-MS [CANCEL-GRACE-MS]]]]
 */
#include "mcp/fixtures.h"

#include "base/log.h"
#include "base/parse.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>

struct test_server {
	sd_event *event;
	struct http_server *http;
	struct mcp_server *mcp;
	uint32_t cancelled; /* sleeps */
};

static int authenticate(struct http_request *req, struct mcp_principal *ret, void *userdata)
{
	struct view who = http_request_header(req, "X-Test-Principal");

	(void)userdata;
	if (view_copy(who, ret->id, sizeof(ret->id)) < 0) {
		http_reply(req, 401, NULL, VIEW(""), NULL);
		return -1;
	}
	ret->may_use_labels = view_starts(who, VIEW("labels"));
	return 0;
}

/* ---- tools ---- */

static void tool_echo(struct mcp_call *call, void *userdata)
{
	struct view text = VIEW("(nothing)");
	struct err err;

	(void)userdata;
	if (json_get_string(mcp_call_arguments(call), "text", &text, &err) < 0)
		mcp_call_finishf(call, MCP_ERROR, "%s", err.msg);
	else
		mcp_call_finish(call, MCP_OK, text);
}

struct nap {
	struct test_server *server;
	struct mcp_call *call;
	sd_event_source *timer;
};

static void nap_free(struct nap *nap)
{
	sd_event_source_disable_unref(nap->timer);
	free(nap);
}

static void nap_cancelled(void *userdata)
{
	struct nap *nap = userdata;

	nap->server->cancelled++;
	nap_free(nap);
}

static int nap_over(sd_event_source *source, uint64_t when, void *userdata)
{
	struct nap *nap = userdata;
	struct mcp_call *call = nap->call;

	(void)source;
	(void)when;
	nap_free(nap);
	mcp_call_finishf(call, MCP_OK, "slept");
	return 0;
}

static void tool_sleep(struct mcp_call *call, void *userdata)
{
	struct test_server *server = userdata;
	struct nap *nap = calloc(1, sizeof(*nap));
	uint32_t ms = 1000;
	struct err err;

	assert(nap);
	if (json_get_u32(mcp_call_arguments(call), "ms", 0, 600000, &ms, &err) < 0) {
		free(nap);
		mcp_call_finishf(call, MCP_ERROR, "%s", err.msg);
		return;
	}
	nap->server = server;
	nap->call = call;
	assert(sd_event_add_time_relative(server->event, &nap->timer, CLOCK_MONOTONIC,
					  ms * USEC_PER_MSEC, 1, nap_over, nap) >= 0);
	mcp_call_on_cancel(call, nap_cancelled, nap);
	mcp_call_progress(call, "sleeping");
}

/* How many sleeps were cancelled, and how many calls are under way (this one too). */
static void tool_counts(struct mcp_call *call, void *userdata)
{
	struct test_server *server = userdata;

	mcp_call_finishf(call, MCP_OK, "cancelled %u, calls %u", server->cancelled,
			 mcp_server_calls(server->mcp));
}

static void tool_bytes(struct mcp_call *call, void *userdata)
{
	static const char bytes[] =
		"\xff\xfe bad \0 \x1b[31mred\x1b[0m \xe2\x80\xa8 \xed\xa0\x80 end";

	(void)userdata;
	mcp_call_finish(call, MCP_OK, view_of(bytes, sizeof(bytes) - 1));
}

static void tool_long(struct mcp_call *call, void *userdata)
{
	size_t len = 5000000;
	char *text = malloc(len);

	(void)userdata;
	assert(text);
	memset(text, 'x', len);
	mcp_call_finish(call, MCP_OK, view_of(text, len));
	free(text);
}

static void tool_whoami(struct mcp_call *call, void *userdata)
{
	auto_buf struct buf text = BUF_INIT(20000);

	(void)userdata;
	if (mcp_call_describe_request(call, &text) < 0)
		buf_truncate(&text, 0);
	mcp_call_finishf(call, MCP_OK, "%s\n%s\n%s", mcp_call_client(call),
			 mcp_call_principal(call)->id, buf_str(&text));
}

static int add_tools(struct test_server *server, struct err *err)
{
	static struct mcp_tool tools[] = {
		{ .name = "echo",
		  .properties = "{\"text\":{\"type\":\"string\",\"description\":\"What to say\"}}",
		  .takes_sandbox = true,
		  .fn = tool_echo },
		{ .name = "sleep",
		  .properties = "{\"ms\":{\"type\":\"integer\",\"description\":\"How long\"}}",
		  .fn = tool_sleep },
		{ .name = "counts", .properties = "{}", .fn = tool_counts },
		{ .name = "bytes", .properties = "{}", .fn = tool_bytes },
		{ .name = "long", .properties = "{}", .fn = tool_long },
		{ .name = "whoami", .properties = "{}", .fn = tool_whoami },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		tools[i].title = tools[i].name;
		tools[i].description = "A tool for tests.";
		tools[i].read_only = true;
		tools[i].userdata = server;
		if (mcp_server_add_tool(server->mcp, &tools[i], err) < 0)
			return -1;
	}
	return mcp_fixtures_add(server->mcp, server->event, err);
}

/* ---- life ---- */

static int leave_when_quiet(sd_event_source *source, void *userdata)
{
	struct test_server *server = userdata;

	(void)source;
	if (http_server_connections(server->http) == 0)
		return sd_event_exit(server->event, 0);
	return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct test_server *server = userdata;

	(void)source;
	(void)info;
	mcp_server_shut_down(server->mcp);
	http_server_quiesce(server->http);
	if (sd_event_add_post(server->event, NULL, leave_when_quiet, server) < 0)
		return sd_event_exit(server->event, 1);
	/* It runs after later events only, and there may be none. */
	return leave_when_quiet(NULL, server);
}

static int start(struct test_server *server, uint16_t port, struct mcp_config *config,
		 struct err *err)
{
	const struct http_config http = {
		.address = "127.0.0.1", .port = port, .listen_fd = -1, .max_connections = 512
	};
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	if (sd_event_new(&server->event) < 0 ||
	    sd_event_add_signal(server->event, NULL, SIGTERM, on_signal, server) < 0 ||
	    sd_event_add_signal(server->event, NULL, SIGINT, on_signal, server) < 0)
		return err_set(err, ERR_SYSTEM, "no event loop");
	if (http_server_new(server->event, &http, &server->http, err) < 0 ||
	    mcp_server_new(server->event, server->http, config, &server->mcp, err) < 0)
		return -1;
	return add_tools(server, err);
}

static uint32_t number(char **argv, int at, int argc, uint32_t otherwise)
{
	uint32_t value = otherwise;

	if (at < argc && parse_u32(view_str(argv[at]), 0, 3600000, &value) < 0)
		log_warning("%s is no number", argv[at]);
	return value;
}

int main(int argc, char **argv)
{
	struct mcp_config config = {
		.instructions = "A server for tests.",
		.instructions_labels = "A server for tests, with labels.",
		.sandbox_property = "{\"type\":\"string\",\"description\":\"Label\"}",
		.max_body_bytes = 4 << 20,
		.authenticate = authenticate,
		.stream_after = number(argv, 2, argc, 0) * USEC_PER_MSEC,
		.keepalive = number(argv, 3, argc, 0) * USEC_PER_MSEC,
		.cancel_grace = number(argv, 4, argc, 0) * USEC_PER_MSEC,
	};
	struct test_server server = { 0 };
	struct err err = { 0 };
	int code = 1;

	log_init("mcp_server", LOG_LEVEL_INFO);
	if (start(&server, (uint16_t)number(argv, 1, argc, 0), &config, &err) < 0) {
		log_error("%s", err.msg);
	} else {
		(void)printf("listening on 127.0.0.1:%u\n", http_server_port(server.http));
		(void)fflush(stdout);
		code = sd_event_loop(server.event) < 0;
	}
	mcp_server_free(server.mcp);
	http_server_free(server.http);
	sd_event_unref(server.event);
	return code;
}
