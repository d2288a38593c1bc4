/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the slots: per slot a pair of linked interfaces, "bv<tag>-<n>" on the host and
 * eth0 in the slot's network namespace, routed (no bridge: slots do not see each other's frames),
 * and one nftables table on the host that decides where packets may go (slots/rules.h).
 *
 * Every slot sees the same gateway address; its own is the n-th after that. The addresses are a
 * piece of network.ipv4_block that no other server on this host uses.
 */
#ifndef BERTH_SLOTS_NETWORK_H
#define BERTH_SLOTS_NETWORK_H

#include "slots/plan.h"
#include "slots/ranges.h"
#include "slots/resolvers.h"

enum { NETWORK_NAME = 16 }; /* IFNAMSIZ */

struct network {
	enum conf_network mode;
	char link_prefix[NETWORK_NAME]; /* "bv1a2b-" */
	char table[NETWORK_NAME];       /* "berth_1a2b" */
	struct range piece4;            /* of ipv4_block; its first address is the gateway */
	bool has_v6;
	struct range piece6; /* of ipv6_block */
	uint32_t mtu;
	struct resolvers resolvers;
};

struct network_facts {
	bool connections_bounded, bandwidth_bounded;
};

/* Works out addresses and names; touches nothing. */
int network_plan(const struct slots_plan *plan, struct network *ret, struct err *err) MUST_CHECK;
/* Only link_prefix and table, for the server with this tag (base/instance.h). */
void network_set_names(struct network *net, const char *instance);
struct address network_gateway(const struct network *net, int family);
struct address network_slot(const struct network *net, int family, uint32_t n);
void network_link_name(const struct network *net, uint32_t n, char ret[NETWORK_NAME]);

/* `namespaces` is from namespaces_up(). With mode = none the slots keep loopback only. */
int network_up(const struct slots_plan *plan, int namespaces, struct network_facts *ret,
	       struct err *err) MUST_CHECK;
int network_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

/*
 * While sandboxes run: puts back what others took out of the host's rules, takes other resolvers
 * that the host has now, and with mode = allow looks the allowed hosts up again. ERR_INVALID if
 * that takes other links. Does nothing where network_up() has not been.
 */
int network_refresh(const struct slots_plan *plan, struct err *err) MUST_CHECK;

#endif
