/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, hashed. */
#include "oauth/visitor.h"

#include <sodium.h>

void visitor_id(const char *network, const uint8_t key[VISITOR_KEY_BYTES],
		uint8_t ret[VISITOR_ID_BYTES])
{
	(void)crypto_generichash(ret, VISITOR_ID_BYTES, (const unsigned char *)network,
				 strlen(network), key, VISITOR_KEY_BYTES);
}
