/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of interfaces of one slot. */
#include "slots/links.h"

#include "slots/namespaces.h"
#include "slots/rtnl.h"
#include "slots/sysctl.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>

#define INSIDE "eth0"

/*
 * The kernel has one table of neighbours for all namespaces. With the network fe80::/64, which
 * comes with the link-local address that it makes by itself, a tenant could fill that table by
 * sending to any address in it. So it makes none, and gets addresses without a network.
 */
#define NO_ADDRESS "1"
static const struct address link_local_inside = { AF_INET6, { 0xfe, 0x80, [15] = 2 } };
static const struct address link_local_outside = { AF_INET6, { 0xfe, 0x80, [15] = 1 } };

int links_init(struct links *ret, const struct network *net, struct err *err)
{
	struct links links = { .net = net, .sock = rtnl_open() };

	if (links.sock < 0)
		return err_sys(err, -links.sock, "open rtnetlink");
	links.home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (links.home < 0) {
		(void)close(links.sock);
		return err_sys(err, errno, "open the network namespace");
	}
	*ret = links;
	return 0;
}

void links_done(struct links *links)
{
	(void)close(links->sock);
	(void)close(links->home);
}

/* ---- the end in the sandbox ---- */

static int set_addresses(const struct network *net, int sock, uint32_t index, int family,
			 uint32_t n)
{
	struct address own = network_slot(net, family, n), gateway = network_gateway(net, family);
	int r = rtnl_add_address(sock, index, &own);

	if (r == 0)
		r = rtnl_add_route(sock, index, &gateway, NULL);
	if (r == 0)
		r = rtnl_add_route(sock, index, NULL, &gateway);
	return r;
}

/* Runs in the slot's network namespace. */
static int set_up_inside(const struct network *net, uint32_t n)
{
	static const struct sysctl v6_on[] = {
		{ "ipv6", "addr_gen_mode", NO_ADDRESS },
		{ "ipv6", "accept_ra", "0" },
		{ "ipv6", "autoconf", "0" },
		{ "ipv6", "accept_dad", "0" },
		{ "ipv6", "accept_redirects", "0" },
		{ NULL },
	};
	static const struct sysctl v6_off[] = { { "ipv6", "disable_ipv6", "1" }, { NULL } };
	uint32_t index = if_nametoindex(INSIDE);
	auto_fd int sock = rtnl_open();
	int r;

	if (index == 0)
		return -errno;
	if (sock < 0)
		return sock;
	r = sysctl_interface(INSIDE, net->has_v6 ? v6_on : v6_off);
	if (r == 0)
		r = rtnl_set_up(sock, index);
	if (r == 0)
		r = set_addresses(net, sock, index, AF_INET, n);
	if (r == 0 && net->has_v6)
		r = rtnl_add_address(sock, index, &link_local_inside);
	if (r == 0 && net->has_v6)
		r = set_addresses(net, sock, index, AF_INET6, n);
	return r;
}

typedef int visit_fn(const struct network *net, uint32_t n);

/* Calls `fn` in the slot's network namespace. Not to come back would be the end of everything. */
static int visit(const struct links *links, int ns, uint32_t n, visit_fn *fn)
{
	int r;

	if (setns(ns, CLONE_NEWNET) < 0)
		return -errno;
	r = fn(links->net, n);
	if (setns(links->home, CLONE_NEWNET) < 0)
		abort();
	return r;
}

static int is_linked(const struct network *net, uint32_t n)
{
	(void)net;
	(void)n;
	return if_nametoindex(INSIDE) ? 1 : 0;
}

/* ---- the end on the host ---- */

static int set_up_outside(const struct links *links, const char *name, uint32_t n)
{
	const struct network *net = links->net;
	const struct sysctl settings[] = {
		{ "ipv4", "rp_filter", "1" },
		{ "ipv4", "forwarding", "1" },
		{ "ipv4", "proxy_arp", "0" },
		{ "ipv4", "accept_redirects", "0" },
		{ "ipv4", "send_redirects", "0" },
		/* Lets the gateway's port 53 lead to a resolver on loopback; the rules see to it
		 * that nothing else does. */
		{ "ipv4", "route_localnet", net->resolvers.loopback ? "1" : "0" },
		{ "ipv6", "addr_gen_mode", NO_ADDRESS },
		{ "ipv6", "accept_ra", "0" },
		{ "ipv6", "accept_redirects", "0" },
		{ "ipv6", "accept_dad", "0" },
		{ "ipv6", net->has_v6 ? "forwarding" : "disable_ipv6", "1" },
		{ NULL },
	};
	static const int families[] = { AF_INET, AF_INET6 };
	uint32_t index = if_nametoindex(name);
	int r;

	if (index == 0)
		return -errno;
	r = sysctl_interface(name, settings);
	if (r == 0)
		r = rtnl_set_up(links->sock, index);
	if (r == 0 && net->has_v6)
		r = rtnl_add_address(links->sock, index, &link_local_outside);
	for (size_t i = 0; r == 0 && i < (net->has_v6 ? 2 : 1); i++) {
		struct address gateway = network_gateway(net, families[i]);
		struct address slot = network_slot(net, families[i], n);

		r = rtnl_add_address(links->sock, index, &gateway);
		if (r == 0)
			r = rtnl_add_route(links->sock, index, &slot, NULL);
	}
	return r;
}

static int make(struct links *links, const char *name, int ns, uint32_t n)
{
	int r = rtnl_add_veth(links->sock, name, INSIDE, ns, links->net->mtu);

	if (r == 0)
		r = set_up_outside(links, name, n);
	if (r == 0)
		r = visit(links, ns, n, set_up_inside);
	return r;
}

int links_make(struct links *links, int namespaces, uint32_t n, struct err *err)
{
	char name[NETWORK_NAME];
	uint32_t index;
	int fd, r;

	network_link_name(links->net, n, name);
	if (namespaces_open(namespaces, n, "net", &fd, err) < 0)
		return -1;
	auto_fd int ns = fd;
	index = if_nametoindex(name);
	r = visit(links, ns, n, is_linked);
	if (index && r == 1)
		return 0;
	/* One end alone belongs to a namespace of earlier, or to a run that was cut short. */
	if (r >= 0 && index)
		r = rtnl_delete(links->sock, index);
	if (r >= 0) {
		r = make(links, name, ns, n);
		if (r < 0 && (index = if_nametoindex(name)) != 0)
			(void)!rtnl_delete(links->sock, index); /* none rather than half of one */
	}
	return r < 0 ? err_sys(err, -r, "make the network link of slot %u", n) : 0;
}
