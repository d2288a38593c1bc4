/* SPDX-License-Identifier: Apache-2.0 */
/* The server: its listening socket, its connections as a whole, its timers. */
#include "http/internal.h"

#include "base/log.h"
#include "sys/io.h"
#include "sys/loop.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#define SWEEP_PERIOD (500 * USEC_PER_MSEC)
#define MIN_IDLE     (1 * USEC_PER_SEC) /* before a connection must make room or end */

usec server_now(const struct http_server *server)
{
	return clock_monotonic(server->clock);
}

void server_later(struct http_server *server, struct http_conn *conn)
{
	if (conn && list_is_empty(&conn->later))
		list_add_tail(&server->later_conns, &conn->later);
	loop_wake(server->later);
}

static int on_later(sd_event_source *source, void *userdata)
{
	struct http_server *server = userdata;
	struct list *it, *tmp;

	(void)source;
	while (!list_is_empty(&server->later_conns)) {
		struct http_conn *conn =
			container_of(server->later_conns.next, struct http_conn, later);

		list_remove(&conn->later);
		if (conn->state == CONN_CLOSED)
			conn_free(conn);
		else if (conn->is_broken)
			conn_drop(conn);
	}
	list_each(it, tmp, &server->dead_requests)
		request_free(container_of(it, struct http_request, dead));
	return 0;
}

void server_kick_mhd(struct http_server *server)
{
	loop_wake(server->mhd_again);
}

/* Lets the library work, then relays what it made. */
static void run_mhd(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	(void)MHD_run(server->daemon);
	while (!list_is_empty(&server->completed)) {
		struct http_conn *conn =
			container_of(server->completed.next, struct http_conn, completed);

		list_remove(&conn->completed);
		conn_relay(conn);
	}
	if (MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES && wait_ms == 0)
		server_kick_mhd(server);
}

static int on_mhd_again(sd_event_source *source, void *userdata)
{
	(void)source;
	run_mhd(userdata);
	return 0;
}

static int on_mhd_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	run_mhd(userdata);
	return 0;
}

static void set_listening(struct http_server *server, int enabled)
{
	if (server->listen)
		(void)sd_event_source_set_enabled(server->listen, enabled);
}

static void arm_sweep(struct http_server *server)
{
	if (server->n_conns == 0 && !server->listen)
		return;
	loop_wake_after(server->sweep, SWEEP_PERIOD);
}

/*
 * Makes room by closing the connection, of this network (NULL: of any), that waits longest for a
 * request. False if there is none.
 */
static bool close_one_idle(struct http_server *server, const struct net_address *of)
{
	struct list *it, *tmp;

	list_each(it, tmp, &server->conns)
	{
		struct http_conn *conn = container_of(it, struct http_conn, by_server);

		if ((!of || net_same_network(&conn->peer, of)) &&
		    conn_close_idle(conn, MIN_IDLE, true))
			return true;
	}
	return false;
}

/*
 * A request may be on its way on a connection that was opened or used a moment ago, and a client
 * that loses one at /token takes it for the end of its sign-in.
 */
static void close_all_idle(struct http_server *server)
{
	struct list *it, *tmp;

	list_each(it, tmp, &server->conns)(void)
		conn_close_idle(container_of(it, struct http_conn, by_server), MIN_IDLE, false);
}

static int on_sweep(sd_event_source *source, uint64_t at, void *userdata)
{
	struct http_server *server = userdata;
	usec now = server_now(server);
	struct list *it, *tmp;

	(void)source;
	(void)at;
	list_each(it, tmp, &server->conns)
		conn_check_deadline(container_of(it, struct http_conn, by_server), now);
	if (server->is_quiesced)
		close_all_idle(server);
	else if (server->n_conns >= server->max_connections)
		(void)close_one_idle(server, NULL);
	/* Also the way back from accept() failures. */
	if (server->n_conns < server->max_connections)
		set_listening(server, SD_EVENT_ON);
	if (server->n_conns)
		arm_sweep(server);
	return 0;
}

void server_conn_ended(struct http_server *server)
{
	server->n_conns--;
	set_listening(server, SD_EVENT_ON);
}

/* A peer that vanished without a word is noticed within some minutes. */
static void set_socket_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 }, { IPPROTO_TCP, TCP_KEEPINTVL, 20 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
	};

	/* Not TCP (a Unix socket from socket activation): these do not apply. */
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(int));
}

