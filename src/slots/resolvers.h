/* SPDX-License-Identifier: Apache-2.0 */
/* Which DNS servers sandboxes ask. */
#ifndef BERTH_SLOTS_RESOLVERS_H
#define BERTH_SLOTS_RESOLVERS_H

#include "slots/ranges.h"

enum { RESOLVERS_MAX = 3 }; /* a C library looks at no more */

struct resolvers {
	struct address list[RESOLVERS_MAX];
	size_t n;
	/* They all listen on the host's loopback only: the one in list[0] is reached by way of the
	 * gateway's port 53. */
	bool loopback;
};

enum resolvers_families { RESOLVERS_V4_ONLY, RESOLVERS_ALL };

/*
 * `configured` is network.dns; where that is empty the host's own are taken, past a local stub of
 * systemd-resolved (which answers nobody but the host itself) to the servers behind it. None at all
 * is no error: n is 0.
 */
int resolvers_find(const char *configured, enum resolvers_families families, struct resolvers *ret,
		   struct err *err) MUST_CHECK;

/* Reads the nameserver lines of a resolv.conf. Exported for its tests. */
void resolvers_read(struct view text, enum resolvers_families families, struct resolvers *ret);

#endif
