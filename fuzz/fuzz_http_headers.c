/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Range, If-None-Match and X-Forwarded-For: one input, taken as each. */
#include "http/net.h"
#include "http/range.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t sizes[] = { 0, 1, 1000, UINT64_MAX };
	struct view in = view_of(data, size);
	struct net_list proxies;
	struct net_address peer, client;
	char network[NET_NETWORK_TEXT];
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t first, last;

		if (range_parse(in, sizes[i], &first, &last) == RANGE_PART)
			assert(first <= last && last < sizes[i]);
	}
	(void)etag_list_has(in, VIEW("\"x\""));
	(void)net_address_parse(in, &client);
	if (net_list_parse("0.0.0.0/0, ::/1", &proxies, &err) < 0 ||
	    net_address_parse(VIEW("10.0.0.1"), &peer) < 0)
		return 0;
	net_forwarded_client(&proxies, &peer, in, &client);
	net_network_text(&client, network);
	assert(strchr(network, '/'));
	return 0;
}
