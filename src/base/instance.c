/* SPDX-License-Identifier: Apache-2.0 */
/* The tag of a server on its host. */
#include "base/instance.h"

#include <stdio.h>

void instance_tag(const char *state_dir, char ret[INSTANCE_LEN + 1])
{
	struct view v = view_str(state_dir);
	uint32_t hash;

	while (v.len > 1 && v.p[v.len - 1] == '/')
		v.len--;
	hash = view_hash(v); /* nobody gains by two that are the same */
	(void)snprintf(ret, INSTANCE_LEN + 1, "%04x", (hash >> 16 ^ hash) & 0xffffU);
}
