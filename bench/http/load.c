/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load for the HTTP benchmark.
 *
 *   load post PORT CLIENTS SECONDS   small POSTs to /echo over kept connections: requests a second
 *   load idle PORT CLIENTS PID       idle streams on /sse: memory of PID for each
 */
#include "base/parse.h"
#include "sys/clock.h"

#include "../dial.h"

#include <stdio.h>
#include <sys/epoll.h>

enum { MAX_CLIENTS = 4000, BODY = 44, READ_BYTES = 4096 };

static const char post[] =
	"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	"Content-Length: 44\r\n\r\n"
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/x\"}\n";
static const char get[] = "GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n";

/* Answers are small: one read is one answer. */
static bool answer_is_whole(const char *p, size_t n)
{
	return n > BODY && memmem(p, n, "\r\n\r\n", 4);
}

static int run_post(uint16_t port, uint32_t clients, usec duration)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	usec start, now;
	uint64_t done = 0;

	for (uint32_t i = 0; i < clients; i++) {
		int fd = dial(port);
		struct epoll_event e = { .events = EPOLLIN, .data = { .fd = fd } };

		if (fd < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0 ||
		    send(fd, post, sizeof(post) - 1, MSG_NOSIGNAL) < 0)
			return 1;
	}
	start = clock_monotonic(&clock_system);
	do {
		struct epoll_event events[64];
		int n = epoll_wait(ep, events, 64, 1000);

		for (int i = 0; i < n; i++) {
			char answer[READ_BYTES];
			int fd = events[i].data.fd;
			ssize_t got = recv(fd, answer, sizeof(answer), 0);

			if (got <= 0 || !answer_is_whole(answer, (size_t)got) ||
			    send(fd, post, sizeof(post) - 1, MSG_NOSIGNAL) < 0) {
				(void)fprintf(stderr, "an answer is broken\n");
				return 1;
			}
			done++;
		}
		now = clock_monotonic(&clock_system);
	} while (now - start < duration);
	(void)printf("%llu requests/s\n",
		     (unsigned long long)(done * USEC_PER_SEC / (now - start)));
	return 0;
}

/* Resident bytes; 0 when it cannot be read. */
static uint64_t memory_of(const char *pid)
{
	char path[64], line[256];
	uint64_t kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		struct view v = view_str(line);

		if (!view_starts(v, VIEW("VmRSS:")))
			continue;
		v = view_trim(view_from(v, 6));
		if (parse_u64(view_first(v, view_find(v, ' ')), 0, UINT64_MAX, &kib) < 0)
			kib = 0;
	}
	(void)fclose(f);
	return kib * 1024;
}

static int run_idle(uint16_t port, uint32_t clients, const char *pid)
{
	uint64_t before = memory_of(pid), after;

	for (uint32_t i = 0; i < clients; i++) {
		char answer[READ_BYTES];
		int fd = dial(port);

		if (fd < 0 || send(fd, get, sizeof(get) - 1, MSG_NOSIGNAL) < 0 ||
		    recv(fd, answer, sizeof(answer), 0) <= 0)
			return 1;
	}
	after = memory_of(pid);
	(void)printf("%llu bytes/stream\n", (unsigned long long)((after - before) / clients));
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t port, clients, seconds;

	if (argc != 5 || parse_u32(view_str(argv[2]), 1, 65535, &port) < 0 ||
	    parse_u32(view_str(argv[3]), 1, MAX_CLIENTS, &clients) < 0) {
		(void)fprintf(stderr, "usage: load post|idle PORT CLIENTS SECONDS|PID\n");
		return 2;
	}
	if (strcmp(argv[1], "idle") == 0)
		return run_idle((uint16_t)port, clients, argv[4]);
	if (parse_u32(view_str(argv[4]), 1, 3600, &seconds) < 0)
		return 2;
	return run_post((uint16_t)port, clients, seconds * USEC_PER_SEC);
}
