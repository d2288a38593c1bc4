/* SPDX-License-Identifier: Apache-2.0 */
/* One client's connection: the gate before libmicrohttpd, and the way back. */
#include "http/internal.h"

static void conn_settle(struct http_conn *conn);

/* ---- events ---- */

static bool wants_input(const struct http_conn *conn)
{
	/* A body comes not faster than the library takes it. */
	return conn->state == CONN_HEAD || conn->state == CONN_LINGER ||
	       (conn->state == CONN_BODY && !conn->scanned && !conn->is_body_paused);
}

static uint32_t client_events(const struct http_conn *conn)
{
	uint32_t events = conn_pending(conn) ? EPOLLOUT : 0;

	/* Most clients are silent while they wait, so nothing is changed for a short answer: only
	 * when input does come, it is no longer watched. */
	if (wants_input(conn) || (conn->state == CONN_ANSWER && !conn->has_input_waiting))
		events |= EPOLLIN;
	if (wants_input(conn) || conn_watches_half_close(conn))
		events |= EPOLLRDHUP;
	return events;
}

/* Bytes of the request that the gate let through. */
static bool has_bytes_to_forward(const struct http_conn *conn)
{
	return conn->scanned && conn->pair >= 0 && !conn->is_body_paused &&
	       (conn->state == CONN_BODY || conn->state == CONN_ANSWER);
}

