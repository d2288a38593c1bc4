/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open-ended answers. They are written by us, not by libmicrohttpd: an idle stream is then a few
 * hundred bytes, its buffer has a limit, and its client leaving is seen at once.
 */
#include "http/internal.h"

#include <assert.h>
#include <stdio.h>

enum { CHUNK_OVERHEAD = 20 }; /* of one write: size line and line ends */

static void stream_free(struct http_stream *stream)
{
	request_end(stream->req);
	free(stream);
}

static enum reply_framing framing_of(const struct http_conn *conn)
{
	return conn->gate.minor ? REPLY_CHUNKED : REPLY_UNTIL_CLOSE;
}

struct http_stream *http_stream_begin(struct http_request *req, unsigned status,
				      const char *content_type, const struct http_header *extra,
				      size_t max_buffered)
{
	auto_buf struct buf head = BUF_INIT(HTTP_MAX_REPLY_HEAD);
	struct http_stream *stream = calloc(1, sizeof(*stream));
	struct http_conn *conn = req->conn;
	struct reply reply;
	int r;

	assert(conn && !req->is_answered);
	req->is_answered = true;
	conn->must_close = request_must_close(req) || req->phase != REQUEST_COMPLETE;
	conn_give_up_link(conn);
	reply = (struct reply){
		status, content_type, extra, framing_of(conn), 0, conn->must_close
	};
	r = stream ? reply_head(&head, conn->server, &reply) : -ENOMEM;
	if (r == 0)
		r = conn_send(conn, buf_view(&head), VIEW(""), VIEW(""));
	if (r < 0) {
		free(stream);
		conn_break(conn);
		return NULL;
	}
	*stream = (struct http_stream){
		.conn = conn,
		.req = req,
		.max_buffered = max_buffered,
		.is_chunked = framing_of(conn) == REPLY_CHUNKED,
		.is_events = content_type && strcmp(content_type, "text/event-stream") == 0,
	};
	conn->stream = stream;
	conn_answer_done(conn, CONN_STREAM);
	return stream;
}

static int send_chunk(struct http_stream *stream, struct view data)
{
	char size[CHUNK_OVERHEAD];
	int n = snprintf(size, sizeof(size), "%zx\r\n", data.len);

	if (!stream->is_chunked)
		return conn_send(stream->conn, data, VIEW(""), VIEW(""));
	return conn_send(stream->conn, view_of(size, (size_t)n), data, VIEW("\r\n"));
}

int http_stream_write(struct http_stream *stream, struct view data)
{
	size_t waiting = conn_pending(stream->conn);

	/* An empty chunk would end the answer; for a HEAD there is nothing to send. */
	if (data.len == 0 || stream->req->method == HTTP_HEAD)
		return 0;
	if (waiting > stream->max_buffered || data.len > stream->max_buffered - waiting)
		return -ENOSPC;
	return send_chunk(stream, data);
}

void http_stream_end(struct http_stream *stream)
{
	struct http_conn *conn = stream->conn;
	bool close = conn->must_close || !stream->is_chunked;

	if (stream->is_chunked && stream->req->method != HTTP_HEAD &&
	    conn_send(conn, VIEW("0\r\n\r\n"), VIEW(""), VIEW("")) < 0)
		conn_break(conn);
	conn->stream = NULL;
	stream_free(stream);
	conn_answer_done(conn, close ? CONN_FLUSH : CONN_ANSWER);
}

void http_stream_on_gone(struct http_stream *stream, void (*fn)(void *userdata), void *userdata)
{
	stream->gone = fn;
	stream->userdata = userdata;
}

void stream_gone(struct http_stream *stream)
{
	void (*gone)(void *userdata) = stream->gone;
	void *userdata = stream->userdata;

	stream_free(stream);
	if (gone)
		gone(userdata);
}

void stream_ask(struct http_stream *stream)
{
	/* A comment line; with other types there is no harmless byte to ask with. */
	bool is_lost = stream->is_events ? send_chunk(stream, VIEW(":\n")) < 0
					 : stream->conn->is_half_closed;

	if (is_lost)
		conn_drop(stream->conn);
}