bool server_is_many(const struct http_server *server, const struct net_address *address)
{
	return net_is_loopback(address) || net_list_has(&server->proxies, address);
}

/* Has the peer's network its part of the connections? */
static bool is_crowd(const struct http_server *server, const struct net_address *peer)
{
	size_t part = server->max_connections / HTTP_NETWORK_PART, n = 0;
	struct list *it, *tmp;

	if (server->n_conns <= part || server_is_many(server, peer))
		return false;
	list_each(it, tmp, &server->conns)
	{
		const struct http_conn *conn = container_of(it, struct http_conn, by_server);

		n += net_same_network(&conn->peer, peer);
	}
	return n > part;
}

static void refuse_crowd(const struct http_server *server, int fd)
{
	const struct view words = VIEW("Your network has many connections open here. Close some, "
				       "or try again in a moment.\n");
	const struct reply reply = { .status = 503,
				     .content_type = "text/plain; charset=utf-8",
				     .extra = reply_retry_later,
				     .framing = REPLY_LENGTH,
				     .length = words.len,
				     .closes = true };
	auto_buf struct buf answer = BUF_INIT(HTTP_MAX_REPLY_HEAD);

	/* Whoever does not read it learns the same from the end of the connection. */
	if (reply_head(&answer, server, &reply) == 0 && buf_add_view(&answer, words) == 0)
		(void)send(fd, answer.p, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

/* False if there is none to accept for now. */
static bool accept_one(struct http_server *server, int listen_fd)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(from);
	struct net_address peer;
	int r, fd;

	fd = accept4(listen_fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		log_warning("http: cannot accept a connection: %m");
		set_listening(server, SD_EVENT_OFF);
		arm_sweep(server);
	}
	if (fd < 0)
		return false;

	net_address_of(&from, &peer);
	if (is_crowd(server, &peer) && !close_one_idle(server, &peer)) {
		refuse_crowd(server, fd);
		return true;
	}
	set_socket_options(fd);
	if (server->n_conns == 0)
		arm_sweep(server);
	r = conn_new(server, fd, &peer);
	if (r < 0)
		log_warning("http: cannot serve a connection: %s", strerror(-r));
	if (server->n_conns < server->max_connections || close_one_idle(server, NULL))
		return true;
	set_listening(server, SD_EVENT_OFF);
	return false;
}

/* Several in one turn of the loop: else each of them waits for everybody who is being sent
 * something. */
static int on_accept(sd_event_source *source, int listen_fd, uint32_t events, void *userdata)
{
	struct http_server *server = userdata;

	(void)source;
	(void)events;
	for (int n = 0; n < HTTP_ACCEPT_BATCH && accept_one(server, listen_fd); n++)
		continue;
	return 0;
}

static int bind_listen(const struct http_config *config, int *ret, struct err *err)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(config->port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(config->port) };
	bool is_v6 = inet_pton(AF_INET6, config->address, &v6.sin6_addr) == 1;
	int on = 1;

	if (!is_v6 && inet_pton(AF_INET, config->address, &v4.sin_addr) != 1)
		return err_set(err, ERR_INVALID, "\"%s\" is not an IP address to listen on",
			       config->address);
	auto_fd int fd =
		socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket");
	/* "::" means all of IPv4 too, whatever the system's default is. */
	if (is_v6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		 is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
	    listen(fd, HTTP_LISTEN_BACKLOG) < 0)
		return err_sys(err, errno, "cannot listen on %s port %u", config->address,
			       config->port);
	*ret = take_fd(fd);
	return 0;
}

/* Where a socket is bound; `ret_ip` may be NULL. The port of another family than IP is 0. */
static int bound_to(int fd, struct net_address *ret_ip, uint16_t *ret_port)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		return -errno;
	*ret_port = 0;
	if (at.ss_family == AF_INET)
		*ret_port = ntohs(((struct sockaddr_in *)&at)->sin_port);
	else if (at.ss_family == AF_INET6)
		*ret_port = ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
	if (ret_ip)
		net_address_of(&at, ret_ip);
	return 0;
}

bool http_listens_at(int fd, const char *address, uint16_t port)
{
	struct net_address wanted, bound;
	uint16_t bound_port = 0;

	return net_address_parse(view_str(address), &wanted) == 0 &&
	       bound_to(fd, &bound, &bound_port) == 0 && bound_port == port &&
	       memcmp(&wanted.ip, &bound.ip, sizeof(wanted.ip)) == 0;
}

