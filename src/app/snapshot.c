/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the server in one word. */
#include "app/snapshot.h"

enum snapshot_status snapshot_status(const struct snapshot *s)
{
	if (!s->can_serve || s->pool.set_aside == s->pool.slots)
		return SNAPSHOT_UNAVAILABLE;
	if (s->pool.draining)
		return SNAPSHOT_DRAINING;
	if (!s->has_room)
		return SNAPSHOT_NO_ROOM;
	if (s->pool.free == 0 || s->pool.queue_length > 0)
		return SNAPSHOT_FULL;
	return SNAPSHOT_OK;
}

const char *snapshot_status_name(enum snapshot_status status)
{
	static const char *const names[] = {
		[SNAPSHOT_OK] = "ok",
		[SNAPSHOT_FULL] = "full",
		[SNAPSHOT_DRAINING] = "draining",
		[SNAPSHOT_NO_ROOM] = "no room",
		[SNAPSHOT_UNAVAILABLE] = "unavailable",
	};
	_Static_assert(ARRAY_SIZE(names) == SNAPSHOT_NUM_STATUSES, "a status has no name");

	return names[status];
}
