/* SPDX-License-Identifier: Apache-2.0 */
/* The results of tools/call: texts and images into messages that every client takes. */
#include "mcp/internal.h"

#include "base/log.h"
#include "mcp/limits.h"

#include <sodium.h>

enum {
	ENVELOPE_ROOM = 4096, /* of a result message, around its content */
	CONTENT_ROOM = MCP_MAX_RESULT - ENVELOPE_ROOM,
};

/* The message around `content`. */
static int add_result(struct buf *out, const struct mcp_call *call, enum mcp_outcome outcome,
		      struct view content)
{
	bool modern = call->exchange->era == MCP_MODERN;
	int r = buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");

	if (r == 0)
		r = rpc_add_token(out, call->id);
	if (r == 0)
		r = buf_addf(out, ",\"result\":{%s\"content\":[",
			     modern ? "\"resultType\":\"complete\"," : "");
	if (r == 0)
		r = buf_add_view(out, content);
	if (r == 0)
		r = buf_addf(out, "]%s%s}}", outcome == MCP_ERROR ? ",\"isError\":true" : "",
			     modern ? MCP_MODERN_META : "");
	return r;
}

/* What fits of `text`, and a note that says it is not all. */
static int add_cut_text(struct buf *content, struct view text)
{
	static const char note[] = "\n[the rest was too long to be sent]";
	auto_buf struct buf cut = BUF_INIT(CONTENT_ROOM);
	int r = -ENOSPC;

	for (size_t len = CONTENT_ROOM - 512; r == -ENOSPC && len; len /= 2) {
		buf_truncate(&cut, 0);
		if (buf_add_view(&cut, view_first(text, len)) < 0 || buf_add_str(&cut, note) < 0)
			return -ENOMEM;
		r = json_add_string(content, buf_view(&cut));
	}
	return r;
}

/* A text block. */
static int add_text(struct buf *content, struct view text)
{
	int r = buf_add_str(content, "{\"type\":\"text\",\"text\":");

	if (r == 0)
		r = json_add_string(content, text);
	if (r == -ENOSPC)
		r = add_cut_text(content, text);
	if (r == 0)
		r = buf_add_char(content, '}');
	return r;
}

static int add_image(struct buf *content, struct view image, const char *mime)
{
	size_t mark = content->len, coded;
	char *room = NULL;

	if (image.len <= CONTENT_ROOM &&
	    buf_addf(content, ",{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"", mime) == 0) {
		coded = sodium_base64_encoded_len(image.len, sodium_base64_VARIANT_ORIGINAL);
		room = buf_reserve(content, coded);
	}
	if (room) {
		(void)sodium_bin2base64(room, coded, (const unsigned char *)image.p, image.len,
					sodium_base64_VARIANT_ORIGINAL);
		buf_commit(content, coded - 1);
	}
	if (!room || buf_add_str(content, "\"}") < 0) {
		buf_truncate(content, mark);
		return -ENOSPC;
	}
	return 0;
}

/* The call stays; its answer is on the way. */
static void answer(struct mcp_call *call, enum mcp_outcome outcome, struct view content)
{
	static const struct rpc_error lost = {
		RPC_INTERNAL_ERROR, "the result is too long to be sent beside the others", NULL
	};
	auto_buf struct buf text = BUF_INIT(MCP_MAX_RESULT);

	if (outcome == MCP_ERROR)
		call->server->calls_failed++;
	if (add_result(&text, call, outcome, content) < 0 ||
	    exchange_answer(call->exchange, 200, buf_view(&text)) < 0)
		exchange_fail(call->exchange, call->id, 200, &lost);
}

void call_answer_text(struct mcp_call *call, enum mcp_outcome outcome, struct view text)
{
	auto_buf struct buf content = BUF_INIT(CONTENT_ROOM);

	if (add_text(&content, text) < 0) {
		log_error("mcp: no memory for a result of %zu bytes", text.len);
		buf_truncate(&content, 0);
		outcome = MCP_ERROR;
	}
	answer(call, outcome, buf_view(&content));
}

static void end(struct mcp_call *call)
{
	struct exchange *ex = call->exchange;

	call_free(call);
	if (ex)
		exchange_done(ex);
}

void call_finish_content(struct mcp_call *call, enum mcp_outcome outcome, struct view content)
{
	if (call->exchange)
		answer(call, outcome, content);
	end(call);
}

void mcp_call_finish(struct mcp_call *call, enum mcp_outcome outcome, struct view text)
{
	if (call->exchange)
		call_answer_text(call, outcome, text);
	end(call);
}

void mcp_call_finishf(struct mcp_call *call, enum mcp_outcome outcome, const char *fmt, ...)
{
	auto_buf struct buf text = BUF_INIT(CONTENT_ROOM);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (r == 0)
		mcp_call_finish(call, outcome, buf_view(&text));
	else
		mcp_call_finish(call, MCP_ERROR, VIEW("the result is too long to be sent"));
}

void mcp_call_finish_image(struct mcp_call *call, struct view text, struct view image,
			   const char *mime)
{
	static const char note[] = "\n[the image is too large to be attached]";
	auto_buf struct buf content = BUF_INIT(CONTENT_ROOM);
	auto_buf struct buf instead = BUF_INIT(text.len + sizeof(note));

	if (add_text(&content, text) == 0 && add_image(&content, image, mime) == 0) {
		call_finish_content(call, MCP_OK, buf_view(&content));
		return;
	}
	if (buf_add_view(&instead, text) < 0 || buf_add_str(&instead, note) < 0)
		buf_done(&instead);
	mcp_call_finish(call, MCP_OK, instead.len ? buf_view(&instead) : text);
}
