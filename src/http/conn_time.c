/* SPDX-License-Identifier: Apache-2.0 */
/* What the silence of a connection means: deadlines, and whether the client is still there. */
#include "http/internal.h"

#include "base/log.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

usec conn_credit(usec since, uint64_t bytes, usec now)
{
	usec earned = since + bytes * USEC_PER_SEC / HTTP_MIN_BYTES_PER_SEC;

	return earned < now ? earned : now;
}

bool conn_watches_half_close(const struct http_conn *conn)
{
	return !conn->is_half_closed && (conn->state == CONN_ANSWER || conn->state == CONN_STREAM ||
					 conn->state == CONN_FLUSH);
}

void conn_ask(struct http_conn *conn)
{
	conn->asked_since = server_now(conn->server);
	if (conn->state == CONN_STREAM)
		stream_ask(conn->stream);
	else if (conn->state == CONN_ANSWER && conn->req && !conn->req->is_answered &&
		 conn->gate.minor == 1 &&
		 conn_send(conn, VIEW("HTTP/1.1 100 Continue\r\n\r\n"), VIEW(""), VIEW("")) < 0)
		conn_break(conn);
}

/* The next deadline of the state, or 0. */
static usec state_deadline(const struct http_conn *conn)
{
	const struct http_server *server = conn->server;

	switch (conn->state) {
	case CONN_HEAD:
		return conn->since + (conn->in.len ? server->head_timeout : server->idle_timeout);
	case CONN_BODY:
		if (conn->is_body_paused)
			return 0;
		return conn->since + server->body_timeout;
	case CONN_LINGER:
		return conn->since + HTTP_LINGER_TIMEOUT;
	case CONN_FLUSH:
		return conn_pending(conn) ? 0 : conn->since + server->write_timeout;
	case CONN_ANSWER:
	case CONN_STREAM:
	case CONN_CLOSED:
		break;
	}
	return 0;
}

/* The end of a client's side is not seen while bytes before it wait unread, and a client that
 * half-closed may have closed since it was asked. */
static void ask_again(struct http_conn *conn, usec now)
{
	int unread = 0;

	conn->asked_since = now;
	if (conn->is_half_closed || (conn_watches_half_close(conn) &&
				     ioctl(conn->fd, FIONREAD, &unread) == 0 && unread > 0))
		conn_ask(conn);
}

/* What waits in the kernel's buffer is not taken yet; that buffer is large, and room in it is
 * reported in steps that a slow client needs minutes for. */
static uint64_t bytes_taken(const struct http_conn *conn)
{
	int waiting = 0;

	if (ioctl(conn->fd, SIOCOUTQ, &waiting) < 0) {
		if (!conn->server->is_untaken_unknown)
			log_warning("http: cannot ask how much a client has taken, so slow ones "
				    "may be cut early: %m");
		conn->server->is_untaken_unknown = true;
		return conn->n_sent;
	}
	return (uint64_t)waiting < conn->n_sent ? conn->n_sent - (uint64_t)waiting : 0;
}

static bool reads_too_slowly(struct http_conn *conn, usec now)
{
	uint64_t taken;

	if (!conn_pending(conn))
		return false;
	taken = bytes_taken(conn);
	if (taken > conn->n_taken) {
		conn->write_since = conn_credit(conn->write_since, taken - conn->n_taken, now);
		conn->n_taken = taken;
	}
	return now > conn->write_since + conn->server->write_timeout;
}

void conn_check_deadline(struct http_conn *conn, usec now)
{
	usec deadline = state_deadline(conn);

	if (reads_too_slowly(conn, now)) {
		conn_drop(conn);
		return;
	}
	/* An idle link costs tens of kilobytes and two descriptors, a new one microseconds. */
	if (conn->state == CONN_HEAD && conn->link && now > conn->since + HTTP_LINK_IDLE)
		conn_give_up_link(conn);
	if (now > conn->asked_since + HTTP_ASK_PERIOD)
		ask_again(conn, now);
	if (!deadline || now <= deadline)
		return;
	if (conn->state == CONN_BODY || (conn->state == CONN_HEAD && conn->in.len))
		conn_refuse(conn, 408, "The request did not arrive in time.");
	else
		conn_drop(conn);
}
