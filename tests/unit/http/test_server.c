/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a server, and one request through the loop. The rest is tested end to end. */
#include "http/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>

#include <cmocka.h>

static void on_hello(struct http_request *req, void *userdata)
{
	++*(unsigned *)userdata;
	http_reply_text(req, 200, "hello\n");
}

static struct http_config config_for(const char *address)
{
	return (struct http_config){ .address = address, .listen_fd = -1, .max_connections = 4 };
}

/* Connects, asks, and runs the loop until the answer is there. */
static void check_serves(sd_event *event, struct http_server *server, const char *address)
{
	static const char ask[] = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	unsigned calls = 0;
	const struct http_route route = { .path = "/hello",
					  .match = HTTP_MATCH_EXACT,
					  .methods = HTTP_GET,
					  .handler = on_hello,
					  .userdata = &calls };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(http_server_port(server)) };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(http_server_port(server)) };
	bool is_v6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	auto_buf struct buf answer = BUF_INIT(4096);
	struct err err;

	assert_int_equal(http_server_add_route(server, &route, &err), 0);
	(void)inet_pton(AF_INET, address, &v4.sin_addr);
	auto_fd int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
				 is_v6 ? sizeof(v6) : sizeof(v4)),
			 0);
	assert_int_equal(send(fd, ask, sizeof(ask) - 1, 0), sizeof(ask) - 1);
	for (ssize_t n = -1; n != 0;) {
		char *at = buf_reserve(&answer, 1024);

		assert_true(sd_event_run(event, 100000) >= 0);
		n = recv(fd, at, 1024, MSG_DONTWAIT);
		if (n > 0)
			buf_commit(&answer, (size_t)n);
	}
	assert_int_equal(calls, 1);
	assert_true(view_starts(buf_view(&answer), VIEW("HTTP/1.1 200 ")));
	assert_true(view_ends(buf_view(&answer), VIEW("\r\n\r\nhello\n")));
}

static void serve_on(const struct http_config *config, const char *address)
{
	struct http_server *server;
	sd_event *event = NULL;
	struct err err;

	assert_true(sd_event_new(&event) >= 0);
	if (http_server_new(event, config, &server, &err) < 0)
		fail_msg("%s", err.msg);
	check_serves(event, server, address);
	http_server_free(server);
	sd_event_unref(event);
}

static void test_ipv4(void **state)
{
	struct http_config config = config_for("127.0.0.1");

	(void)state;
	serve_on(&config, "127.0.0.1");
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	auto_fd int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0;
}

static void test_ipv6(void **state)
{
	struct http_config config = config_for("::1");

	(void)state;
	if (!has_ipv6())
		skip();
	serve_on(&config, "::1");
	config.address = "::";
	serve_on(&config, "127.0.0.1");
}

/* As from socket activation. */
static void test_takes_a_socket(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct http_config config = config_for("not used");

	(void)state;
	config.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(config.listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(config.listen_fd, 5), 0);
	serve_on(&config, "127.0.0.1");
	assert_int_equal(fcntl(config.listen_fd, F_GETFD), -1);
}

static void test_refuses(void **state)
{
	struct http_config config = config_for("localhost");
	struct http_server *server = NULL, *second = NULL;
	sd_event *event = NULL;
	struct err err;

	(void)state;
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(http_server_new(event, &config, &server, &err), -1);
	assert_non_null(strstr(err.msg, "\"localhost\" is not an IP address"));
	config = config_for("127.0.0.1");
	config.trusted_proxies = "127.0.0.1, proxy.example";
	assert_int_equal(http_server_new(event, &config, &server, &err), -1);
	assert_non_null(strstr(err.msg, "proxy.example"));
	config.trusted_proxies = NULL;
	assert_int_equal(http_server_new(event, &config, &server, &err), 0);
	config.port = http_server_port(server);
	assert_int_equal(http_server_new(event, &config, &second, &err), -1);
	assert_int_equal(err.sys_errno, EADDRINUSE);
	http_server_free(server);
	sd_event_unref(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_takes_a_socket),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
