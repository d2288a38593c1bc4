/* SPDX-License-Identifier: Apache-2.0 */
/* Files and bodies on their way: who is too slow, who is only slow, and what is cut. */
#include "fake_clock.h"
#include "http/internal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

enum {
	FILE_BYTES = 64 * 1024 * 1024,
	SMALL_BUFFER = 4 * 1024, /* of sockets, so that what is not read is not sent either */
	STEP_S = 10,
	FAIR_STEP = 2 * STEP_S * HTTP_MIN_BYTES_PER_SEC,
	SLOW_STEP = FAIR_STEP / 4,
};

struct world {
	sd_event *event;
	struct http_server *server;
	struct http_conn *conn; /* of the one client */
	int client;
	struct http_sending *sending;
	int file;
	unsigned done;
};

static void on_done(void *userdata)
{
	struct world *w = userdata;

	w->sending = NULL;
	w->done++;
}

static void on_file(struct http_request *req, void *userdata)
{
	struct world *w = userdata;
	struct http_file file = { .size = FILE_BYTES, .done = on_done, .userdata = w };

	w->file = memfd_create("file", MFD_CLOEXEC);
	assert_true(w->file >= 0);
	assert_int_equal(ftruncate(w->file, FILE_BYTES), 0);
	file.fd = w->file;
	w->sending = http_send_file(req, &file);
	assert_non_null(w->sending);
}

static void on_body(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_reply_text(req, 200, "all is there\n");
}

/* Everything that is due now. */
static void settle(struct world *w)
{
	for (int turns = 0; sd_event_run(w->event, 0) > 0; turns++)
		assert_true(turns < 100000);
}

