/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0 messages. */
#include "mcp/rpc.h"

#include "mcp/limits.h"

bool rpc_is_token(const json_t *value)
{
	struct view text = json_view(value);

	if (json_is_integer(value))
		return true;
	return json_is_string(value) && text.len <= MCP_MAX_ID && view_find(text, '\0') == text.len;
}

int rpc_add_token(struct buf *out, const json_t *token)
{
	if (json_is_integer(token))
		return buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(token));
	return json_add_string(out, json_view(token));
}

/* NULL if it is a message, else what is wrong. Fills in what is good either way. */
static const char *read_message(const json_t *body, struct rpc_message *ret)
{
	const json_t *id = json_object_get(body, "id");
	const json_t *method = json_object_get(body, "method");
	const json_t *params = json_object_get(body, "params");

	if (!json_is_object(body))
		return "a message must be an object";
	if (rpc_is_token(id))
		ret->id = id;
	if (!view_is(json_view(json_object_get(body, "jsonrpc")), "2.0"))
		return "jsonrpc must be \"2.0\"";
	if (!method && (json_object_get(body, "result") || json_object_get(body, "error"))) {
		ret->kind = RPC_RESPONSE;
		return NULL;
	}
	if (!json_is_string(method))
		return "method must be a string";
	ret->method = json_view(method);
	if (id && !ret->id)
		return "id must be an integer or a short string";
	if (json_is_object(params))
		ret->params = params;
	else if (params && !json_is_null(params))
		return "params must be an object";
	if (json_is_object(json_object_get(params, "_meta")))
		ret->meta = json_object_get(params, "_meta");
	ret->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
	return NULL;
}

void rpc_read(const json_t *body, struct rpc_message *ret)
{
	*ret = (struct rpc_message){ .kind = RPC_INVALID };
	ret->why = read_message(body, ret);
}

int rpc_add_error(struct buf *out, const json_t *id, const struct rpc_error *error)
{
	size_t mark = out->len;
	int r = buf_add_str(out, "{\"jsonrpc\":\"2.0\",");

	if (r == 0 && id)
		r = buf_add_str(out, "\"id\":");
	if (r == 0 && id)
		r = rpc_add_token(out, id);
	if (r == 0)
		r = buf_addf(out, "%s\"error\":{\"code\":%d,\"message\":", id ? "," : "",
			     (int)error->code);
	if (r == 0)
		r = json_add_string(out, view_str(error->message));
	if (r == 0 && error->data)
		r = buf_addf(out, ",\"data\":%s", error->data);
	if (r == 0)
		r = buf_add_str(out, "}}");
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}