static void update_events(struct http_conn *conn)
{
	uint32_t pair_events = conn_pending(conn) < HTTP_RELAY_BYTES ? EPOLLIN : 0;

	if (conn->state == CONN_CLOSED)
		return;
	(void)sd_event_source_set_io_events(conn->io, client_events(conn));
	if (!conn->pair_io)
		return;
	if (has_bytes_to_forward(conn))
		pair_events |= EPOLLOUT;
	(void)sd_event_source_set_io_events(conn->pair_io, pair_events);
	/* The end of the library's side is reported whatever the mask is: not while there is no
	 * room for what it said. */
	(void)sd_event_source_set_enabled(conn->pair_io, pair_events ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void set_state(struct http_conn *conn, enum conn_state state)
{
	conn->state = state;
	conn->since = server_now(conn->server);
}

/* ---- the end ---- */

void conn_free(struct http_conn *conn)
{
	buf_wipe(&conn->in);
	buf_wipe(&conn->out);
	free(conn);
}

void conn_give_up_link(struct http_conn *conn)
{
	conn->pair_io = sd_event_source_disable_unref(conn->pair_io);
	if (conn->pair >= 0)
		(void)close(take_fd(conn->pair));
	if (conn->link)
		link_give_up(take_ptr(conn->link));
}

void conn_drop(struct http_conn *conn)
{
	struct http_request *req = take_ptr(conn->req);
	struct http_stream *stream = take_ptr(conn->stream);

	if (conn->state == CONN_CLOSED)
		return;
	conn->state = CONN_CLOSED;
	conn_give_up_link(conn);
	conn->io = sd_event_source_disable_unref(conn->io);
	(void)close(take_fd(conn->fd));
	list_remove(&conn->by_server);
	list_remove(&conn->completed);
	server_conn_ended(conn->server);
	server_later(conn->server, conn);
	if (stream)
		stream_gone(stream);
	else if (req)
		request_gone(req);
}

void conn_break(struct http_conn *conn)
{
	conn->is_broken = true;
	server_later(conn->server, conn);
}

bool conn_close_idle(struct http_conn *conn, usec idle, bool half)
{
	if (conn->state != CONN_HEAD || (conn->in.len && !half) ||
	    server_now(conn->server) - conn->since < idle)
		return false;
	conn_drop(conn);
	return true;
}

/* ---- to the client ---- */

size_t conn_pending(const struct http_conn *conn)
{
	return conn->out.len - conn->out_sent;
}

/* 0 (perhaps not all is sent), or -errno when the client is gone. */
static int flush_out(struct http_conn *conn)
{
	while (conn_pending(conn)) {
		ssize_t n = send(conn->fd, conn->out.p + conn->out_sent, conn_pending(conn),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		conn->out_sent += (size_t)n;
		conn->n_sent += (uint64_t)n;
	}
	buf_wipe(&conn->out);
	conn->out_sent = 0;
	return 0;
}

/* Room at the end instead of in what was sent already. */
static void compact_out(struct http_conn *conn)
{
	if (conn->out_sent < conn->out.len / 2)
		return;
	buf_consume(&conn->out, conn->out_sent);
	conn->out_sent = 0;
}

int conn_send(struct http_conn *conn, struct view a, struct view b, struct view c)
{
	size_t before;
	int r;

	compact_out(conn);
	before = conn->out.len;
	if (conn_pending(conn) == 0)
		conn->write_since = server_now(conn->server);
	r = buf_add_view(&conn->out, a);
	if (r == 0)
		r = buf_add_view(&conn->out, b);
	if (r == 0)
		r = buf_add_view(&conn->out, c);
	if (r < 0) {
		buf_truncate(&conn->out, before);
		return r;
	}
	if (flush_out(conn) < 0)
		conn_break(conn);
	update_events(conn);
	return 0;
}

/* All is sent: tell the client so, and drop what it still sends, because closing with unread bytes
 * would reset the connection and could take the answer with it. */
static void start_lingering(struct http_conn *conn)
{
	(void)shutdown(conn->fd, SHUT_WR);
	conn->n_dropped = 0;
	conn->scanned = 0;
	buf_wipe(&conn->in);
	set_state(conn, CONN_LINGER);
	update_events(conn);
}

void conn_answer_done(struct http_conn *conn, enum conn_state next)
{
	conn->req = NULL;
	set_state(conn, next);
	conn_settle(conn);
	update_events(conn);
}

/* ---- refusals ---- */

/* Writes the refusal; the link has been given up. */
static void send_refusal(struct http_conn *conn, unsigned status, const char *reason)
{
	auto_buf struct buf head = BUF_INIT(HTTP_MAX_REPLY_HEAD);
	auto_buf struct buf body = BUF_INIT(HTTP_MAX_REASON);
	struct reply reply = { .status = status,
			       .content_type = "text/plain; charset=utf-8",
			       .framing = REPLY_LENGTH,
			       .closes = true };
	int r = buf_addf(&body, "%u: %s\n", status, reason);

	reply.length = body.len;
	if (r == 0)
		r = reply_head(&head, conn->server, &reply);
	if (r == 0)
		r = conn_send(conn, buf_view(&head), buf_view(&body), VIEW(""));
	if (r < 0)
		conn_break(conn);
}

void conn_refuse(struct http_conn *conn, unsigned status, const char *reason)
{
	struct http_request *req;

	/* An answer that is under way stays the only one. */
	if (conn->req && conn->req->is_answered) {
		set_state(conn, CONN_FLUSH);
		update_events(conn);
		return;
	}
	req = take_ptr(conn->req);
	conn_give_up_link(conn);
	send_refusal(conn, status, reason);
	if (req)
		request_gone(req);
	conn_answer_done(conn, CONN_FLUSH);
}

/* ---- from the client ---- */

/* Passes verified bytes on; 0, or -errno when the link is dead. */
static int forward(struct http_conn *conn)
{
	while (has_bytes_to_forward(conn)) {
		ssize_t n =
			send(conn->pair, conn->in.p, conn->scanned, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		buf_consume(&conn->in, (size_t)n);
		conn->scanned -= (size_t)n;
	}
	if (conn->in.len == 0)
		buf_wipe(&conn->in);
	return 0;
}

static uint64_t declared_length(const struct gate *g)
{
	if (g->state == GATE_CHUNK_SIZE)
		return UINT64_MAX;
	return g->state == GATE_BODY ? g->left : 0;
}

static int on_pair(sd_event_source *source, int fd, uint32_t events, void *userdata);

static int open_link(struct http_conn *conn)
{
	int r;

	if (conn->link)
		return 0;
	r = link_new(conn, &conn->pair);
	if (r < 0)
		return r;
	r = sd_event_add_io(conn->server->event, &conn->pair_io, conn->pair, EPOLLIN, on_pair,
			    conn);
	if (r < 0)
		conn_give_up_link(conn);
	return r < 0 ? r : 0;
}

/* The head is complete and clean. */
static int head_done(struct http_conn *conn)
{
	conn->body_length = declared_length(&conn->gate);
	conn->must_close = conn->gate.minor == 0;
	/* The answer before said that the connection ends, but the client went on. */
	if (conn->pair >= 0 && !conn->link) {
		set_state(conn, CONN_FLUSH);
		return -1;
	}
	if (open_link(conn) < 0) {
		conn_refuse(conn, 503, "The server is out of resources, try again later.");
		return -1;
	}
	set_state(conn, CONN_BODY);
	return 0;
}

/* Lets the gate look at what has come. */
static void scan(struct http_conn *conn)
{
	while (conn->state == CONN_HEAD || conn->state == CONN_BODY) {
		size_t taken;
		enum gate_event event = gate_feed(
			&conn->gate, view_from(buf_view(&conn->in), conn->scanned), &taken);

		if (event == GATE_REFUSAL) {
			conn_refuse(conn, conn->gate.status, conn->gate.reason);
			return;
		}
		conn->scanned += taken;
		if (event == GATE_HEAD_ENDS) {
			if (head_done(conn) < 0)
				return;
			continue;
		}
		if (conn->state == CONN_BODY)
			conn->since = conn_credit(conn->since, taken, server_now(conn->server));
		if (event == GATE_MORE)
			return;
		set_state(conn, CONN_ANSWER);
	}
}

/* Scans, passes on, and watches for what is next. */
static void pump(struct http_conn *conn)
{
	scan(conn);
	/* A link that refuses bytes has ended: what it said is still to be relayed. */
	if (forward(conn) < 0)
		set_state(conn, CONN_FLUSH);
	update_events(conn);
}

/* The answer is out (or the last one is): what comes next? */
static void conn_settle(struct http_conn *conn)
{
	if (conn_pending(conn))
		return;
	if (conn->state == CONN_FLUSH && conn->pair < 0) {
		start_lingering(conn);
		return;
	}
	if (conn->state != CONN_ANSWER || conn->req)
		return;
	if (conn->must_close || conn->server->is_quiesced) {
		conn_give_up_link(conn);
		start_lingering(conn);
		return;
	}
	gate_reset(&conn->gate);
	conn->is_body_paused = false;
	conn->has_input_waiting = false;
	set_state(conn, CONN_HEAD);
	pump(conn);
}

void conn_pause_body(struct http_conn *conn, bool is_paused)
{
	/* The client answers only for the time in which it may send. */
	if (conn->is_body_paused && !is_paused && conn->state == CONN_BODY)
		conn->since = server_now(conn->server);
	conn->is_body_paused = is_paused;
	update_events(conn);
}

static void drop_lingering(struct http_conn *conn)
{
	conn->n_dropped += conn->in.len;
	buf_wipe(&conn->in);
	if (conn->n_dropped > HTTP_LINGER_MAX_BYTES)
		conn_drop(conn);
}

static void read_client(struct http_conn *conn)
{
	char *at = buf_reserve(&conn->in, HTTP_READ_BYTES);
	ssize_t n;

	if (!at) {
		conn_drop(conn);
		return;
	}
	n = recv(conn->fd, at, HTTP_READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The end of the input here is between requests or in the middle of one. */
	if (n <= 0) {
		conn_drop(conn);
		return;
	}
	/* The time for a head runs from its first byte. */
	if (conn->state == CONN_HEAD && conn->in.len == 0)
		set_state(conn, CONN_HEAD);
	buf_commit(&conn->in, (size_t)n);
	if (conn->state == CONN_LINGER)
		drop_lingering(conn);
	else
		pump(conn);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct http_conn *conn = userdata;

	(void)source;
	(void)fd;
	if (events & (EPOLLHUP | EPOLLERR)) {
		conn_drop(conn);
		return 0;
	}
	if (events & EPOLLOUT) {
		if (flush_out(conn) < 0) {
			conn_drop(conn);
			return 0;
		}
		/* What was held back for lack of room. */
		if (conn->pair >= 0)
			conn_relay(conn);
		else
			conn_settle(conn);
	}
	if ((events & EPOLLIN) && wants_input(conn))
		read_client(conn);
	else if (events & EPOLLIN)
		conn->has_input_waiting = true;
	if ((events & EPOLLRDHUP) && conn_watches_half_close(conn)) {
		conn->is_half_closed = true;
		conn_ask(conn);
	}
	if (conn->state != CONN_CLOSED)
		update_events(conn);
	return 0;
}

/* ---- from the library ---- */

/* The library closed its end: "Connection: close", or an answer before the end of the body. */
static void on_link_end(struct http_conn *conn)
{
	conn_give_up_link(conn);
	if (conn->state == CONN_HEAD || conn->state == CONN_BODY || conn->state == CONN_ANSWER)
		set_state(conn, CONN_FLUSH);
}

void conn_relay(struct http_conn *conn)
{
	struct http_server *server = conn->server;

	while (conn->pair >= 0 && conn_pending(conn) < HTTP_RELAY_BYTES) {
		ssize_t n =
			recv(conn->pair, server->scratch, sizeof(server->scratch), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			on_link_end(conn);
			break;
		}
		if (conn_send(conn, view_of(server->scratch, (size_t)n), VIEW(""), VIEW("")) < 0 ||
		    conn->is_broken) {
			conn_break(conn);
			return;
		}
		if ((size_t)n < sizeof(server->scratch))
			break;
	}
	conn_settle(conn);
	update_events(conn);
}

static int on_pair(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct http_conn *conn = userdata;

	(void)source;
	(void)fd;
	if (events & EPOLLOUT)
		pump(conn);
	if (conn->pair >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		conn_relay(conn);
	return 0;
}

/* ---- the start ---- */

int conn_new(struct http_server *server, int fd, const struct net_address *peer)
{
	struct http_conn *conn = calloc(1, sizeof(*conn));
	int r;

	if (!conn) {
		(void)close(fd);
		return -ENOMEM;
	}
	conn->server = server;
	conn->fd = fd;
	conn->pair = -1;
	list_init(&conn->later);
	list_init(&conn->completed);
	gate_reset(&conn->gate);
	buf_init(&conn->in, HTTP_MAX_HEAD + 2 * HTTP_READ_BYTES);
	buf_init(&conn->out, HTTP_MAX_OUT);
	conn->peer = *peer;
	r = sd_event_add_io(server->event, &conn->io, fd, EPOLLIN, on_client, conn);
	if (r < 0) {
		(void)close(fd);
		free(conn);
		return r;
	}
	list_add_tail(&server->conns, &conn->by_server);
	server->n_conns++;
	set_state(conn, CONN_HEAD);
	return 0;
}
