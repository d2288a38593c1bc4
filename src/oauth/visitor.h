/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A visitor is a network: IPv4 /24, IPv6 /48. That is all there is to tell anonymous people apart,
 * and little enough not to tell one person from the neighbours.
 */
#ifndef BERTH_OAUTH_VISITOR_H
#define BERTH_OAUTH_VISITOR_H

#include "base/buf.h"

enum {
	VISITOR_KEY_BYTES = 32,
	VISITOR_ID_BYTES = 16,
};

/* A keyed hash of the network: with a key that is never stored it tells nothing afterwards. */
void visitor_id(const char *network, const uint8_t key[VISITOR_KEY_BYTES],
		uint8_t ret[VISITOR_ID_BYTES]);

#endif
