/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the benchmarks to a server on this machine. */
#ifndef BERTH_BENCH_DIAL_H
#define BERTH_BENCH_DIAL_H

#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

/* A connected TCP socket, blocking; -1 after a message. */
static inline int dial(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		perror("connect");
		return -1;
	}
	return fd;
}

#endif
