/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mode = allow: the addresses of the hosts that sandboxes may reach. Names are looked up on the
 * host, at start and again by `berth-slots --refresh`; an address stays allowed for an hour
 * after it was last seen. What is allowed are addresses: another name on the same server is
 * reachable too, and a service that hands out other addresses to everybody who asks is not
 * reliably so.
 */
#ifndef BERTH_SLOTS_ALLOW_H
#define BERTH_SLOTS_ALLOW_H

#include "slots/ranges.h"

/*
 * Looks up a list with commas between; at most `max` addresses, each once, none of them in a
 * refused range. A name that has none is left out, and logged. Returns how many.
 */
size_t allow_resolve(const char *hosts, struct address *ret, size_t max);

/* One name's addresses, in order, at most `max`. */
size_t allow_look_up(const char *host, struct address *ret, size_t max);

#endif
