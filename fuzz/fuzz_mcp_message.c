/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A POST to /mcp as far as it is decided without I/O: header lines up to an empty line, then the
 * body. Every error that may come of it must be JSON.
 */
#include "mcp/era.h"
#include "mcp/guard.h"
#include "mcp/headers.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const json_t *id, enum rpc_code code, const char *message, const char *data)
{
	const struct rpc_error error = { code, message, data && *data ? data : NULL };
	auto_buf struct buf out = BUF_INIT(1 << 16);
	struct err err;

	assert(rpc_add_error(&out, id, &error) == 0);

	auto_json json_t *parsed = json_parse(buf_view(&out), &err);
	assert(parsed);
	assert(!id || json_equal(id, json_object_get(parsed, "id")));
}

static void check_message(const json_t *body, const struct mcp_headers *h)
{
	struct rpc_message m;
	struct era_verdict v;
	struct err err;

	rpc_read(body, &m);
	if (m.kind == RPC_INVALID) {
		check_error(m.id, RPC_INVALID_REQUEST, m.why, NULL);
		return;
	}
	era_decide(&m, h->version, ERA_SKEW_ACCEPTED, &v);
	if (v.action == ERA_REFUSE)
		check_error(m.id, v.code, v.message, v.data);
	if (mcp_headers_check(h, &m, HEADERS_REQUIRED, &err) < 0)
		check_error(m.id, RPC_HEADER_MISMATCH, err.msg, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct guard guard = { .public_url = "https://box.example.org",
					    .allowed_hosts = "a,b:1",
					    .allowed_origins = "https://c" };
	struct view rest = view_of(data, size), line;
	struct mcp_headers h = { 0 };
	struct err err;

	if (size > 1 << 14)
		return 0;
	while (view_split(&rest, '\n', &line) && line.len) {
		size_t colon = view_find(line, ':');

		mcp_headers_add(&h, view_first(line, colon), view_from(line, colon + 1));
	}
	(void)guard_refuse(&guard, h.host, h.origin);

	auto_json json_t *body = json_parse_allow_nul(rest, &err);
	if (!body)
		check_error(NULL, RPC_PARSE_ERROR, err.msg, NULL);
	else if (!json_is_array(body) || !era_refuse_batch(body, h.version))
		check_message(body, &h);
	return 0;
}
