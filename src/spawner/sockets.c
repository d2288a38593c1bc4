/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that nobody has any more. */
#include "spawner/sockets.h"

#include "base/attr.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	BATCH_BYTES = 32 * 1024,
	/* What ends while the kernel lists may make it pass over another one. */
	MAX_ROUNDS = 8,
};

struct message {
	struct nlmsghdr head;
	struct inet_diag_req_v2 request;
};

static struct message message(uint16_t type, uint16_t flags, uint8_t family)
{
	return (struct message){
		.head = { .nlmsg_len = sizeof(struct message),
			  .nlmsg_type = type,
			  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags) },
		.request = { .sdiag_family = family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_states = UINT32_MAX },
	};
}

static void destroy(int sock, const struct inet_diag_msg *found)
{
	struct message m = message(SOCK_DESTROY, 0, found->idiag_family);

	m.request.id = found->id;
	(void)!send(sock, &m, sizeof(m), 0);
}

/* One batch of the list; false after the last. */
static bool destroy_batch(int list, int sock, uint32_t *count)
{
	_Alignas(struct nlmsghdr) char batch[BATCH_BYTES];
	ssize_t n = recv(list, batch, sizeof(batch), 0);
	size_t left = n > 0 ? (size_t)n : 0;

	for (struct nlmsghdr *h = (void *)batch; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return false;
		destroy(sock, NLMSG_DATA(h));
		++*count;
	}
	return n > 0;
}

/* Returns how many there were. */
static uint32_t destroy_family(int sock, uint8_t family)
{
	struct message m = message(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, family);
	auto_fd int list = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uint32_t count = 0;

	if (list >= 0 && send(list, &m, sizeof(m), 0) == sizeof(m))
		while (destroy_batch(list, sock, &count))
			continue;
	return count;
}

void sockets_end_all(void)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	auto_fd int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	for (size_t i = 0; sock >= 0 && i < ARRAY_SIZE(families); i++)
		for (int round = 0; round < MAX_ROUNDS; round++)
			if (destroy_family(sock, families[i]) == 0)
				break;
}
