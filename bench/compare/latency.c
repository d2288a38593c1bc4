/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long something takes, again and again. Prints one JSON object: the number of rounds, and
 * microseconds by percentile.
 *
 *   latency run ROUNDS COMMAND..              a program, from its start to its end
 *   latency post ROUNDS PORT CLIENTS NEEDLE   an HTTP request to loopback, over kept connections
 *
 * It ends after ROUNDS, or after five seconds. Whole requests come on standard input, separated by
 * NUL; the clients take them in turn. "@CCCC" in one becomes the client's number and "@NNNN" that
 * of the request, in five digits. The first round of each client is a warm-up, unless requests have
 * numbers. Each answer must hold NEEDLE.
 */
#include "base/buf.h"
#include "base/parse.h"
#include "sys/clock.h"

#include "../dial.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum {
	MAX_ROUNDS = 100000,
	MAX_CLIENTS = 1000,
	MAX_REQUEST = 8192,
	MAX_INPUT = 1 << 20,
	MAX_ANSWER = 64 * 1024
};
#define PATIENCE (5 * USEC_PER_SEC)

extern char **environ;

struct times {
	usec *all;
	size_t n, wanted;
	usec end;
};

struct client {
	int fd;
	bool is_warm;
	usec begin;
	char answer[MAX_ANSWER + 1];
	size_t got;
};

struct load {
	char input[MAX_INPUT + 1];
	const char *requests[MAX_CLIENTS];
	uint32_t n_requests;
	const char *needle;
	uint32_t next_number;
	bool is_numbered; /* the first rounds count too */
	struct times times;
};

static usec now(void)
{
	return clock_monotonic(&clock_system);
}

static int compare(const void *a, const void *b)
{
	const usec *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void add(struct times *times, usec t)
{
	if (times->n < times->wanted)
		times->all[times->n++] = t;
}

static bool is_over(const struct times *times)
{
	return times->n >= times->wanted || now() > times->end;
}

static int print(struct times *times)
{
	size_t n = times->n;

	if (n == 0)
		return 1;
	qsort(times->all, n, sizeof(*times->all), compare);
	(void)printf("{\"n\":%zu,\"p50\":%llu,\"p95\":%llu,\"p99\":%llu}\n", n,
		     (unsigned long long)times->all[n / 2],
		     (unsigned long long)times->all[n * 95 / 100],
		     (unsigned long long)times->all[n * 99 / 100]);
	return 0;
}

/* ---- programs ---- */

static int run_once(char **argv)
{
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0 ||
	    posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		return -1;
	(void)posix_spawn_file_actions_destroy(&actions);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return status == 0 ? 0 : -1;
}

static int run(struct times *times, char **argv)
{
	if (run_once(argv) < 0) /* the warm-up */
		return 1;
	while (!is_over(times)) {
		usec begin = now();

		if (run_once(argv) < 0)
			return 1;
		add(times, now() - begin);
	}
	return print(times);
}

/* ---- requests ---- */

static void number(char *text, const char *mark, uint32_t value)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%05u", value % 100000);
	for (char *p = text; (p = strstr(p, mark)); p += strlen(mark))
		memcpy(p, digits, strlen(mark));
}

static int ask(struct load *load, struct client *client, uint32_t index)
{
	char request[MAX_REQUEST + 1];
	int n = snprintf(request, sizeof(request), "%s", load->requests[index % load->n_requests]);

	if (n <= 0 || n > MAX_REQUEST)
		return -1;
	number(request, "@CCCC", index);
	number(request, "@NNNN", load->next_number++);
	client->got = 0;
	client->begin = now();
	return send(client->fd, request, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

/* Bytes of the whole answer; 0 while its head is not there. */
static size_t answer_length(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");
	const char *length = end ? strcasestr(answer, "\r\nContent-Length: ") : NULL;
	struct view digits;
	uint32_t n;

	if (!length || length > end)
		return 0;
	digits = view_str(length + strlen("\r\nContent-Length: "));
	digits = view_first(digits, view_find(digits, '\r'));
	return parse_u32(digits, 0, MAX_ANSWER, &n) < 0 ? 0 : (size_t)(end + 4 - answer) + n;
}

/* 1 when the answer is whole, 0 while it is not, -1 when it is not the one that was wanted. */
static int take(const struct load *load, struct client *client)
{
	ssize_t n = recv(client->fd, client->answer + client->got, MAX_ANSWER - client->got, 0);
	size_t length;

	if (n <= 0)
		return -1;
	client->got += (size_t)n;
	client->answer[client->got] = '\0';
	length = answer_length(client->answer);
	if (length == 0 || client->got < length)
		return 0;
	if (client->got == length && strstr(client->answer, load->needle))
		return 1;
	(void)fprintf(stderr, "not the answer that was wanted:\n%s\n", client->answer);
	return -1;
}

static int on_readable(struct load *load, struct client *client, uint32_t index)
{
	int r = take(load, client);

	if (r <= 0)
		return r;
	if (client->is_warm || load->is_numbered)
		add(&load->times, now() - client->begin);
	client->is_warm = true;
	/* Each number is a sandbox of its own: not one more than was asked for. */
	if (load->is_numbered && load->next_number >= load->times.wanted)
		return 0;
	return ask(load, client, index);
}

static int post(struct load *load, uint16_t port, uint32_t clients)
{
	struct client *all = calloc(clients, sizeof(*all));
	int ep = epoll_create1(EPOLL_CLOEXEC);

	for (uint32_t i = 0; all && i < clients; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data = { .u32 = i } };

		all[i].fd = dial(port);
		if (all[i].fd < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, all[i].fd, &e) < 0 ||
		    ask(load, &all[i], i) < 0)
			return 1;
	}
	while (all && !is_over(&load->times)) {
		struct epoll_event events[64];
		int n = epoll_wait(ep, events, 64, 1000);

		for (int i = 0; i < n; i++)
			if (on_readable(load, &all[events[i].data.u32], events[i].data.u32) < 0)
				return 1;
	}
	free(all);
	return print(&load->times);
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: latency run ROUNDS COMMAND..\n"
			      "       latency post ROUNDS PORT CLIENTS NEEDLE <REQUEST\n");
	return 2;
}

static void read_requests(struct load *load)
{
	size_t len = fread(load->input, 1, MAX_INPUT, stdin);

	for (size_t at = 0; at < len && load->n_requests < MAX_CLIENTS;) {
		load->requests[load->n_requests++] = load->input + at;
		at += strlen(load->input + at) + 1;
	}
}

static int main_post(struct load *load, char **args)
{
	uint32_t port, clients;

	if (parse_u32(view_str(args[0]), 1, 65535, &port) < 0 ||
	    parse_u32(view_str(args[1]), 1, MAX_CLIENTS, &clients) < 0)
		return usage();
	load->needle = args[2];
	read_requests(load);
	if (load->n_requests == 0)
		return usage();
	load->is_numbered = strstr(load->requests[0], "@NNNN");
	return post(load, (uint16_t)port, clients);
}

int main(int argc, char **argv)
{
	static struct load load;
	uint32_t rounds;

	if (argc < 4 || parse_u32(view_str(argv[2]), 1, MAX_ROUNDS, &rounds) < 0)
		return usage();
	load.times.wanted = rounds;
	load.times.end = now() + PATIENCE;
	load.times.all = calloc(rounds, sizeof(*load.times.all));
	if (!load.times.all)
		return 1;
	if (strcmp(argv[1], "run") == 0)
		return run(&load.times, argv + 3);
	if (strcmp(argv[1], "post") == 0 && argc == 6)
		return main_post(&load, argv + 3);
	return usage();
}
