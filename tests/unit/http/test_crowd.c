/* SPDX-License-Identifier: Apache-2.0 */
/* One network cannot take all connections, and idle ones make room. In a network of its own. */
#include "fake_clock.h"
#include "http/internal.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CROWD "192.0.2.1"
#define OTHER "198.51.100.1"

enum { MAX_CONNECTIONS = 12, PART = MAX_CONNECTIONS / HTTP_NETWORK_PART + 1 };

struct world {
	sd_event *event;
	struct http_server *server;
};

static struct sockaddr_in at(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, address, &a.sin_addr), 1);
	return a;
}

/* Both addresses on the loopback interface of a network namespace of our own. */
static bool own_network(void)
{
	static const char *const addresses[] = { CROWD, OTHER };
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct ifreq add = { 0 };
		struct sockaddr_in a = at(addresses[i], 0);

		(void)snprintf(add.ifr_name, sizeof(add.ifr_name), "lo:%zu", i + 1);
		memcpy(&add.ifr_addr, &a, sizeof(a));
		assert_int_equal(ioctl(fd, SIOCSIFADDR, &add), 0);
	}
	return true;
}

static void on_hello(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_reply_text(req, 200, "hello\n");
}

static int set_up(void **state)
{
	static struct world w;
	const struct http_config config = { .address = "0.0.0.0",
					    .listen_fd = -1,
					    .max_connections = MAX_CONNECTIONS };
	const struct http_route route = { .path = "/hello",
					  .match = HTTP_MATCH_EXACT,
					  .methods = HTTP_GET,
					  .handler = on_hello };
	struct err err;

	now = 100 * USEC_PER_SEC;
	assert_true(sd_event_new(&w.event) >= 0);
	if (http_server_new(w.event, &config, &w.server, &err) < 0)
		fail_msg("%s", err.msg);
	w.server->clock = &fake;
	assert_int_equal(http_server_add_route(w.server, &route, &err), 0);
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
	while (sd_event_run(w->event, 0) > 0)
		continue;
}

/* Connects, says `text` and lets the server do what it wants to. */
static int client(struct world *w, const char *from, const char *text)
{
	struct sockaddr_in own = at(from, 0), to = at(OTHER, http_server_port(w->server));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	settle(w);
	return fd;
}

/* What came so far, and whether that is all. */
static bool read_answer(int fd, char out[512])
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < 511) {
		n = recv(fd, out + len, 511 - len, MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
	}
	out[len] = '\0';
	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void check_served(struct world *w, const char *from)
{
	static const char ask[] = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	auto_fd int fd = client(w, from, ask);
	char answer[512];

	while (!read_answer(fd, answer))
		assert_true(sd_event_run(w->event, USEC_PER_SEC) >= 0);
	assert_non_null(strstr(answer, "HTTP/1.1 200 "));
}

static void test_one_network_has_a_part(void **state)
{
	struct world *w = *state;
	int crowd[PART];
	char answer[512];

	for (size_t i = 0; i < PART; i++)
		crowd[i] = client(w, CROWD, i % 2 ? "" : "GET /hello HTTP/1.1\r\n");
	assert_int_equal(w->server->n_conns, PART);

	/* Too many for it, not for others. */
	auto_fd int more = client(w, CROWD, "");
	assert_true(read_answer(more, answer));
	assert_non_null(strstr(answer, "HTTP/1.1 503 "));
	assert_non_null(strstr(answer, "Retry-After: "));
	assert_non_null(strstr(answer, "Access-Control-Allow-Origin: *\r\n"));
	assert_int_equal(w->server->n_conns, PART);
	check_served(w, OTHER);

	/* After a second, those without a whole head make room: its own first. */
	now += USEC_PER_SEC;
	check_served(w, CROWD);
	assert_true(read_answer(crowd[0], answer));
	assert_string_equal(answer, "");
	assert_false(read_answer(crowd[1], answer));
	for (size_t i = 0; i < PART; i++)
		(void)close(crowd[i]);
}

static void test_idle_ones_make_room(void **state)
{
	struct world *w = *state;
	int idle[MAX_CONNECTIONS];
	char answer[512];

	/* This machine is no crowd. */
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		idle[i] = client(w, "127.0.0.1", "");
	assert_int_equal(w->server->n_conns, MAX_CONNECTIONS);
	now += USEC_PER_SEC;
	int last = client(w, OTHER, "");
	/* It waits in the kernel's queue until the server looks for idle ones. */
	while (!read_answer(idle[0], answer))
		assert_true(sd_event_run(w->event, USEC_PER_SEC) >= 0);
	/* From here on each newcomer takes the place of one, at once. */
	for (int i = 0; i < MAX_CONNECTIONS / 2; i++)
		check_served(w, OTHER);
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		(void)close(idle[i]);
	(void)close(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_network_has_a_part, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_ones_make_room, set_up, tear_down),
	};

	if (!own_network())
		return 77; /* skipped: no network namespace is to be had */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
