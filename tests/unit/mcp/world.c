/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct world w;

static usec fake_now(void *userdata)
{
	(void)userdata;
	return w.now;
}
static const struct clock fake_clock = { fake_now, fake_now, NULL };

static int authenticate(struct http_request *req, struct mcp_principal *ret, void *userdata)
{
	(void)userdata;
	if (w.refuse) {
		http_reply(req, 401, NULL, VIEW(""), NULL);
		return -1;
	}
	(void)snprintf(ret->id, sizeof(ret->id), "%s", w.principal);
	ret->may_use_labels = strcmp(w.principal, "labels") == 0;
	return 0;
}

/* ---- tools ---- */

static void tool_echo(struct mcp_call *call, void *userdata)
{
	struct view text = VIEW("nothing");
	struct err err;

	(void)userdata;
	if (json_get_string(mcp_call_arguments(call), "text", &text, &err) < 0)
		mcp_call_finishf(call, MCP_ERROR, "%s", err.msg);
	else
		mcp_call_finish(call, MCP_OK, text);
}

static void held_cancelled(void *userdata)
{
	struct mcp_call **slot = userdata;

	*slot = NULL;
	w.cancelled++;
}

static void tool_hold(struct mcp_call *call, void *userdata)
{
	struct mcp_call **slot = &w.held[w.n_held++];

	(void)userdata;
	*slot = call;
	mcp_call_on_cancel(call, held_cancelled, slot);
}

/* Cannot be told that nobody waits. */
static void tool_deaf(struct mcp_call *call, void *userdata)
{
	(void)userdata;
	w.held[w.n_held++] = call;
}

static void tool_describe(struct mcp_call *call, void *userdata)
{
	auto_buf struct buf text = BUF_INIT(4096);

	(void)userdata;
	assert_int_equal(mcp_call_describe_request(call, &text), 0);
	mcp_call_finishf(call, MCP_OK, "%s|%s|%s|%s", mcp_call_client(call), mcp_call_tool(call),
			 mcp_call_principal(call)->id, buf_str(&text));
}

static const struct mcp_tool tools[] = {
	{ .name = "echo",
	  .title = "Echo",
	  .description = "Echoes.",
	  .properties = "{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"}}",
	  .fn = tool_echo },
	{ .name = "hold",
	  .title = "Hold",
	  .description = "Waits.",
	  .properties = "{\"a\":{\"type\":\"string\"}}",
	  .fn = tool_hold },
	{ .name = "deaf",
	  .title = "Deaf",
	  .description = "Waits.",
	  .properties = "{}",
	  .fn = tool_deaf },
	{ .name = "describe",
	  .title = "Describe",
	  .description = "Describes.",
	  .properties = "{}",
	  .takes_sandbox = true,
	  .fn = tool_describe },
	{ .name = "sampler",
	  .title = "Sampler",
	  .description = "Needs sampling.",
	  .properties = "{}",
	  .needs_capability = "sampling",
	  .fn = tool_echo },
};

int world_set_up(void **state)
{
	struct mcp_config config = {
		.instructions = "Plain \"text\"",
		.instructions_labels = "Labels",
		.sandbox_property = "{\"type\":\"string\"}",
		.allowed_origins = "https://chat.example.org",
		.max_body_bytes = 1 << 20,
		.authenticate = authenticate,
		.clock = &fake_clock,
	};
	struct err err = { 0 };

	(void)state;
	memset(&w, 0, sizeof(w));
	w.now = 100 * USEC_PER_SEC;
	w.principal = "p";
	assert_true(sd_event_new(&w.event) >= 0);
	assert_int_equal(mcp_server_new(w.event, &w.http, &config, &w.server, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		assert_int_equal(mcp_server_add_tool(w.server, &tools[i], &err), 0);
	return 0;
}

int world_tear_down(void **state)
{
	(void)state;
	mcp_server_free(w.server);
	sd_event_unref(w.event);
	return 0;
}

void send_request(struct http_request *req, const char *headers, const char *body)
{
	*req = (struct http_request){ .method = HTTP_POST, .headers = headers, .body = body };
	fake_http_request(&w.http, "/mcp", req);
}

void pass(usec time)
{
	struct list *it, *tmp;

	w.now += time;
	list_each(it, tmp, &w.server->exchanges)
		exchange_tick(container_of(it, struct exchange, node), w.now);
}
