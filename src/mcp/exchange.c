/* SPDX-License-Identifier: Apache-2.0 */
/* One POST and its answer. */
#include "mcp/internal.h"

#include "base/log.h"
#include "http/cors.h"
#include "mcp/limits.h"

enum {
	ERROR_ROOM = 4096, /* any error answer fits, whatever its id */
};

static const struct cors_policy cors = {
	.methods = "POST",
	.expose = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After",
};

const struct http_header *answer_headers(bool for_browser, const struct http_header *more,
					 struct http_header out[ANSWER_MAX_HEADERS])
{
	size_t n = for_browser ? cors_headers(&cors, out) : 0;

	for (; more && more->name && n < ANSWER_MAX_HEADERS - 1; more++)
		out[n++] = *more;
	out[n] = (struct http_header){ NULL, NULL };
	return out;
}

static usec now_of(const struct exchange *ex)
{
	return clock_monotonic(ex->server->config.clock);
}

static void exchange_free(struct exchange *ex)
{
	list_remove(&ex->node);
	buf_done(&ex->answers);
	buf_done(&ex->described);
	free(ex);
}

/* ---- the client goes away ---- */

/* In the legacy era a client may only be changing networks, and a lost connection is no cancel;
 * but nobody can ever fetch the result, so it must not run for ever either. */
static void lost(struct exchange *ex)
{
	ex->req = NULL;
	ex->stream = NULL;
	if (ex->era == MCP_MODERN)
		exchange_abandon(ex);
	else
		ex->gone = now_of(ex);
}

static void request_gone(struct http_request *req, void *userdata)
{
	(void)req;
	lost(userdata);
}

static void stream_gone(void *userdata)
{
	lost(userdata);
}

void exchange_abandon(struct exchange *ex)
{
	struct list *it, *tmp;

	list_each(it, tmp, &ex->calls) call_cancel(container_of(it, struct mcp_call, node));
	exchange_free(ex);
}

/* ---- begin ---- */

struct exchange *exchange_new(struct mcp_server *server, struct http_request *req,
			      const struct mcp_headers *headers,
			      const struct mcp_principal *principal)
{
	struct exchange *ex = calloc(1, sizeof(*ex));

	if (!ex) {
		http_reply_text(req, 503, "out of memory");
		return NULL;
	}
	ex->server = server;
	ex->req = req;
	ex->principal = *principal;
	ex->view = principal->may_use_labels ? CATALOG_LABELS : CATALOG_PLAIN;
	ex->may_stream = mcp_headers_allow_stream(headers);
	ex->for_browser = headers->origin.p != NULL;
	ex->pending = 1;
	ex->status = 200;
	ex->begun = now_of(ex);
	list_init(&ex->calls);
	buf_init(&ex->answers, MCP_MAX_ANSWERS + MCP_MAX_BATCH * ERROR_ROOM);
	buf_init(&ex->described, MCP_MAX_DESCRIPTION);
	list_add_tail(&server->exchanges, &ex->node);
	http_request_on_gone(req, request_gone, ex);
	return ex;
}

/* ---- answers ---- */

/* All of an event or none of it. */
static int send_event(struct exchange *ex, struct view text)
{
	auto_buf struct buf event = BUF_INIT(text.len + 64);
	int r = buf_add_str(&event, "event: message\ndata: ");

	if (r == 0)
		r = buf_add_view(&event, text);
	if (r == 0)
		r = buf_add_str(&event, "\n\n");
	if (r == 0)
		r = http_stream_write(ex->stream, buf_view(&event));
	if (r == 0)
		ex->sent = now_of(ex);
	return r;
}

static int keep_answer(struct exchange *ex, unsigned status, struct view text)
{
	struct buf *all = &ex->answers;
	int r = all->len ? buf_add_char(all, ',') : 0;

	if (r < 0)
		return r;
	r = buf_add_view(all, text);
	if (r < 0 && all->len)
		buf_truncate(all, all->len - 1);
	ex->status = status;
	return r;
}

int exchange_answer(struct exchange *ex, unsigned status, struct view text)
{
	if (ex->gone)
		return 0;
	if (ex->stream)
		return send_event(ex, text);
	if (ex->answers.len + text.len > MCP_MAX_ANSWERS && text.len > ERROR_ROOM - 1)
		return -ENOSPC;
	return keep_answer(ex, status, text);
}

