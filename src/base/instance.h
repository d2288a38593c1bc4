/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several servers may live on one host, each with its own state directory. What each leaves on the
 * host (links, nftables table, cgroups) carries a short tag made from that directory's path.
 */
#ifndef BERTH_BASE_INSTANCE_H
#define BERTH_BASE_INSTANCE_H

#include "base/buf.h"

enum { INSTANCE_LEN = 4 }; /* hex digits; interface names have room for no more */

/* The tag of the server with this state directory; trailing slashes do not matter. */
void instance_tag(const char *state_dir, char ret[INSTANCE_LEN + 1]);

#endif
