/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links, addresses and routes by rtnetlink: the few requests that a slot's network needs. A socket
 * belongs to the network namespace it was opened in. All return 0 or -errno.
 */
#ifndef BERTH_SLOTS_RTNL_H
#define BERTH_SLOTS_RTNL_H

#include "slots/ranges.h"

/* Opens a socket in the present network namespace: a descriptor, or -errno. */
int rtnl_open(void) MUST_CHECK;

/* A pair of linked interfaces: `name` here, `peer` in the network namespace `peer_ns`. */
int rtnl_add_veth(int sock, const char *name, const char *peer, int peer_ns,
		  uint32_t mtu) MUST_CHECK;
int rtnl_set_up(int sock, uint32_t index) MUST_CHECK;
int rtnl_delete(int sock, uint32_t index) MUST_CHECK;
/* One address without a network (/32, /128), and without duplicate address detection. */
int rtnl_add_address(int sock, uint32_t index, const struct address *a) MUST_CHECK;
/*
 * A route to one address (`to`), or the default route (NULL), by interface `index`; `via` may be
 * NULL: on the link. An equal route is replaced.
 */
int rtnl_add_route(int sock, uint32_t index, const struct address *to,
		   const struct address *via) MUST_CHECK;

#endif