static int open_listen(struct http_server *server, const struct http_config *config,
		       struct err *err)
{
	int r;

	if (config->listen_fd >= 0)
		server->listen_fd = config->listen_fd;
	else if (bind_listen(config, &server->listen_fd, err) < 0)
		return -1;
	/* One that was given to us may block, and accept() of a client that left again would. */
	r = io_set_nonblocking(server->listen_fd);
	if (r < 0)
		return err_sys(err, -r, "the listening socket");
	r = bound_to(server->listen_fd, NULL, &server->port);
	return r < 0 ? err_sys(err, -r, "the listening socket") : 0;
}

static int add_sources(struct http_server *server, struct err *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	r = sd_event_add_io(server->event, &server->listen, server->listen_fd, EPOLLIN, on_accept,
			    server);
	if (r >= 0)
		r = sd_event_add_io(server->event, &server->mhd_io, info->epoll_fd, EPOLLIN,
				    on_mhd_io, server);
	if (r >= 0)
		r = loop_add_deferred(server->event, &server->mhd_again, on_mhd_again, server);
	if (r >= 0)
		r = loop_add_deferred(server->event, &server->later, on_later, server);
	if (r >= 0)
		r = loop_add_timer(server->event, &server->sweep, on_sweep, server);
	return r < 0 ? err_sys(err, -r, "cannot watch the HTTP sockets") : 0;
}

/* For each connection its socket and the two ends of its link, beside what the process needs. */
static void raise_descriptor_limit(const struct http_server *server, uint32_t others)
{
	rlim_t need = (rlim_t)server->max_connections * 3 + HTTP_OWN_DESCRIPTORS + others;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < need)
		log_warning("http: %u connections may need %llu open files, the limit is %llu",
			    server->max_connections, (unsigned long long)need,
			    (unsigned long long)limit.rlim_cur);
}

static usec or_default(usec value, usec fallback)
{
	return value ? value : fallback;
}

static struct http_server *server_alloc(sd_event *event, const struct http_config *config)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->event = sd_event_ref(event);
	s->clock = &clock_system;
	s->listen_fd = -1;
	s->max_connections =
		config->max_connections ? config->max_connections : HTTP_DEFAULT_CONNECTIONS;
	s->head_timeout = or_default(config->head_timeout, HTTP_HEAD_TIMEOUT);
	s->body_timeout = or_default(config->body_timeout, HTTP_BODY_TIMEOUT);
	s->idle_timeout = or_default(config->idle_timeout, HTTP_IDLE_TIMEOUT);
	s->write_timeout = or_default(config->write_timeout, HTTP_WRITE_TIMEOUT);
	list_init(&s->conns);
	list_init(&s->later_conns);
	list_init(&s->dead_requests);
	list_init(&s->links);
	list_init(&s->completed);
	return s;
}

int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret,
		    struct err *err)
{
	struct http_server *s = server_alloc(event, config);

	if (!s) {
		if (config->listen_fd >= 0)
			(void)close(config->listen_fd);
		return err_sys(err, ENOMEM, "http");
	}
	if (open_listen(s, config, err) < 0 ||
	    net_list_parse(config->trusted_proxies, &s->proxies, err) < 0 ||
	    link_daemon_start(s, err) < 0 || add_sources(s, err) < 0) {
		http_server_free(s);
		return -1;
	}
	raise_descriptor_limit(s, config->other_descriptors);
	*ret = s;
	return 0;
}

void http_server_quiesce(struct http_server *server)
{
	server->is_quiesced = true;
	server->listen = sd_event_source_disable_unref(server->listen);
	if (server->listen_fd >= 0)
		(void)close(take_fd(server->listen_fd));
	close_all_idle(server);
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	http_server_quiesce(server);
	while (!list_is_empty(&server->conns))
		conn_drop(container_of(server->conns.next, struct http_conn, by_server));
	/* The library ends the links that were given up. */
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	link_free_all(server);
	(void)on_later(NULL, server);
	sd_event_source_disable_unref(server->mhd_io);
	sd_event_source_disable_unref(server->mhd_again);
	sd_event_source_disable_unref(server->later);
	sd_event_source_disable_unref(server->sweep);
	sd_event_unref(server->event);
	free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}

int http_server_listen_fd(const struct http_server *server)
{
	return server->listen_fd;
}

uint32_t http_server_connections(const struct http_server *server)
{
	return server->n_conns;
}

uint64_t http_server_requests(const struct http_server *server)
{
	return server->n_requests;
}
