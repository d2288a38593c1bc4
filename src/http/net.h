/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of peers and lists of networks. IPv4 is kept as IPv4-mapped IPv6.
 */
#ifndef BERTH_HTTP_NET_H
#define BERTH_HTTP_NET_H

#include "base/buf.h"
#include "base/err.h"
#include "http/limits.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct net_address {
	struct in6_addr ip;
};

struct net_list {
	struct {
		struct in6_addr ip;
		unsigned bits;
	} net[HTTP_MAX_PROXIES];
	size_t n;
};

enum { NET_ADDRESS_TEXT = INET6_ADDRSTRLEN, NET_NETWORK_TEXT = INET6_ADDRSTRLEN + 3 };

/* "192.0.2.1", "2001:db8::1", "[2001:db8::1]", each with an optional ":port" where that is clear
 * (X-Forwarded-For has such). -EINVAL. */
int net_address_parse(struct view text, struct net_address *ret) MUST_CHECK;
/* The peer of a TCP socket; any other family is taken as this machine. */
void net_address_of(const struct sockaddr_storage *from, struct net_address *ret);
void net_address_text(const struct net_address *a, char out[NET_ADDRESS_TEXT]);
/* The network it is in, "192.0.2.0/24" or "2001:db8:1::/48": as much as may be known of a visitor.
 */
void net_network_text(const struct net_address *a, char out[NET_NETWORK_TEXT]);
bool net_same_network(const struct net_address *a, const struct net_address *b);
bool net_is_loopback(const struct net_address *a);
/* Whether a Host header, or the host of an Origin, is "localhost" or a loopback address, with or
 * without a port. Any other name may lead a browser here that its page has no business with. */
bool net_host_is_loopback(struct view host);

/* "127.0.0.0/8, ::1, 10.1.2.3"; an empty list is allowed. */
int net_list_parse(const char *text, struct net_list *ret, struct err *err) MUST_CHECK;
bool net_list_has(const struct net_list *list, const struct net_address *a);

/*
 * The client behind trusted proxies: walks X-Forwarded-For from its end, past addresses in the
 * list, to the first that is not. What cannot be read ends the walk at the last good address.
 */
void net_forwarded_client(const struct net_list *proxies, const struct net_address *peer,
			  struct view forwarded_for, struct net_address *ret);

#endif