static void add_routes(struct world *w)
{
	const struct http_route routes[] = {
		{ .path = "/file",
		  .match = HTTP_MATCH_EXACT,
		  .methods = HTTP_GET,
		  .handler = on_file,
		  .userdata = w },
		{ .path = "/body",
		  .match = HTTP_MATCH_EXACT,
		  .methods = HTTP_PUT,
		  .max_body_bytes = FILE_BYTES,
		  .handler = on_body },
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		assert_int_equal(http_server_add_route(w->server, &routes[i], &err), 0);
}

static void set(int fd, int level, int option, int value)
{
	assert_int_equal(setsockopt(fd, level, option, &value, sizeof(value)), 0);
}

static void world_start(struct world *w, const char *ask)
{
	const struct http_config config = { .address = "127.0.0.1", .listen_fd = -1 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct err err;

	*w = (struct world){ .file = -1 };
	now = USEC_PER_SEC;
	assert_true(sd_event_new(&w->event) >= 0);
	if (http_server_new(w->event, &config, &w->server, &err) < 0)
		fail_msg("%s", err.msg);
	w->server->clock = &fake;
	add_routes(w);
	to.sin_port = htons(http_server_port(w->server));
	w->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	set(w->client, SOL_SOCKET, SO_RCVBUF, SMALL_BUFFER);
	set(w->client, IPPROTO_TCP, TCP_NODELAY, 1);
	assert_int_equal(connect(w->client, (struct sockaddr *)&to, sizeof(to)), 0);
	while (list_is_empty(&w->server->conns))
		assert_true(sd_event_run(w->event, USEC_INFINITY) > 0);
	w->conn = container_of(w->server->conns.next, struct http_conn, by_server);
	set(w->conn->fd, SOL_SOCKET, SO_SNDBUF, SMALL_BUFFER);
	assert_int_equal(send(w->client, ask, strlen(ask), 0), strlen(ask));
	settle(w);
}

static void world_end(struct world *w)
{
	(void)close(w->client);
	if (w->file >= 0)
		(void)close(w->file);
	http_server_free(w->server);
	sd_event_unref(w->event);
}

/* Reads so many bytes, or to the end; how many there were. */
static size_t take(struct world *w, size_t max)
{
	char block[4096];
	size_t taken = 0;

	while (taken < max) {
		size_t want = max - taken < sizeof(block) ? max - taken : sizeof(block);
		ssize_t n = recv(w->client, block, want, MSG_DONTWAIT);

		if (n > 0)
			taken += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			break;
		else
			assert_true(sd_event_run(w->event, USEC_PER_SEC) >= 0);
	}
	return taken;
}

/* Some seconds later; false when the server has lost its patience. */
static bool pass(struct world *w)
{
	bool is_there;

	settle(w);
	now += STEP_S * USEC_PER_SEC;
	conn_check_deadline(w->conn, now);
	is_there = w->conn->state != CONN_CLOSED && w->conn->state != CONN_FLUSH &&
		   w->conn->state != CONN_LINGER;
	settle(w);
	return is_there;
}

static const char get_file[] = "GET /file HTTP/1.1\r\nHost: x\r\n\r\n";
static const char put_body[] = "PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n";

static void test_a_slow_reader_is_served(void **state)
{
	struct world w;

	(void)state;
	world_start(&w, get_file);
	for (int i = 0; i < 30; i++) {
		assert_int_equal(take(&w, FAIR_STEP), FAIR_STEP);
		assert_true(pass(&w));
	}
	assert_int_equal(w.done, 0);
	world_end(&w);
	assert_int_equal(w.done, 1);
}

/* Not even one that was quick before. */
static void test_a_reader_that_is_too_slow_is_not(void **state)
{
	struct world w;
	int steps = 0;

	(void)state;
	world_start(&w, get_file);
	assert_int_equal(take(&w, FILE_BYTES / 8), FILE_BYTES / 8);
	while (pass(&w)) {
		assert_true(++steps < 20);
		assert_int_equal(take(&w, SLOW_STEP), SLOW_STEP);
	}
	assert_true(steps >= 6);
	assert_true(take(&w, FILE_BYTES) < FILE_BYTES / 2);
	assert_int_equal(w.done, 1);
	world_end(&w);
}

static void bring(struct world *w, size_t n)
{
	static const char block[64 * 1024];

	assert_true(n <= sizeof(block));
	assert_int_equal(send(w->client, block, n, 0), n);
	settle(w);
}

static void test_a_slow_body_is_taken(void **state)
{
	struct world w;

	(void)state;
	world_start(&w, put_body);
	for (int i = 0; i < 30; i++) {
		bring(&w, FAIR_STEP);
		assert_true(pass(&w));
	}
	world_end(&w);
}

static void test_a_body_that_is_too_slow_is_not(void **state)
{
	char answer[16] = "";
	struct world w;
	int steps = 0;

	(void)state;
	world_start(&w, put_body);
	for (int i = 0; i < 20; i++)
		bring(&w, 64 * 1024);
	while (pass(&w)) {
		assert_true(++steps < 20);
		bring(&w, SLOW_STEP);
	}
	assert_true(steps >= 6);
	assert_int_equal(recv(w.client, answer, 12, MSG_WAITALL), 12);
	assert_string_equal(answer, "HTTP/1.1 408");
	world_end(&w);
}

static void test_a_file_is_cut(void **state)
{
	struct world w;

	(void)state;
	world_start(&w, get_file);
	assert_int_equal(take(&w, 10000), 10000);
	http_sending_cut(w.sending);
	assert_true(fcntl(w.file, F_GETFD) >= 0); /* the caller's */
	assert_true(take(&w, FILE_BYTES) < FILE_BYTES / 2);
	assert_int_equal(http_server_connections(w.server), 0);
	world_end(&w);
	assert_int_equal(w.done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slow_reader_is_served),
		cmocka_unit_test(test_a_reader_that_is_too_slow_is_not),
		cmocka_unit_test(test_a_slow_body_is_taken),
		cmocka_unit_test(test_a_body_that_is_too_slow_is_not),
		cmocka_unit_test(test_a_file_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
