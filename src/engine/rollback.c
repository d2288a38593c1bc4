/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces that their storage empties at once: from ROLL_BACK to ROLLED_BACK. */
#include "engine/native.h"

#include <stdlib.h>

struct rollback {
	struct list in_rollbacks;
	uint64_t id;
	engine_rolled_back_fn *fn;
	void *userdata;
};

int engine_roll_back(struct engine *engine, uint32_t slot, engine_rolled_back_fn *fn,
		     void *userdata, struct err *err)
{
	struct spawner_request request;
	struct rollback *rollback;

	if (!engine->is_ready)
		return err_set(err, ERR_BUSY, "the spawner is not running");
	rollback = calloc(1, sizeof(*rollback));
	if (!rollback)
		return err_set(err, ERR_SYSTEM, "out of memory");
	rollback->id = engine->next_id++;
	rollback->fn = fn;
	rollback->userdata = userdata;
	list_add_tail(&engine->rollbacks, &rollback->in_rollbacks);
	spawner_request_init(&request, SPAWNER_ROLL_BACK, rollback->id);
	request.slot = slot;
	native_send(engine, &request);
	return 0;
}

static void finish(struct rollback *rollback, const struct err *err)
{
	engine_rolled_back_fn *fn = rollback->fn;
	void *userdata = rollback->userdata;

	list_remove(&rollback->in_rollbacks);
	free(rollback);
	fn(userdata, err);
}

bool rollback_on_event(struct engine *engine, const struct spawner_event *event)
{
	struct list *it, *tmp;
	struct err err;

	if (event->type != SPAWNER_ROLLED_BACK)
		return false;
	list_each(it, tmp, &engine->rollbacks)
	{
		struct rollback *rollback = container_of(it, struct rollback, in_rollbacks);

		if (rollback->id != event->id)
			continue;
		(void)err_set(&err, ERR_SYSTEM, "%s", event->text);
		err.sys_errno = (int)event->error;
		finish(rollback, event->error ? &err : NULL);
		return true;
	}
	return false;
}

void rollback_end_all(struct engine *engine, const char *why)
{
	struct err err;

	(void)err_set(&err, ERR_SYSTEM, "%s", why);
	while (!list_is_empty(&engine->rollbacks))
		finish(container_of(engine->rollbacks.next, struct rollback, in_rollbacks), &err);
}

void rollback_free_all(struct engine *engine)
{
	while (!list_is_empty(&engine->rollbacks)) {
		struct rollback *rollback =
			container_of(engine->rollbacks.next, struct rollback, in_rollbacks);

		list_remove(&rollback->in_rollbacks);
		free(rollback);
	}
}
