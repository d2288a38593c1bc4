/* SPDX-License-Identifier: Apache-2.0 */
/* Ending the connections of a network namespace. Needs root. */
#include "spawner/sockets.h"

#include "base/buf.h"
#include "sys/io.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cmocka.h>

enum { CONNECTIONS = 50 };

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(ioctl(sock, SIOCSIFFLAGS, &request), 0);
}

/* Lines of /proc/net/`name` without the head. */
static size_t count(const char *name)
{
	auto_buf struct buf path = BUF_INIT(64), text = BUF_INIT(1024 * 1024);
	struct view rest, line;
	size_t n = 0;

	assert_int_equal(buf_addf(&path, "/proc/thread-self/net/%s", name), 0);
	assert_int_equal(io_read_file(AT_FDCWD, buf_str(&path), &text), 0);
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line))
		n += line.len > 0;
	return n - 1;
}

/* Opens and closes connections: the end that closes first waits for a minute. */
static void connect_and_close(const struct sockaddr *address, socklen_t len)
{
	auto_fd int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);

	assert_int_equal(bind(listener, address, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		int ours = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), theirs;

		assert_int_equal(connect(ours, (struct sockaddr *)&at, size), 0);
		theirs = accept(listener, NULL, NULL);
		assert_true(theirs >= 0);
		(void)close(ours);
		(void)close(theirs);
	}
}

static void test_end_all(void **state)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	(void)state;
	if (unshare(CLONE_NEWNET) < 0)
		skip();
	loopback_up();
	connect_and_close((const struct sockaddr *)&v4, sizeof(v4));
	connect_and_close((const struct sockaddr *)&v6, sizeof(v6));
	assert_int_equal(count("tcp"), CONNECTIONS);
	assert_int_equal(count("tcp6"), CONNECTIONS);
	sockets_end_all();
	assert_int_equal(count("tcp"), 0);
	assert_int_equal(count("tcp6"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_end_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
