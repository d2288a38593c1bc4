/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and networks. */
#include "http/net.h"

#include "base/parse.h"

#include <arpa/inet.h>
#include <stdio.h>

static void map_v4(struct in_addr v4, struct in6_addr *ret)
{
	*ret = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(&ret->s6_addr[12], &v4, sizeof(v4));
}

static bool is_v4(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_V4MAPPED(ip);
}

/* Without brackets and port, where the text has them. */
static struct view strip_port(struct view text)
{
	size_t colon = view_find(text, ':');

	if (text.len && text.p[0] == '[')
		return view_from(view_first(text, view_find(text, ']')), 1);
	/* One colon only: IPv4 and a port. */
	if (colon < text.len && view_find(view_from(text, colon + 1), ':') == text.len - colon - 1)
		return view_first(text, colon);
	return text;
}

static int parse_ip(struct view text, struct in6_addr *ret)
{
	char copy[INET6_ADDRSTRLEN];
	struct in_addr v4;
	struct in6_addr v6;

	if (view_copy(text, copy, sizeof(copy)) < 0)
		return -EINVAL;
	if (inet_pton(AF_INET, copy, &v4) == 1)
		map_v4(v4, ret);
	else if (inet_pton(AF_INET6, copy, &v6) == 1)
		*ret = v6;
	else
		return -EINVAL;
	return 0;
}

int net_address_parse(struct view text, struct net_address *ret)
{
	return parse_ip(strip_port(view_trim(text)), &ret->ip);
}

void net_address_of(const struct sockaddr_storage *from, struct net_address *ret)
{
	if (from->ss_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, from, sizeof(v4));
		map_v4(v4.sin_addr, &ret->ip);
	} else if (from->ss_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, from, sizeof(v6));
		ret->ip = v6.sin6_addr;
	} else {
		ret->ip = in6addr_loopback;
	}
}

void net_address_text(const struct net_address *a, char out[NET_ADDRESS_TEXT])
{
	bool v4 = is_v4(&a->ip);

	/* Cannot fail: the family is known and the room is enough. */
	(void)inet_ntop(v4 ? AF_INET : AF_INET6, &a->ip.s6_addr[v4 ? 12 : 0], out,
			NET_ADDRESS_TEXT);
}

/* How many bytes of an address name its network. */
static size_t network_size(const struct net_address *a)
{
	return is_v4(&a->ip) ? 15 : 6;
}

bool net_same_network(const struct net_address *a, const struct net_address *b)
{
	return memcmp(&a->ip, &b->ip, network_size(a)) == 0;
}

void net_network_text(const struct net_address *a, char out[NET_NETWORK_TEXT])
{
	struct net_address network = *a;
	char text[NET_ADDRESS_TEXT];
	size_t kept = network_size(a);

	memset(&network.ip.s6_addr[kept], 0, sizeof(network.ip) - kept);
	net_address_text(&network, text);
	(void)snprintf(out, NET_NETWORK_TEXT, "%s/%d", text, is_v4(&a->ip) ? 24 : 48);
}

bool net_is_loopback(const struct net_address *a)
{
	return is_v4(&a->ip) ? a->ip.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&a->ip);
}

bool net_host_is_loopback(struct view host)
{
	struct net_address a;

	if (view_is_nocase(strip_port(host), "localhost"))
		return true;
	return net_address_parse(host, &a) == 0 && net_is_loopback(&a);
}

static int parse_net(struct view text, struct net_list *list, struct err *err)
{
	size_t slash = view_find(text, '/');
	struct in6_addr ip;
	uint32_t bits, max;

	if (list->n == ARRAY_SIZE(list->net))
		return err_set(err, ERR_INVALID, "more than %zu networks", ARRAY_SIZE(list->net));
	if (parse_ip(view_first(text, slash), &ip) < 0)
		return err_set(err, ERR_INVALID, "\"%.*s\" is not an address or network",
			       VIEW_ARG(text));
	max = is_v4(&ip) ? 32 : 128;
	bits = max;
	if (slash < text.len && parse_u32(view_from(text, slash + 1), 0, max, &bits) < 0)
		return err_set(err, ERR_INVALID, "\"%.*s\": the prefix length must be 0 to %u",
			       VIEW_ARG(text), max);
	list->net[list->n].ip = ip;
	list->net[list->n++].bits = bits + 128 - max;
	return 0;
}

int net_list_parse(const char *text, struct net_list *ret, struct err *err)
{
	struct net_list list = { .n = 0 };
	struct view rest = view_str(text), part;

	while (view_split(&rest, ',', &part)) {
		part = view_trim(part);
		if (part.len && parse_net(part, &list, err) < 0)
			return -1;
	}
	*ret = list;
	return 0;
}

static bool in_net(const struct in6_addr *ip, const struct in6_addr *net, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;
	unsigned mask = 0xffU << (8 - rest) & 0xffU;

	if (memcmp(ip, net, bytes) != 0)
		return false;
	return rest == 0 || ((ip->s6_addr[bytes] ^ net->s6_addr[bytes]) & mask) == 0;
}

bool net_list_has(const struct net_list *list, const struct net_address *a)
{
	for (size_t i = 0; i < list->n; i++)
		if (in_net(&a->ip, &list->net[i].ip, list->net[i].bits))
			return true;
	return false;
}

/* Cuts the last part of a comma list off *rest; false when it was used up. */
static bool split_last(struct view *rest, struct view *ret)
{
	size_t start = rest->len;

	if (rest->len == 0)
		return false;
	while (start && rest->p[start - 1] != ',')
		start--;
	*ret = view_from(*rest, start);
	*rest = view_first(*rest, start ? start - 1 : 0);
	return true;
}

void net_forwarded_client(const struct net_list *proxies, const struct net_address *peer,
			  struct view forwarded_for, struct net_address *ret)
{
	struct net_address at = *peer;
	struct view part;

	for (unsigned hops = 0; hops < HTTP_MAX_FORWARDED && net_list_has(proxies, &at); hops++) {
		struct net_address next;

		if (!split_last(&forwarded_for, &part) || net_address_parse(part, &next) < 0)
			break;
		at = next;
	}
	*ret = at;
}
