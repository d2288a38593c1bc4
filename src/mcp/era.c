/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the eras apart. */
#include "mcp/era.h"

#include "mcp/limits.h"

#include <stdio.h>

/* The two of 2024 were not made for this transport, but clients send them and take any other answer
 * as fatal. They are served like 2025-03-26. */
static const char *const legacy_versions[] = {
	MCP_NEWEST_LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07",
};

/* The static string, or NULL. */
static const char *legacy_version(struct view v)
{
	for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
		if (view_is(v, legacy_versions[i]))
			return legacy_versions[i];
	return NULL;
}

/* A date, 2026-07-28 or later. */
static bool is_modern_date(struct view v)
{
	static const char shape[] = "dddd-dd-dd";

	if (v.len != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		bool digit = v.p[i] >= '0' && v.p[i] <= '9';

		if (shape[i] == 'd' ? !digit : v.p[i] != shape[i])
			return false;
	}
	return memcmp(v.p, MCP_MODERN_VERSION, v.len) >= 0;
}

const char *era_negotiate(struct view asked)
{
	const char *known = legacy_version(asked);

	return known ? known : MCP_NEWEST_LEGACY_VERSION;
}

static void serve(struct era_verdict *v, enum mcp_era era)
{
	v->action = ERA_SERVE;
	v->era = era;
}

static void PRINTF(3, 4) refuse(struct era_verdict *v, enum rpc_code code, const char *fmt, ...)
{
	va_list ap;

	v->action = ERA_REFUSE;
	v->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(v->message, sizeof(v->message), fmt, ap);
	va_end(ap);
}

/* Versions in messages are cut: they come from outside. */
static struct view shown(struct view v)
{
	return view_first(v, 40);
}

static void refuse_unsupported(struct era_verdict *v, struct view claim)
{
	auto_buf struct buf data = BUF_INIT(sizeof(v->data) - 1);

	refuse(v, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version");
	/* A claim too long to be repeated whole is cut until it fits. */
	for (size_t len = 100;; len /= 2) {
		buf_truncate(&data, 0);
		if (buf_add_str(&data, "{\"supported\":[\"" MCP_MODERN_VERSION
				       "\"],\"requested\":") == 0 &&
		    json_add_string(&data, view_first(claim, len)) == 0 &&
		    buf_add_char(&data, '}') == 0)
			break;
		if (len == 0)
			return;
	}
	memcpy(v->data, buf_str(&data), data.len + 1);
}

/* A request with the version in its body. */
static void decide_claimed(const json_t *claim, struct view header, enum era_skew skew,
			   struct era_verdict *v)
{
	struct view version = json_view(claim);

	if (!json_is_string(claim)) {
		refuse(v, RPC_INVALID_PARAMS, "_meta key " MCP_META_VERSION " must be a string");
	} else if (header.p && view_eq(version, header)) {
		if (view_is(version, MCP_MODERN_VERSION))
			serve(v, MCP_MODERN);
		else
			refuse_unsupported(v, version);
	} else if (view_is(version, MCP_MODERN_VERSION) && header.p && legacy_version(header) &&
		   skew == ERA_SKEW_ACCEPTED) {
		/* Seen in the field: a connector keeps sending the header of an older handshake
		 * while the client behind it already speaks the new revision. */
		serve(v, MCP_MODERN);
		v->headers_optional = true;
	} else if (header.p) {
		refuse(v, RPC_HEADER_MISMATCH,
		       "Header mismatch: MCP-Protocol-Version header value '%.*s' does not match "
		       "body value '%.*s'",
		       VIEW_ARG(shown(header)), VIEW_ARG(shown(version)));
	} else {
		refuse(v, RPC_HEADER_MISMATCH,
		       "Header mismatch: the MCP-Protocol-Version header is missing");
	}
}

static void decide_unclaimed(const struct rpc_message *message, struct view header,
			     struct era_verdict *v)
{
	if (view_is(message->method, "initialize") || !header.p || legacy_version(header))
		serve(v, MCP_LEGACY);
	else if (is_modern_date(header))
		refuse(v, RPC_INVALID_PARAMS, "Missing required _meta key " MCP_META_VERSION);
	else
		refuse(v, RPC_LEGACY_BAD_VERSION,
		       "Bad Request: Unsupported protocol version: %.*s (supported versions: "
		       "2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07)",
		       VIEW_ARG(shown(header)));
}

void era_decide(const struct rpc_message *message, struct view header, enum era_skew skew,
		struct era_verdict *ret)
{
	const json_t *claim = json_object_get(message->meta, MCP_META_VERSION);

	*ret = (struct era_verdict){ .action = ERA_ACCEPT, .era = MCP_LEGACY };
	if (message->kind == RPC_RESPONSE)
		return;
	if (message->kind == RPC_NOTIFICATION) {
		if (header.p && view_is(header, MCP_MODERN_VERSION))
			ret->era = MCP_MODERN;
		else if (header.p && !legacy_version(header))
			refuse_unsupported(ret, header);
		return;
	}
	if (claim)
		decide_claimed(claim, header, skew, ret);
	else
		decide_unclaimed(message, header, ret);
}

const char *era_refuse_batch(const json_t *batch, struct view header)
{
	const json_t *element;
	size_t i;

	if (header.p && !view_is(header, "2025-03-26") && !view_starts(header, VIEW("2024-")))
		return "batches exist in revision 2025-03-26 only";
	if (json_array_size(batch) == 0)
		return "an empty batch";
	if (json_array_size(batch) > MCP_MAX_BATCH)
		return "too many messages in one batch";
	json_array_foreach(batch, i, element)
	{
		struct rpc_message message;

		rpc_read(element, &message);
		if (message.kind == RPC_INVALID)
			return message.why;
		if (json_object_get(message.meta, MCP_META_VERSION))
			return "batches exist in revision 2025-03-26 only";
		if (message.kind == RPC_REQUEST && view_is(message.method, "initialize"))
			return "initialize must not be in a batch";
	}
	return NULL;
}