void exchange_fail(struct exchange *ex, const json_t *id, unsigned status,
		   const struct rpc_error *error)
{
	auto_buf struct buf text = BUF_INIT(ERROR_ROOM - 1);
	char quoted[128];

	log_debug("mcp: %s gets %u, %d %s", ex->principal.id, status, (int)error->code,
		  log_quote(view_str(error->message), quoted, sizeof(quoted)));
	if (rpc_add_error(&text, id, error) < 0 || exchange_answer(ex, status, buf_view(&text)) < 0)
		log_warning("mcp: an error answer was lost");
}

static void send_all(struct exchange *ex)
{
	struct http_header headers[ANSWER_MAX_HEADERS];
	auto_buf struct buf array = BUF_INIT(ex->answers.len + 2);
	struct view body = buf_view(&ex->answers);

	if (ex->gone)
		return;
	if (ex->stream) {
		http_stream_end(ex->stream);
		return;
	}
	/* No request in it, or only cancelled ones. Exactly 202, without any body or type: other
	 * answers to a notification break clients. */
	if (body.len == 0) {
		http_reply(ex->req, 202, NULL, VIEW(""),
			   answer_headers(ex->for_browser, NULL, headers));
		return;
	}
	if (ex->is_batch) {
		ex->status = 200;
		if (buf_add_char(&array, '[') < 0 || buf_add_view(&array, body) < 0 ||
		    buf_add_char(&array, ']') < 0) {
			http_reply_text(ex->req, 503, "out of memory");
			return;
		}
		body = buf_view(&array);
	}
	http_reply(ex->req, ex->status, "application/json", body,
		   answer_headers(ex->for_browser, NULL, headers));
}

void exchange_done(struct exchange *ex)
{
	if (--ex->pending) {
		server_wake_ticker(ex->server);
		return;
	}
	send_all(ex);
	exchange_free(ex);
}

/* ---- the event stream ---- */

/* False when the connection broke. */
static bool open_stream(struct exchange *ex)
{
	static const struct http_header more[] = {
		{ "Cache-Control", "no-cache, no-transform" },
		{ "X-Accel-Buffering", "no" }, /* nginx */
		{ NULL, NULL },
	};
	struct http_header headers[ANSWER_MAX_HEADERS];
	struct http_request *req = ex->req;

	/* The request cannot be asked any more afterwards. */
	if (!list_is_empty(&ex->calls) &&
	    mcp_call_describe_request(container_of(ex->calls.next, struct mcp_call, node),
				      &ex->described) < 0)
		buf_truncate(&ex->described, 0);
	http_request_on_gone(req, NULL, NULL);
	ex->req = NULL;
	ex->stream =
		http_stream_begin(req, 200, "text/event-stream",
				  answer_headers(ex->for_browser, more, headers), MCP_MAX_STREAM);
	if (!ex->stream) {
		ex->gone = now_of(ex);
		return false;
	}
	http_stream_on_gone(ex->stream, stream_gone, ex);
	return true;
}

/* Answers that were ready before the stream began. */
static void send_kept_answers(struct exchange *ex)
{
	/* A batch of which some messages are answered: they leave as one event, an array, which the
	 * revision allows. */
	auto_buf struct buf array = BUF_INIT(ex->answers.len + 2);

	if (ex->answers.len == 0)
		return;
	if (buf_add_char(&array, '[') < 0 || buf_add_view(&array, buf_view(&ex->answers)) < 0 ||
	    buf_add_char(&array, ']') < 0 || send_event(ex, buf_view(&array)) < 0)
		log_warning("mcp: answers of a batch were lost");
	buf_done(&ex->answers);
}

/* A comment line: a byte for those that count the time since the last one. */
static void keep_alive(struct exchange *ex)
{
	if (http_stream_write(ex->stream, VIEW(": ka\n\n")) == 0)
		ex->sent = now_of(ex);
}

static bool become_stream(struct exchange *ex)
{
	if (ex->stream)
		return true;
	if (!ex->req || !ex->may_stream || !open_stream(ex))
		return false;
	keep_alive(ex);
	send_kept_answers(ex);
	return true;
}

bool exchange_notify(struct exchange *ex, struct view text)
{
	return become_stream(ex) && send_event(ex, text) == 0;
}

void exchange_tick(struct exchange *ex, usec now)
{
	const struct mcp_config *config = &ex->server->config;
	struct list *it, *tmp;

	if (ex->gone) {
		if (ex->era == MCP_MODERN || now - ex->gone >= config->cancel_grace)
			exchange_abandon(ex);
		return;
	}
	if (!ex->stream) {
		if (now - ex->begun >= config->stream_after)
			(void)become_stream(ex);
		return;
	}
	if (now - ex->sent < config->keepalive)
		return;
	keep_alive(ex);
	list_each(it, tmp, &ex->calls) call_tick(container_of(it, struct mcp_call, node), now);
}
