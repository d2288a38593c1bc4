/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses and names the network of the slots uses. */
#include "slots/network.h"

#include "base/parse.h"
#include "sys/io.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>

enum {
	MTU_MIN = 1280, /* of IPv6 */
	MTU_MAX = 1500,
	ROUTES_MAX = 16 * 1024 * 1024, /* 128 bytes each, and each slot has one */
	PIECE6_PREFIX = 112,           /* 65,536 addresses */
};

static uint32_t to_number(const struct address *a)
{
	uint32_t n;

	memcpy(&n, a->bytes, sizeof(n));
	return ntohl(n);
}

static struct address from_number(uint32_t n)
{
	struct address a = { .family = AF_INET };

	n = htonl(n);
	memcpy(a.bytes, &n, sizeof(n));
	return a;
}

/* ---- the host's addresses and routes ---- */

struct host {
	struct ifaddrs *addresses;
	struct buf routes; /* /proc/net/route: the main table of IPv4 */
};

static void host_done(struct host *host)
{
	if (host->addresses)
		freeifaddrs(host->addresses);
	buf_done(&host->routes);
}

static int host_read(struct host *host, struct err *err)
{
	int r = io_read_file(AT_FDCWD, "/proc/net/route", &host->routes);

	if (r < 0)
		return err_sys(err, -r, "list the host's routes");
	if (getifaddrs(&host->addresses) < 0)
		return err_sys(err, errno, "list the host's addresses");
	return 0;
}

/* "eth0\t000200C0\t…": an address is printed as the number that its bytes are on this machine. */
static bool next_route(struct view *rest, struct view *ret_link, struct address *ret_to)
{
	struct view line, to;
	uint8_t digits[4];

	while (view_split(rest, '\n', &line)) {
		if (!view_split(&line, '\t', ret_link) || !view_split(&line, '\t', &to) ||
		    hex_decode(to, digits, sizeof(digits)) < 0)
			continue;
		*ret_to = from_number(ntohl((uint32_t)digits[0] << 24 | (uint32_t)digits[1] << 16 |
					    (uint32_t)digits[2] << 8 | digits[3]));
		return true;
	}
	return false;
}

/* ---- the piece of the block ---- */

/* Gateway and slots, one address each. */
static uint32_t piece_prefix(uint32_t slots)
{
	uint32_t prefix = 30;

	while (prefix > 0 && (UINT64_C(1) << (32 - prefix)) < (uint64_t)slots + 1)
		prefix--;
	return prefix;
}

static bool is_ours(const struct network *net, struct view link)
{
	return view_starts(link, view_str(net->link_prefix));
}

static bool interface_address(const struct ifaddrs *i, struct address *ret)
{
	struct sockaddr_in sin;

	if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
		return false;
	memcpy(&sin, i->ifa_addr, sizeof(sin));
	*ret = (struct address){ .family = AF_INET };
	memcpy(ret->bytes, &sin.sin_addr, 4);
	return true;
}

/* The piece in use already, if there are links of an earlier run. */
static bool find_present(const struct network *net, const struct host *host,
			 const struct range *block, uint32_t prefix, struct range *ret)
{
	struct address a;

	for (const struct ifaddrs *i = host->addresses; i; i = i->ifa_next) {
		if (!is_ours(net, view_str(i->ifa_name)) || !interface_address(i, &a) ||
		    !range_contains(block, &a))
			continue;
		/* It is the gateway's, the one after the first of the piece. */
		if ((to_number(&a) - 1) << prefix == 0) {
			*ret = (struct range){ from_number(to_number(&a) - 1), prefix, 0 };
			return true;
		}
	}
	return false;
}

/* Another server's larger piece has its gateway elsewhere, and a route to each of its slots. */
static bool is_free(const struct network *net, const struct host *host, const struct range *piece)
{
	struct view routes = buf_view(&host->routes), link;
	struct address a;

	for (const struct ifaddrs *i = host->addresses; i; i = i->ifa_next)
		if (!is_ours(net, view_str(i->ifa_name)) && interface_address(i, &a) &&
		    range_contains(piece, &a))
			return false;
	while (next_route(&routes, &link, &a))
		if (!is_ours(net, link) && range_contains(piece, &a))
			return false;
	return true;
}

static int choose_piece(const struct network *net, const struct host *host,
			const struct range *block, uint32_t prefix, uint32_t seed,
			struct range *ret)
{
	uint32_t pieces = UINT32_C(1) << (prefix - block->prefix);
	uint32_t size = UINT32_C(1) << (32 - prefix);

