/* SPDX-License-Identifier: Apache-2.0 */
/* Running containers: from the spawner's START to its ENDED. */
#include "engine/native.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* From the end of init's socket to the spawner's word that it has died. */
#define DEATH_DEADLINE (2 * USEC_PER_SEC)

struct usage_call {
	struct list in_usages;
	uint64_t tag;
	engine_usage_fn *fn;
	void *userdata;
};

static void usage_finish(struct usage_call *call, const struct engine_usage *usage,
			 const struct err *err)
{
	list_remove(&call->in_usages);
	if (call->fn)
		call->fn(call->userdata, usage, err);
	free(call);
}

static void lose_usages(struct engine_box *box, bool is_silent)
{
	struct err err;

	(void)err_set(&err, ERR_GONE, "the sandbox has ended");
	while (!list_is_empty(&box->usages)) {
		struct usage_call *call =
			container_of(box->usages.next, struct usage_call, in_usages);

		if (is_silent)
			call->fn = NULL;
		usage_finish(call, NULL, &err);
	}
}

static void box_free(struct engine_box *box)
{
	cmd_free_all(box);
	lose_usages(box, true);
	list_remove(&box->in_boxes);
	chan_free(box->init);
	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++)
		if (box->counters[i] >= 0)
			(void)close(box->counters[i]);
	(void)sd_event_source_disable_unref(box->deadline);
	free(box);
}

void box_fail(struct engine_box *box, const char *why)
{
	struct spawner_request request;

	if (box->state == BOX_STOPPING)
		return;
	(void)snprintf(box->why, sizeof(box->why), "%s", why);
	box->state = BOX_STOPPING;
	spawner_request_init(&request, SPAWNER_STOP, box->id);
	native_send(box->engine, &request);
}

/* Nothing of it is left. */
static void box_finish(struct engine_box *box, const char *why)
{
	struct engine_box gone;
	char reason[256]; /* `why` may be the box's own */
	struct err err;

	(void)snprintf(reason, sizeof(reason), "%s", why);
	box->state = BOX_STOPPING; /* callbacks cannot start anything in it any more */
	cmd_lose_all(box);
	lose_usages(box, false);
	gone = *box;
	box_free(box);
	if (gone.stopped) {
		gone.stopped(gone.stopped_userdata);
	} else if (!gone.was_running) {
		if (gone.is_late)
			(void)err_set(&err, ERR_TIMEOUT,
				      "the container did not start in time, for the server is very "
				      "busy; files are kept, try again");
		else
			(void)err_set(&err, ERR_SYSTEM, "start the container: %s", reason);
		err.sys_errno = gone.start_error;
		gone.started(gone.started_userdata, NULL, &err);
	} else if (gone.ended) {
		gone.ended(gone.ended_userdata, reason);
	}
}

static int on_deadline(sd_event_source *source, uint64_t time, void *userdata)
{
	struct engine_box *box = userdata;

	(void)source;
	(void)time;
	box->is_late = !box->was_running;
	box_fail(box, box->is_late ? "it did not start in time" : "its first process hung up");
	return 0;
}

static int set_deadline(struct engine_box *box, usec after)
{
	box->deadline = sd_event_source_disable_unref(box->deadline);
	return sd_event_add_time_relative(box->engine->event, &box->deadline, CLOCK_MONOTONIC,
					  after, 0, on_deadline, box);
}

static void on_init_message(void *userdata, const char *p, size_t len, const int *fds, size_t n_fds)
{
	struct engine_box *box = userdata;
	struct init_event event;

	(void)fds; /* a message with descriptors never gets here */
	if (init_event_decode(p, len, n_fds, &event) < 0) {
		box_fail(box, "its first process broke the protocol");
		return;
	}
	if (event.type == INIT_READY && box->state == BOX_BOOTING) {
		box->state = BOX_RUNNING;
		box->was_running = true;
		box->deadline = sd_event_source_disable_unref(box->deadline);
		box->started(box->started_userdata, box, NULL);
		return;
	}
	if (box->state == BOX_STOPPING)
		return;
	if (event.type == INIT_READY || !cmd_on_event(box, &event))
		box_fail(box, "its first process broke the protocol");
}

static void on_init_closed(void *userdata, enum chan_end end)
{
	struct engine_box *box = userdata;

	if (box->state == BOX_STOPPING)
		return;
	/* One that hung up has died, most likely, and the spawner is about to say of what. */
	if (end == CHAN_BROKE_RULES)
		box_fail(box, "its first process broke the protocol");
	else if (set_deadline(box, DEATH_DEADLINE) < 0)
		box_fail(box, "its first process hung up");
}

static const struct chan_handlers init_handlers = {
	.message = on_init_message,
	.closed = on_init_closed,
	.max_message = sizeof(struct init_event),
	.max_fds = 0,
	.max_queue = 2 * INIT_MAX_CMDS,
};

static struct engine_box *box_new(struct engine *engine, const struct engine_box_spec *spec,
				  struct err *err)
{
	struct engine_box *box = calloc(1, sizeof(*box));
	int r;

