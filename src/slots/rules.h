/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's nftables table for the slots, as text for libnftables. In the order in which a packet
 * from a sandbox meets them:
 *
 *   1. not from the slot's own address: dropped
 *   2. bandwidth
 *   3. the resolvers' port 53 and network.allow_ranges: accepted
 *   4. the refused ranges, DNS elsewhere, other sandboxes: rejected at once, so that nothing hangs
 *   5. mode = allow: only addresses of allowed hosts; else accepted
 *
 * What is accepted is counted: what 3 grants, TCP, and a quarter as much of everything else.
 * Packets to the host itself get no further than 3. To a sandbox only answers come.
 */
#ifndef BERTH_SLOTS_RULES_H
#define BERTH_SLOTS_RULES_H

#include "slots/network.h"

enum {
	RULES_MAX = 1024 * 1024,   /* text of a table with 5,000 slots */
	RULES_MAX_HOSTS = 512,     /* addresses of allowed hosts */
	RULES_HOST_SECONDS = 3600, /* an address stays this long after it was last seen */
};

struct rules {
	const struct network *net;
	uint32_t slots;
	const struct range *allowed; /* network.allow_ranges */
	size_t n_allowed;
	const struct address *hosts; /* mode = allow */
	size_t n_hosts;
	uint32_t connections;    /* per slot and kind, 0: any */
	uint32_t bandwidth_mbit; /* per slot and direction, 0: any */
};

/* Replaces the table in one transaction. As buf_add(). */
int rules_print(const struct rules *rules, struct buf *out) MUST_CHECK;
/* Only renews the addresses of allowed hosts. */
int rules_print_hosts(const struct rules *rules, struct buf *out) MUST_CHECK;

/* Runs the text; all of it or nothing. */
int rules_load(struct view text, struct err *err) MUST_CHECK;
/* False if the table is not there, or cannot be looked at. */
bool rules_are_loaded(const struct network *net) MUST_CHECK;
int rules_remove(const struct network *net, struct err *err) MUST_CHECK;

#endif