	if (find_present(net, host, block, prefix, ret))
		return 0;
	for (uint32_t i = 0; i < pieces; i++) {
		uint32_t at = (seed + i) % pieces;
		struct range piece = {
			.address = from_number(to_number(&block->address) + at * size),
			.prefix = prefix,
		};

		if (is_free(net, host, &piece)) {
			*ret = piece;
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

static int plan_v4(const struct slots_plan *plan, const struct host *host, struct network *net,
		   uint32_t seed, struct err *err)
{
	uint32_t prefix = piece_prefix(plan->count + 1);
	struct range block;

	if (range_parse(view_str(plan->conf->ipv4_block), &block) < 0 ||
	    block.address.family != AF_INET || block.port || block.prefix < 8)
		return err_set(err, ERR_INVALID,
			       "network.ipv4_block must be a block such as 10.213.0.0/16");
	if (block.prefix > prefix)
		return err_set(err, ERR_INVALID,
			       "network.ipv4_block is too small for %u slots: /%u is enough",
			       plan->count, prefix);
	if (choose_piece(net, host, &block, prefix, seed, &net->piece4) < 0)
		return err_set(err, ERR_BUSY,
			       "all of network.ipv4_block (%s) is in use on this host: set another",
			       plan->conf->ipv4_block);
	return 0;
}

static int plan_v6(const struct slots_plan *plan, struct network *net, uint32_t seed,
		   struct err *err)
{
	struct range block;

	if (!plan->conf->ipv6_block[0])
		return 0;
	if (range_parse(view_str(plan->conf->ipv6_block), &block) < 0 ||
	    block.address.family != AF_INET6 || block.port || block.prefix > 96)
		return err_set(err, ERR_INVALID,
			       "network.ipv6_block must be a block such as "
			       "fd42:6265:7274::/48, of /96 at least");
	/* The server's tag tells its addresses from those of others with the same block. */
	block.address.bytes[12] = (uint8_t)(seed >> 8);
	block.address.bytes[13] = (uint8_t)seed;
	block.prefix = PIECE6_PREFIX;
	net->piece6 = block;
	net->has_v6 = true;
	return 0;
}

/* ---- the uplink ---- */

static uint32_t link_mtu(const char *name)
{
	struct ifreq request = { .ifr_mtu = 0 };
	auto_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0 || strlen(name) >= sizeof(request.ifr_name))
		return MTU_MAX;
	memcpy(request.ifr_name, name, strlen(name) + 1);
	return ioctl(sock, SIOCGIFMTU, &request) == 0 ? (uint32_t)request.ifr_mtu : MTU_MAX;
}

/* The smallest of the default routes: then nothing has to be cut or refused on the way out. */
static uint32_t uplink_mtu(const struct host *host)
{
	struct view routes = buf_view(&host->routes), link;
	uint32_t mtu = MTU_MAX;
	struct address to;

	while (next_route(&routes, &link, &to)) {
		char name[IFNAMSIZ];
		uint32_t m;

		if (to_number(&to) != 0 || view_copy(link, name, sizeof(name)) < 0)
			continue;
		m = link_mtu(name);
		if (m < mtu)
			mtu = m;
	}
	return mtu < MTU_MIN ? MTU_MIN : mtu;
}

static int plan_addresses(const struct slots_plan *plan, struct network *net, uint32_t seed,
			  struct err *err)
{
	struct host host = { .routes = BUF_INIT(ROUTES_MAX) };
	int r = host_read(&host, err);

	if (r == 0)
		r = plan_v4(plan, &host, net, seed, err);
	if (r == 0)
		r = plan_v6(plan, net, seed, err);
	net->mtu = uplink_mtu(&host);
	host_done(&host);
	return r;
}

void network_set_names(struct network *net, const char *instance)
{
	(void)snprintf(net->link_prefix, sizeof(net->link_prefix), "bv%s-", instance);
	(void)snprintf(net->table, sizeof(net->table), "berth_%s", instance);
}

int network_plan(const struct slots_plan *plan, struct network *ret, struct err *err)
{
	struct network net = { .mode = (enum conf_network)plan->conf->network };
	uint8_t tag[2] = { 0 };
	uint32_t seed;

	if (hex_decode(view_str(plan->instance), tag, sizeof(tag)) < 0)
		return err_set(err, ERR_BUG, "the server's tag is not hex");
	seed = (uint32_t)tag[0] << 8 | tag[1];
	network_set_names(&net, plan->instance);
	if (plan_addresses(plan, &net, seed, err) < 0 ||
	    resolvers_find(plan->conf->dns, net.has_v6 ? RESOLVERS_ALL : RESOLVERS_V4_ONLY,
			   &net.resolvers, err) < 0)
		return -1;
	*ret = net;
	return 0;
}

/* Address number `at` of the piece; number 1 is the gateway, the slots follow. */
static struct address piece_address(const struct network *net, int family, uint32_t at)
{
	struct address a = net->piece6.address;

	if (family == AF_INET)
		return from_number(to_number(&net->piece4.address) + at);
	a.bytes[14] = (uint8_t)(at >> 8);
	a.bytes[15] = (uint8_t)at;
	return a;
}

struct address network_gateway(const struct network *net, int family)
{
	return piece_address(net, family, 1);
}

struct address network_slot(const struct network *net, int family, uint32_t n)
{
	return piece_address(net, family, n + 2);
}

void network_link_name(const struct network *net, uint32_t n, char ret[NETWORK_NAME])
{
	(void)snprintf(ret, NETWORK_NAME, "%.8s%u", net->link_prefix, n);
}
