/* SPDX-License-Identifier: Apache-2.0 */
/* Whole answers. */
#include "http/internal.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

enum { TEXT_MAX_BYTES = 64 * 1024 };

const struct http_header reply_retry_later[] = {
	{ "Retry-After", "10" },
	{ "Access-Control-Allow-Origin", "*" },
	{ "Access-Control-Expose-Headers", "Retry-After" },
	{ NULL, NULL },
};

void http_date(uint64_t seconds, char out[HTTP_DATE_SIZE])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t t = (time_t)seconds;
	struct tm tm;

	/* Not strftime(): the names must not depend on the locale. */
	if (!gmtime_r(&t, &tm) || tm.tm_year > 8099)
		tm = (struct tm){ .tm_mday = 1, .tm_year = 70, .tm_wday = 4 };
	(void)snprintf(out, HTTP_DATE_SIZE, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
		       days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900,
		       tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static bool is_clean(const char *text)
{
	return !strpbrk(text, "\r\n");
}

static int add_framing(struct buf *out, enum reply_framing framing, uint64_t length)
{
	switch (framing) {
	case REPLY_LENGTH:
		return buf_addf(out, "Content-Length: %llu\r\n", (unsigned long long)length);
	case REPLY_CHUNKED:
		return buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	case REPLY_UNTIL_CLOSE:
		break;
	}
	return 0;
}

int reply_head(struct buf *out, const struct http_server *server, const struct reply *reply)
{
	char date[HTTP_DATE_SIZE];
	int r;

	http_date(clock_wall_seconds(server->clock), date);
	r = buf_addf(out, "HTTP/1.1 %u %s\r\nDate: %s\r\n", reply->status,
		     MHD_get_reason_phrase_for(reply->status), date);
	if (r == 0 && reply->content_type)
		r = buf_addf(out, "Content-Type: %s\r\n", reply->content_type);
	for (const struct http_header *h = reply->extra; r == 0 && h && h->name; h++) {
		assert(is_clean(h->name) && is_clean(h->value));
		r = buf_addf(out, "%s: %s\r\n", h->name, h->value);
	}
	if (r == 0)
		r = add_framing(out, reply->framing, reply->length);
	if (r == 0 && reply->closes)
		r = buf_add_str(out, "Connection: close\r\n");
	if (r == 0)
		r = buf_add_str(out, "\r\n");
	return r;
}

static int add_header(struct MHD_Response *response, const char *name, const char *value)
{
	assert(is_clean(name) && is_clean(value));
	/* The library takes no empty values; an absent header says the same. */
	if (!*value)
		return 0;
	return MHD_add_response_header(response, name, value) == MHD_YES ? 0 : -1;
}

static int add_headers(struct MHD_Response *response, const struct http_request *req,
		       const char *content_type, const struct http_header *extra)
{
	int r = 0;

	if (content_type)
		r = add_header(response, "Content-Type", content_type);
	for (; r == 0 && extra && extra->name; extra++)
		r = add_header(response, extra->name, extra->value);
	if (r == 0 && (req->server->is_quiesced || req->conn->must_close))
		r = add_header(response, "Connection", "close");
	return r;
}

int reply_by_library(struct http_request *req, unsigned status, struct MHD_Response *response,
		     const char *content_type, const struct http_header *extra)
{
	int r = -1;

	if (!response || add_headers(response, req, content_type, extra) < 0)
		conn_break(req->conn);
	else
		r = link_answer(req, status, response);
	if (response)
		MHD_destroy_response(response);
	return r;
}

/* In the middle of the body, where the library takes no answer. */
static void reply_by_us(struct http_request *req, unsigned status, const char *content_type,
			struct view body, const struct http_header *extra)
{
	auto_buf struct buf head = BUF_INIT(HTTP_MAX_REPLY_HEAD);
	struct http_conn *conn = req->conn;
	bool no_body = req->method == HTTP_HEAD || status == 204 || status == 304;
	const struct reply reply = { status, content_type, extra, REPLY_LENGTH, body.len, true };

	conn_give_up_link(conn);
	request_end(req);
	if (reply_head(&head, conn->server, &reply) < 0 ||
	    conn_send(conn, buf_view(&head), no_body ? VIEW("") : body, VIEW("")) < 0)
		conn_break(conn);
	conn_answer_done(conn, CONN_FLUSH);
}

void http_reply(struct http_request *req, unsigned status, const char *content_type,
		struct view body, const struct http_header *extra)
{
	struct MHD_Response *response;

	assert(req->conn && !req->is_answered);
	req->is_answered = true;
	if (req->phase == REQUEST_BODY) {
		reply_by_us(req, status, content_type, body, extra);
		return;
	}
	/* The library only copies from what it takes as not const. */
	response = MHD_create_response_from_buffer(
		body.len, (void *)(uintptr_t)body.p, /* NOLINT(performance-no-int-to-ptr) */
		MHD_RESPMEM_MUST_COPY);
	(void)reply_by_library(req, status, response, content_type, extra);
}

void http_reply_text(struct http_request *req, unsigned status, const char *fmt, ...)
{
	auto_buf struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vaddf(&text, fmt, ap);
	va_end(ap);
	/* Too long or no memory: the status says the most important. */
	if (r < 0)
		buf_truncate(&text, 0);
	http_reply(req, status, "text/plain; charset=utf-8", buf_view(&text), NULL);
}
