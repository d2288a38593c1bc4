/* SPDX-License-Identifier: Apache-2.0 */
/* Behind a proxy: what one network and all may have under way, and what is kept of a body. */
#include "http/internal.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

enum {
	MAX_CONNECTIONS = 16,
	PART = MAX_CONNECTIONS / HTTP_NETWORK_PART + 1,
	LARGE = 2 * HTTP_SMALL_BODY,
	MAX_BODY = 4 * 1024 * 1024,
};

#define CROWD "203.0.113."
#define OTHER "198.51.100.1"

struct world {
	sd_event *event;
	struct http_server *server;
	struct http_request *waiting; /* the last that a handler keeps */
	unsigned streams, checks;
};

static void on_gone(struct http_request *req, void *userdata)
{
	struct world *w = userdata;

	(void)req;
	w->waiting = NULL;
}

static void on_wait(struct http_request *req, void *userdata)
{
	struct world *w = userdata;

	w->waiting = req;
	http_request_on_gone(req, on_gone, w);
}

static void on_stream(struct http_request *req, void *userdata)
{
	struct world *w = userdata;

	if (http_stream_begin(req, 200, "text/event-stream", NULL, 1024))
		w->streams++;
}

static void on_hello(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_reply_text(req, 200, "hello\n");
}

static void check_token(struct http_request *req, void *userdata)
{
	struct world *w = userdata;

	w->checks++;
	if (!http_request_header(req, "Authorization").p)
		http_reply_text(req, 401, "who are you?\n");
}

static void on_guarded(struct http_request *req, void *userdata)
{
	check_token(req, userdata);
	if (http_request_header(req, "Authorization").p)
		http_reply_text(req, 200, "%zu bytes\n", http_request_body(req).len);
}