	if (!box) {
		(void)err_set(err, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	box->engine = engine;
	box->id = engine->next_id++;
	box->slot = spec->slot;
	list_init(&box->cmds);
	list_init(&box->usages);
	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++)
		box->counters[i] = -1;
	list_add_tail(&engine->boxes, &box->in_boxes);
	r = set_deadline(box, engine->start_patience);
	if (r < 0) {
		(void)err_sys(err, -r, "set a timer");
		box_free(box);
		return NULL;
	}
	return box;
}

int engine_start(struct engine *engine, const struct engine_box_spec *spec, engine_started_fn *fn,
		 void *userdata, struct err *err)
{
	struct spawner_request request, checked;
	struct engine_box *box;

	if (!engine->is_ready)
		return err_set(err, ERR_BUSY, "the spawner is not running");
	spawner_request_init(&request, SPAWNER_START, engine->next_id);
	request.slot = spec->slot;
	request.flags = (spec->layer == ENGINE_LAYER_FRESH ? SPAWNER_FRESH_LAYER : 0U) |
			(spec->no_new_privs ? SPAWNER_NO_NEW_PRIVS : 0U) |
			(spec->network ? SPAWNER_NETWORK : 0U);
	request.limits = (struct spawner_limits){ .memory_bytes = spec->limits.memory_bytes,
						  .shm_bytes = spec->limits.shm_bytes,
						  .tmp_bytes = spec->limits.tmp_bytes,
						  .disk_bytes = spec->limits.disk_bytes,
						  .disk_operations = spec->limits.disk_operations,
						  .cpu_permille = spec->limits.cpu_permille,
						  .pids = spec->limits.pids };
	/* The spawner would end the connection, and all boxes, over a message out of range. */
	if (spawner_request_decode(&request, sizeof(request), &checked) < 0)
		return err_set(err, ERR_INVALID, "the limits are out of range");
	box = box_new(engine, spec, err);
	if (!box)
		return -1;
	box->started = fn;
	box->started_userdata = userdata;
	native_send(engine, &request);
	return 0;
}

void engine_box_on_end(struct engine_box *box, void (*fn)(void *userdata, const char *why),
		       void *userdata)
{
	box->ended = fn;
	box->ended_userdata = userdata;
}

void engine_box_stop(struct engine_box *box, void (*fn)(void *userdata), void *userdata)
{
	box->stopped = fn;
	box->stopped_userdata = userdata;
	box_fail(box, "stopped");
}

void engine_box_usage(struct engine_box *box, engine_usage_fn *fn, void *userdata)
{
	struct usage_call *call = calloc(1, sizeof(*call));
	struct spawner_request request;

	if (!call) {
		log_error("out of memory: a usage call is lost");
		abort(); /* the caller waits for exactly one answer */
	}
	call->tag = ++box->next_tag;
	call->fn = fn;
	call->userdata = userdata;
	list_add_tail(&box->usages, &call->in_usages);
	spawner_request_init(&request, SPAWNER_USAGE, box->id);
	request.tag = call->tag;
	native_send(box->engine, &request);
}

static struct engine_box *find_box(struct engine *engine, uint64_t id)
{
	struct list *it, *tmp;

	list_each(it, tmp, &engine->boxes)
	{
		struct engine_box *box = container_of(it, struct engine_box, in_boxes);

		if (box->id == id)
			return box;
	}
	return NULL;
}

/* They come in order, those that the host does not have left out. */
static void take_counters(struct engine_box *box, uint32_t mask, int *fds)
{
	for (size_t i = 0, next = 0; i < SPAWNER_NUM_COUNTERS; i++)
		if (mask >> i & 1) {
			box->counters[i] = take_fd(fds[next]);
			next++;
		}
}

static void on_started(struct engine_box *box, const struct spawner_event *event, int *fds)
{
	struct err err;

	if (event->error) {
		box->start_error = (int)event->error;
		box_finish(box, event->text);
		return;
	}
	if (box->init) /* twice */
		return;
	take_counters(box, event->counters, fds + 1);
	if (chan_new(box->engine->event, take_fd(fds[0]), &init_handlers, box, &box->engine->buffer,
		     &box->init, &err) < 0)
		box_fail(box, "its connection cannot be watched");
	else if (box->state == BOX_STARTING)
		box->state = BOX_BOOTING;
}

static void on_counters(struct engine_box *box, const struct spawner_event *event)
{
	const struct spawner_usage *u = &event->usage;
	const struct engine_usage usage = { .memory_bytes = u->memory_bytes,
					    .memory_peak_bytes = u->memory_peak_bytes,
					    .oom_kills = u->oom_kills,
					    .pids = u->pids,
					    .pids_refused = u->pids_refused,
					    .cpu_usec = u->cpu_usec,
					    .throttled_usec = u->throttled_usec };
	struct list *it, *tmp;
	struct err err;

	list_each(it, tmp, &box->usages)
	{
		struct usage_call *call = container_of(it, struct usage_call, in_usages);

		if (call->tag != event->tag)
			continue;
		if (event->error)
			(void)err_set(&err, ERR_GONE, "the sandbox has ended");
		usage_finish(call, event->error ? NULL : &usage, event->error ? &err : NULL);
		return;
	}
}

bool box_on_event(struct engine *engine, const struct spawner_event *event, int *fds)
{
	struct engine_box *box = find_box(engine, event->id);

	if (!box)
		return false;
	if (event->type == SPAWNER_STARTED)
		on_started(box, event, fds);
	else if (event->type == SPAWNER_COUNTERS)
		on_counters(box, event);
	else
		box_finish(box, box->why[0] ? box->why : event->text);
	return true;
}

void box_end_all(struct engine *engine, const char *why)
{
	while (!list_is_empty(&engine->boxes))
		box_finish(container_of(engine->boxes.next, struct engine_box, in_boxes), why);
}

void box_free_all(struct engine *engine)
{
	while (!list_is_empty(&engine->boxes))
		box_free(container_of(engine->boxes.next, struct engine_box, in_boxes));
}
