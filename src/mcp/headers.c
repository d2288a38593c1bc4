/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's HTTP headers. */
#include "mcp/headers.h"

#include <sodium.h>

/* Proxies join a header that came twice into "a, a": one value then. */
static struct view collapse(struct view value)
{
	struct view rest = value, first, next;

	if (!view_split(&rest, ',', &first))
		return value;
	while (view_split(&rest, ',', &next))
		if (!view_eq(view_trim(next), view_trim(first)))
			return value;
	return view_trim(first);
}

/* Two different values: which one counts is anybody's guess, so neither does. */
static void set_once(struct view *slot, struct view value)
{
	*slot = slot->p && !view_eq(*slot, value) ? VIEW("(sent twice)") : value;
}

static void read_accept(struct mcp_headers *h, struct view list)
{
	struct view entry;

	while (view_split(&list, ',', &entry)) {
		struct view type = view_trim(view_first(entry, view_find(entry, ';')));

		if (view_is_nocase(type, "*/*"))
			h->accepts_json = h->accepts_stream = true;
		else if (view_is_nocase(type, "application/json") ||
			 view_is_nocase(type, "application/*"))
			h->accepts_json = true;
		else if (view_is_nocase(type, "text/event-stream") ||
			 view_is_nocase(type, "text/*"))
			h->accepts_stream = true;
	}
}

void mcp_headers_add(struct mcp_headers *h, struct view name, struct view value)
{
	value = view_trim(value);
	if (view_is_nocase(name, "host"))
		h->host = value;
	else if (view_is_nocase(name, "origin"))
		h->origin = value;
	else if (view_is_nocase(name, "content-type"))
		h->content_type = value;
	else if (view_is_nocase(name, "accept"))
		read_accept(h, value);
	else if (view_is_nocase(name, "mcp-protocol-version"))
		set_once(&h->version, collapse(value));
	else if (view_is_nocase(name, "mcp-method"))
		set_once(&h->method, value);
	else if (view_is_nocase(name, "mcp-name"))
		set_once(&h->name, value);
}

bool mcp_headers_are_json(const struct mcp_headers *h)
{
	struct view type = view_first(h->content_type, view_find(h->content_type, ';'));

	return view_is_nocase(view_trim(type), "application/json");
}

bool mcp_headers_allow_stream(const struct mcp_headers *h)
{
	return h->accepts_stream || !h->accepts_json;
}

static bool is_plain(struct view value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((value.p[i] < 0x20 || value.p[i] > 0x7e) && value.p[i] != '\t')
			return false;
	return true;
}

int mcp_header_decode(struct view value, struct buf *out)
{
	static const struct view open = VIEW_INIT("=?base64?"), close = VIEW_INIT("?=");
	struct view coded;
	size_t len;
	char *room;

	if (!view_starts(value, open) || !view_ends(value, close) ||
	    value.len < open.len + close.len) {
		if (!is_plain(value))
			return -EINVAL;
		return buf_add_view(out, value);
	}
	coded = view_first(view_from(value, open.len), value.len - open.len - close.len);
	room = buf_reserve(out, coded.len);
	if (!room)
		return -ENOMEM;
	if (sodium_base642bin((unsigned char *)room, coded.len, coded.p, coded.len, NULL, &len,
			      NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return -EINVAL;
	buf_commit(out, len);
	return 0;
}

static int mismatch(const char *name, struct view header, struct view body, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "Header mismatch: %s header value '%.*s' does not match body value '%.*s'",
		       name, VIEW_ARG(view_first(header, 80)), VIEW_ARG(view_first(body, 80)));
}

static int missing(const char *name, enum headers_duty duty, struct err *err)
{
	if (duty == HEADERS_OPTIONAL)
		return 0;
	return err_set(err, ERR_INVALID, "Header mismatch: the %s header is missing", name);
}

/* The parameter that Mcp-Name repeats, or NULL for a method without one. */
static const char *named_by(struct view method)
{
	if (view_is(method, "tools/call") || view_is(method, "prompts/get"))
		return "name";
	if (view_is(method, "resources/read"))
		return "uri";
	return NULL;
}

static int check_name(struct view header, struct view body, struct err *err)
{
	auto_buf struct buf decoded = BUF_INIT(header.len + 1);

	if (mcp_header_decode(header, &decoded) < 0)
		return err_set(err, ERR_INVALID,
			       "Header mismatch: the Mcp-Name header is not encoded correctly");
	if (!view_eq(buf_view(&decoded), body))
		return mismatch("Mcp-Name", buf_view(&decoded), body, err);
	return 0;
}

int mcp_headers_check(const struct mcp_headers *h, const struct rpc_message *message,
		      enum headers_duty duty, struct err *err)
{
	const char *param = named_by(message->method);
	const json_t *named;

	if (h->method.p && !view_eq(h->method, message->method))
		return mismatch("Mcp-Method", h->method, message->method, err);
	if (!h->method.p && missing("Mcp-Method", duty, err) < 0)
		return -1;
	if (!param)
		return 0;
	if (!h->name.p)
		return missing("Mcp-Name", duty, err);
	/* A name that is no string is refused later, as a wrong parameter. */
	named = json_object_get(message->params, param);
	return json_is_string(named) ? check_name(h->name, json_view(named), err) : 0;
}