static int set_up(void **state)
{
	static struct world w;
	const struct http_config config = { .address = "127.0.0.1",
					    .listen_fd = -1,
					    .max_connections = MAX_CONNECTIONS,
					    .trusted_proxies = "127.0.0.0/8" };
	const struct http_route routes[] = {
		{ "/wait", HTTP_MATCH_EXACT, HTTP_POST, MAX_BODY, on_wait, 0, 0, &w, 0 },
		{ "/stream", HTTP_MATCH_EXACT, HTTP_GET, 0, on_stream, 0, 0, &w, 0 },
		{ "/hello", HTTP_MATCH_EXACT, HTTP_GET | HTTP_POST, MAX_BODY, on_hello, 0, 0, 0,
		  0 },
		{ "/guarded", HTTP_MATCH_EXACT, HTTP_POST, MAX_BODY, on_guarded, 0, 0, &w,
		  check_token },
	};
	struct err err;

	w = (struct world){ 0 };
	assert_true(sd_event_new(&w.event) >= 0);
	if (http_server_new(w.event, &config, &w.server, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		assert_int_equal(http_server_add_route(w.server, &routes[i], &err), 0);
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	http_server_free(w->server);
	sd_event_unref(w->event);
	return 0;
}

static void settle(struct world *w)
{
	for (int turns = 0; sd_event_run(w->event, 0) > 0; turns++)
		assert_true(turns < 100000);
}

static int open_client(struct world *w)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(http_server_port(w->server)),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void say(struct world *w, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	settle(w);
}

/* All of a body, or as much as is wanted of it. */
static void bring(struct world *w, int fd, size_t n)
{
	static const char block[16 * 1024];

	while (n) {
		size_t some = n < sizeof(block) ? n : sizeof(block);
		ssize_t sent = send(fd, block, some, MSG_NOSIGNAL | MSG_DONTWAIT);

		assert_true(sent > 0 || errno == EAGAIN);
		n -= sent > 0 ? (size_t)sent : 0;
		settle(w);
	}
}

/* The head of a request that the proxy says is from `client`; its connection. */
static int ask(struct world *w, const char *what, const char *client, size_t body)
{
	char text[512];
	int fd = open_client(w);

	(void)snprintf(text, sizeof(text),
		       "%s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n"
		       "Content-Length: %zu\r\n\r\n",
		       what, client, body);
	say(w, fd, text);
	return fd;
}

static const char *answer_of(struct world *w, int fd)
{
	static char text[1024];
	ssize_t n;

	settle(w);
	n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void expect(struct world *w, int fd, const char *status)
{
	const char *answer = answer_of(w, fd);
	auto_buf struct buf line = BUF_INIT(64);

	assert_int_equal(buf_addf(&line, "HTTP/1.1 %s ", status), 0);
	if (strncmp(answer, buf_str(&line), line.len) != 0)
		fail_msg("%s, not %s", answer, status);
	if (*status == '4' && strcmp(status, "401") != 0)
		assert_non_null(strstr(answer, "Retry-After: 10\r\n"
					       "Access-Control-Allow-Origin: *\r\n"));
	(void)close(fd);
	settle(w);
}

static void test_one_network_has_a_part_of_the_requests(void **state)
{
	struct world *w = *state;
	int crowd[PART];
	char client[32];

	for (int i = 0; i < PART; i++) {
		(void)snprintf(client, sizeof(client), CROWD "%d", i + 1);
		crowd[i] = ask(w, i % 2 ? "GET /stream" : "POST /wait", client, 0);
	}
	assert_int_equal(w->streams, PART / 2);

	/* Too many for it, whatever is asked for; not for others, nor for this machine. */
	expect(w, ask(w, "GET /hello", CROWD "77", 0), "429");
	expect(w, ask(w, "POST /hello", CROWD "78", 100), "429");
	expect(w, ask(w, "GET /nowhere", CROWD "79", 0), "429");
	expect(w, ask(w, "GET /hello", OTHER, 0), "200");
	expect(w, ask(w, "GET /hello", "127.0.0.1", 0), "200");

	(void)close(crowd[0]);
	expect(w, ask(w, "GET /hello", CROWD "77", 0), "200");
	(void)close(crowd[1]);
	(void)close(crowd[2]);
	expect(w, ask(w, "GET /hello", CROWD "78", 0), "200");
	for (int i = 3; i < PART; i++)
		(void)close(crowd[i]);
}

static void test_large_bodies_have_a_bound(void **state)
{
	struct world *w = *state;
	int one = ask(w, "POST /hello", CROWD "1", MAX_BODY), fd;
	uint64_t rest = HTTP_MAX_BODIES;

	bring(w, one, LARGE);
	assert_in_range(w->server->body_bytes, LARGE, 4 * LARGE);

	/* As if many others were on their way. */
	w->server->body_bytes += rest;
	fd = ask(w, "POST /hello", OTHER, LARGE);
	bring(w, fd, LARGE);
	assert_non_null(strstr(answer_of(w, fd), "HTTP/1.1 503 "));
	(void)close(fd);
	fd = ask(w, "POST /hello", OTHER, HTTP_SMALL_BODY / 2);
	bring(w, fd, HTTP_SMALL_BODY / 2);
	expect(w, fd, "200");
	w->server->body_bytes -= rest;

	fd = ask(w, "POST /hello", OTHER, LARGE);
	bring(w, fd, LARGE);
	expect(w, fd, "200");
	(void)close(one);
	settle(w);
	assert_int_equal(w->server->body_bytes, 0);
}

static void test_one_network_has_a_part_of_the_bodies(void **state)
{
	const uint64_t part = HTTP_MAX_BODIES / HTTP_NETWORK_PART;
	struct world *w = *state;
	int one = ask(w, "POST /hello", CROWD "1", MAX_BODY), fd;
	struct http_request *req;

	bring(w, one, LARGE);
	req = container_of(w->server->conns.next, struct http_conn, by_server)->req;

	/* As if it had brought so much. */
	w->server->body_bytes += part;
	req->body_counted += part;
	fd = ask(w, "POST /hello", CROWD "2", LARGE);
	bring(w, fd, LARGE);
	expect(w, fd, "429");
	fd = ask(w, "POST /hello", OTHER, LARGE);
	bring(w, fd, LARGE);
	expect(w, fd, "200");
	w->server->body_bytes -= part;
	req->body_counted -= part;

	(void)close(one);
	settle(w);
	assert_int_equal(w->server->body_bytes, 0);
}

/* A handler has looked at the body: nobody keeps it while the answer takes its time. */
static void test_a_body_ends_with_its_handler(void **state)
{
	struct world *w = *state;
	auto_fd int fd = ask(w, "POST /wait", OTHER, LARGE);

	bring(w, fd, LARGE - 1);
	assert_null(w->waiting);
	assert_true(w->server->body_bytes >= LARGE);
	bring(w, fd, 1);
	assert_non_null(w->waiting);
	assert_null(w->waiting->body.p);
	assert_int_equal(w->server->body_bytes, 0);
	http_reply_text(w->waiting, 200, "later\n");
	assert_non_null(strstr(answer_of(w, fd), "HTTP/1.1 200 "));
}

static void test_a_check_comes_before_the_body(void **state)
{
	struct world *w = *state;
	auto_fd int fd = ask(w, "POST /guarded", OTHER, MAX_BODY);
	const char *answer;

	/* Nothing came but the head, and the client need not stop at once. */
	assert_int_equal(w->checks, 1);
	assert_int_equal(w->server->body_bytes, 0);
	bring(w, fd, MAX_BODY);
	answer = answer_of(w, fd);
	assert_non_null(strstr(answer, "HTTP/1.1 401 "));
	assert_non_null(strstr(answer, "\r\n\r\nwho are you?\n"));
	assert_int_equal(recv(fd, &(char){ 0 }, 1, 0), 0);
	assert_int_equal(w->checks, 1);

	int other = ask(w, "POST /guarded HTTP/1.1\r\nAuthorization: x\r\nX-Rest:", OTHER, LARGE);
	bring(w, other, LARGE);
	expect(w, other, "200");
	assert_int_equal(w->checks, 3);
}

/* An ordinary client sends all at once, and keeps its connection when it has to sign in. */
static void test_whole_requests_keep_their_connection(void **state)
{
	static const char whole[] =
		"POST /guarded HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
	struct world *w = *state;
	auto_fd int fd = open_client(w);

	for (unsigned i = 1; i <= 3; i++) {
		say(w, fd, whole);
		assert_non_null(strstr(answer_of(w, fd), "HTTP/1.1 401 "));
		assert_int_equal(w->checks, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_network_has_a_part_of_the_requests, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_large_bodies_have_a_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_network_has_a_part_of_the_bodies, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_body_ends_with_its_handler, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_check_comes_before_the_body, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_whole_requests_keep_their_connection, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
