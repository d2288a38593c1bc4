/* SPDX-License-Identifier: Apache-2.0 */
/* The tag of a server on its host. */
#include "base/instance.h"

#include <stdio.h>

void instance_tag(const char *state_dir, char ret[INSTANCE_LEN + 1])
{
	struct view v = view_str(state_dir);
	uint32_t hash =
		2166136261U; /* FNV-1a: it only has to spread, nobody gains by a collision */

	while (v.len > 1 && v.p[v.len - 1] == '/')
		v.len--;
	for (size_t i = 0; i < v.len; i++)
		hash = (hash ^ (unsigned char)v.p[i]) * 16777619U;
	(void)snprintf(ret, INSTANCE_LEN + 1, "%04x", (hash >> 16 ^ hash) & 0xffffU);
}
