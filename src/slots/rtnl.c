/* SPDX-License-Identifier: Apache-2.0 */
/* rtnetlink requests. */
#include "slots/rtnl.h"

#include <assert.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

enum { MESSAGE_SIZE = 512 };

struct message {
	union {
		struct nlmsghdr head;
		char bytes[MESSAGE_SIZE];
	};
};

int rtnl_open(void)
{
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return sock < 0 ? -errno : sock;
}

/* Starts a message with its fixed part, zeroed; returns where that is. */
static void *begin(struct message *m, uint16_t type, uint16_t flags, size_t size)
{
	memset(m, 0, sizeof(*m));
	m->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	m->head.nlmsg_type = type;
	m->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	return NLMSG_DATA(&m->head);
}

/* All sizes are ours, so a message that does not fit is a bug. */
static void *room(struct message *m, size_t size)
{
	size_t at = NLMSG_ALIGN(m->head.nlmsg_len);

	assert(at + size <= sizeof(m->bytes));
	m->head.nlmsg_len = (uint32_t)(at + size);
	return m->bytes + at;
}

static struct rtattr *add(struct message *m, uint16_t type, const void *p, size_t len)
{
	struct rtattr *a = room(m, RTA_LENGTH(len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), p, len);
	return a;
}

static void add_u32(struct message *m, uint16_t type, uint32_t value)
{
	(void)add(m, type, &value, sizeof(value));
}

static void add_string(struct message *m, uint16_t type, const char *s)
{
	(void)add(m, type, s, strlen(s) + 1);
}

/* Closes a nested attribute: it reaches to the present end. */
static void end(struct message *m, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)(m->bytes + NLMSG_ALIGN(m->head.nlmsg_len) - (char *)nest);
}

/* Sends the request and waits for the kernel's answer. */
static int ask(int sock, struct message *m)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[1024];
	} reply;
	ssize_t n;

	if (send(sock, m->bytes, m->head.nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(sock, &reply, sizeof(reply), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(reply.head) + sizeof(reply.error) ||
	    reply.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return reply.error.error;
}

int rtnl_add_veth(int sock, const char *name, const char *peer, int peer_ns, uint32_t mtu)
{
	struct message m;
	struct rtattr *info, *data, *other;

	(void)begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	add_string(&m, IFLA_IFNAME, name);
	add_u32(&m, IFLA_MTU, mtu);
	info = add(&m, IFLA_LINKINFO, NULL, 0);
	add_string(&m, IFLA_INFO_KIND, "veth");
	data = add(&m, IFLA_INFO_DATA, NULL, 0);
	other = add(&m, VETH_INFO_PEER, NULL, 0);
	(void)memset(room(&m, sizeof(struct ifinfomsg)), 0, sizeof(struct ifinfomsg));
	add_string(&m, IFLA_IFNAME, peer);
	add_u32(&m, IFLA_MTU, mtu);
	add_u32(&m, IFLA_NET_NS_FD, (uint32_t)peer_ns);
	end(&m, other);
	end(&m, data);
	end(&m, info);
	return ask(sock, &m);
}

int rtnl_set_up(int sock, uint32_t index)
{
	struct message m;
	struct ifinfomsg *link = begin(&m, RTM_NEWLINK, 0, sizeof(*link));

	link->ifi_index = (int)index;
	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	return ask(sock, &m);
}

int rtnl_delete(int sock, uint32_t index)
{
	struct message m;
	struct ifinfomsg *link = begin(&m, RTM_DELLINK, 0, sizeof(*link));

	link->ifi_index = (int)index;
	return ask(sock, &m);
}

int rtnl_add_address(int sock, uint32_t index, const struct address *a)
{
	struct message m;
	struct ifaddrmsg *addr =
		begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*addr));

	addr->ifa_family = (uint8_t)a->family;
	addr->ifa_prefixlen = (uint8_t)(address_length(a) * 8);
	addr->ifa_flags = a->family == AF_INET6 ? IFA_F_NODAD : 0;
	addr->ifa_index = index;
	(void)add(&m, IFA_LOCAL, a->bytes, address_length(a));
	(void)add(&m, IFA_ADDRESS, a->bytes, address_length(a));
	return ask(sock, &m);
}

int rtnl_add_route(int sock, uint32_t index, const struct address *to, const struct address *via)
{
	struct message m;
	struct rtmsg *route = begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*route));

	assert(to || via);
	route->rtm_family = (uint8_t)(to ? to->family : via->family);
	route->rtm_table = RT_TABLE_MAIN;
	route->rtm_protocol = RTPROT_STATIC;
	route->rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	route->rtm_type = RTN_UNICAST;
	if (to) {
		route->rtm_dst_len = (uint8_t)(address_length(to) * 8);
		(void)add(&m, RTA_DST, to->bytes, address_length(to));
	}
	if (via)
		(void)add(&m, RTA_GATEWAY, via->bytes, address_length(via));
	add_u32(&m, RTA_OIF, index);
	return ask(sock, &m);
}
