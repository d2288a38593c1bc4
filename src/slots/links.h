/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of interfaces of one slot. */
#ifndef BERTH_SLOTS_LINKS_H
#define BERTH_SLOTS_LINKS_H

#include "slots/network.h"

/* What making many links in turn shares. */
struct links {
	const struct network *net; /* borrowed */
	int sock;                  /* rtnetlink, of the host's network namespace */
	int home;                  /* the host's network namespace */
};

int links_init(struct links *ret, const struct network *net, struct err *err) MUST_CHECK;
void links_done(struct links *links);

/*
 * Makes slot n's link unless it is there. The caller has one thread: it visits the slot's network
 * namespace for a moment.
 */
int links_make(struct links *links, int namespaces, uint32_t n, struct err *err) MUST_CHECK;

#endif
