/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the MCP endpoint on a fake HTTP server, a clock that the test sets, and tools. */
#ifndef BERTH_TESTS_MCP_WORLD_H
#define BERTH_TESTS_MCP_WORLD_H

#include "fake_http.h"
#include "mcp/internal.h"
#include "mcp/limits.h"

#define V            "io.modelcontextprotocol/"
#define CAPABILITIES "\"" V "clientCapabilities\":{}"
#define MODERN_META  "\"_meta\":{\"" V "protocolVersion\":\"2026-07-28\"," CAPABILITIES "}"
#define INFO         "\"_meta\":{\"" V "serverInfo\":" MCP_SERVER_INFO "}"
#define REQ(id, method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" result "}}"
#define ERROR(id, code, message)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message   \
	"\"}}"
#define ERROR_NO_ID(code, message)                                                                 \
	"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}"
#define TEXT(text) "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]"

#define BASE            "Host: 127.0.0.1:3000\nContent-Type: application/json\nUser-Agent: tests/1\n"
#define MODERN          BASE "MCP-Protocol-Version: 2026-07-28\n"
#define METHOD(m)       MODERN "Mcp-Method: " m "\n"
#define CALLS(name)     METHOD("tools/call") "Mcp-Name: " name "\n"
#define WITH_VERSION(v) BASE "MCP-Protocol-Version: " v "\n"

/* One server and what its tools did. */
struct world {
	usec now;
	sd_event *event;
	struct http_server http;
	struct mcp_server *server;
	struct mcp_call *held[64]; /* calls of the tool "hold", until cancelled or finished */
	size_t n_held;
	unsigned cancelled;
	const char *principal;
	bool refuse;
	char described[256];
};
extern struct world w;

/* For cmocka: a fresh world around each test. */
int world_set_up(void **state);
int world_tear_down(void **state);
#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

/* POST /mcp; `headers` as fake_http.h has them. The caller calls fake_http_done(). */
void send_request(struct http_request *req, const char *headers, const char *body);
/* The moment comes, and every exchange looks what is due. */
void pass(usec time);

#endif
