/* SPDX-License-Identifier: Apache-2.0 */
/* The service: making it, its deferred event, its timers. */
#include "sandbox/internal.h"

#include "base/log.h"
#include "sys/loop.h"
#include "wire/spawner.h"

enum { TICK_S = 5, SAVE_S = 60 };

_Static_assert((int)POOL_MAX_SLOTS <= (int)SPAWNER_MAX_SLOTS, "the spawner takes every slot");

struct sandbox *sandboxes_find(const struct sandboxes *s, struct view key)
{
	return map_get(s->by_key, key);
}

void sandboxes_wake(struct sandboxes *s)
{
	loop_wake(s->defer);
}

static void arm_pool_timer(struct sandboxes *s)
{
	usec deadline = pool_next_deadline(s->pool);

	if (deadline == USEC_INFINITY) {
		(void)sd_event_source_set_enabled(s->pool_timer, SD_EVENT_OFF);
		return;
	}
	loop_wake_at(s->pool_timer, deadline);
}

static void drive_dirty(struct sandboxes *s)
{
	struct list todo;

	/* Driving may mark a place again: that is for the next turn. */
	list_init(&todo);
	while (!list_is_empty(&s->dirty)) {
		struct list *it = s->dirty.next;

		list_remove(it);
		list_add_tail(&todo, it);
	}
	while (!list_is_empty(&todo)) {
		struct place *p = container_of(todo.next, struct place, dirty);

		list_remove(&p->dirty);
		if (p->evict) {
			p->evict = false;
			sandbox_evict(p);
		}
		place_drive(p);
	}
}

static int on_defer(sd_event_source *source, void *userdata)
{
	struct sandboxes *s = userdata;

	(void)source;
	drive_dirty(s);
	waits_advance(s);
	waits_deliver(s);
	place_keep_warm(s);
	disk_watch(s);
	arm_pool_timer(s);
	return 0;
}

static int on_pool_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct sandboxes *s = userdata;

	(void)source;
	(void)now;
	pool_tick(s->pool, clock_monotonic(s->clock));
	sandboxes_wake(s);
	return 0;
}

static int on_tick(sd_event_source *source, uint64_t now, void *userdata)
{
	struct sandboxes *s = userdata;
	usec mono = clock_monotonic(s->clock);

	(void)now;
	sandboxes_cut_endless(s);
	place_recycle_idle(s);
	if (mono >= s->next_save) {
		persist_save_uses(s);
		s->next_save = mono + SAVE_S * USEC_PER_SEC;
	}
	if (s->config.warm)
		sandboxes_wake(s);
	(void)sd_event_source_set_time_relative(source, TICK_S * USEC_PER_SEC);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static bool has_limits(const struct sandboxes *s)
{
	struct engine_facts facts;

	engine_get_facts(s->engine, &facts);
	return facts.memory_limited && facts.cpu_limited && facts.pids_limited;
}

bool sandboxes_lack_limits(const struct sandboxes *s)
{
	return s->config.require_limits && !has_limits(s);
}

bool sandboxes_can_serve(const struct sandboxes *s)
{
	return engine_is_ready(s->engine) && !sandboxes_lack_limits(s);
}

bool sandboxes_have_room(const struct sandboxes *s)
{
	uint64_t bytes;

	return !s->is_unsaved && !disk_is_low(s, &bytes);
}

static void say_limits(const struct sandboxes *s)
{
	if (sandboxes_lack_limits(s))
		log_error(
			"memory, CPU or processes of sandboxes cannot be limited: nobody is served "
			"(berth doctor says why; sandbox.allow_unlimited = yes serves all the "
			"same)");
	else if (!has_limits(s))
		log_warning("memory, CPU or processes of sandboxes are NOT limited by control "
			    "groups: berth doctor says why");
}

static void on_engine_change(void *userdata)
{
	struct sandboxes *s = userdata;

	log_info("the engine is %s", engine_is_ready(s->engine) ? "ready" : "not connected");
	if (engine_is_ready(s->engine))
		say_limits(s);
	for (uint32_t i = 0; i < s->config.pool.slots; i++) {
		struct place *p = &s->places[i];

		if (p->owner || p->empty_state != EMPTY_NOT)
			place_touch(p);
	}
	sandboxes_wake(s);
}

static int add_sources(struct sandboxes *s, struct err *err)
{
	int r = loop_add_deferred(s->event, &s->defer, on_defer, s);

	if (r >= 0)
		r = loop_add_timer(s->event, &s->pool_timer, on_pool_timer, s);
	if (r >= 0)
		r = sd_event_add_time_relative(s->event, &s->tick, CLOCK_MONOTONIC,
					       TICK_S * USEC_PER_SEC, 0, on_tick, s);
	if (r >= 0)
		r = disk_start(s);
	return r < 0 ? err_sys(err, -r, "add the sandboxes to the event loop") : 0;
}

static int make(struct sandboxes *s, struct err *err)
{
	struct pool_hooks hooks = persist_hooks;

	s->by_key = map_new();
	s->places = calloc(s->config.pool.slots, sizeof(*s->places));
	s->boxes = calloc(s->config.pool.slots, sizeof(*s->boxes));
	s->growers = calloc(s->config.pool.slots, sizeof(*s->growers));
	if (!s->by_key || !s->places || !s->boxes || !s->growers)
		return err_sys(err, ENOMEM, "make the sandboxes");
	for (uint32_t i = 0; i < s->config.pool.slots; i++)
		place_init(&s->places[i], s, i);
	if (add_sources(s, err) < 0)
		return -1;
	hooks.userdata = s;
	if (pool_new(&s->config.pool, &hooks, &s->pool, err) < 0 || persist_restore(s, err) < 0)
		return -1;
	engine_on_change(s->engine, on_engine_change, s);
	/* Slots that were being emptied when the server ended go on being emptied. */
	pool_tick(s->pool, clock_monotonic(s->clock));
	sandboxes_wake(s);
	return 0;
}

int sandboxes_new(sd_event *event, const struct clock *clock, struct engine *engine,
		  struct store *store, const struct sandboxes_config *config,
		  struct sandboxes **ret, struct err *err)
{
	struct sandboxes *s = calloc(1, sizeof(*s));

	if (!s)
		return err_sys(err, ENOMEM, "make the sandboxes");
	s->event = event;
	s->clock = clock;
	s->engine = engine;
	s->store = store;
	s->config = *config;
	list_init(&s->waits);
	list_init(&s->answers);
	list_init(&s->dirty);
	if (make(s, err) < 0) {
		sandboxes_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void sandboxes_free(struct sandboxes *s)
{
	struct sandbox *sandbox;
	size_t at = 0;

	if (!s)
		return;
	engine_on_change(s->engine, NULL, NULL);
	waits_free(s);
	if (s->pool && s->by_key)
		persist_save_uses(s);
	while (s->by_key && (sandbox = map_next(s->by_key, &at, NULL)))
		sandbox_free(sandbox);
	map_free(s->by_key);
	pool_free(s->pool);
	free(s->places);
	free(s->boxes);
	free(s->growers);
	sd_event_source_disable_unref(s->defer);
	sd_event_source_disable_unref(s->pool_timer);
	sd_event_source_disable_unref(s->tick);
	sd_event_source_disable_unref(s->disk_timer);
	free(s);
}

/* ---- telling ---- */

struct pool *sandboxes_pool(struct sandboxes *s)
{
	return s->pool;
}

uint32_t sandboxes_running(const struct sandboxes *s)
{
	return s->running;
}

uint64_t sandboxes_rolled_back(const struct sandboxes *s)
{
	return s->rolled_back;
}

uint64_t sandboxes_boxes_started(const struct sandboxes *s)
{
	return s->boxes_started;
}

uint64_t sandboxes_boxes_failed(const struct sandboxes *s)
{
	return s->boxes_failed;
}

void sandboxes_engine_facts(const struct sandboxes *s, struct engine_facts *ret)
{
	engine_get_facts(s->engine, ret);
}

bool sandboxes_queue_words(struct sandboxes *s, const char *principal, char *out, size_t size)
{
	struct pool_answer answer;

	if (!pool_position(s->pool, principal, clock_monotonic(s->clock), &answer))
		return false;
	queue_words(&answer, out, size);
	return true;
}

static struct sandbox_view view_of_sandbox(const struct sandbox *sandbox, usec now)
{
	const struct place *p = sandbox->place;
	bool has_box = p && p->box_state == BOX_RUNNING;

	return (struct sandbox_view){
		.sandbox = sandbox,
		.key = sandbox->key,
		.principal = sandbox->principal,
		.label = sandbox->label,
		.slot = p ? p->slot : 0,
		.has_box = has_box,
		.holds = sandbox->holds,
		.box_age = has_box ? now - p->box_started : 0,
		.idle_for = p && sandbox->holds == 0 ? now - p->box_used : 0,
		.created = sandbox->created,
		.last_used = sandbox->last_used,
	};
}

bool sandboxes_get(struct sandboxes *s, struct view key, struct sandbox_view *ret)
{
	const struct sandbox *sandbox = sandboxes_find(s, key);

	if (!sandbox)
		return false;
	*ret = view_of_sandbox(sandbox, clock_monotonic(s->clock));
	return true;
}

void sandboxes_each(struct sandboxes *s, const char *principal,
		    void (*fn)(void *userdata, const struct sandbox_view *view), void *userdata)
{
	usec now = clock_monotonic(s->clock);
	const struct sandbox *sandbox;
	size_t at = 0;

	while ((sandbox = map_next(s->by_key, &at, NULL))) {
		struct sandbox_view view;

		if (principal && strcmp(principal, sandbox->principal) != 0)
			continue;
		view = view_of_sandbox(sandbox, now);
		fn(userdata, &view);
	}
}

bool sandboxes_is_unclaimed(const struct sandboxes *s, const char *principal)
{
	const struct sandbox *sandbox;
	struct pool_holder holder;
	struct err err;
	size_t at = 0;

	while ((sandbox = map_next(s->by_key, &at, NULL)))
		if (!strcmp(principal, sandbox->principal) &&
		    pool_find(s->pool, sandbox->key, &holder, &err) == 0 &&
		    holder.hold == POOL_HOLD_UNCLAIMED)
			return true;
	return false;
}

/* ---- maintenance ---- */

void sandboxes_drain(struct sandboxes *s)
{
	pool_drain(s->pool);
}

void sandboxes_resume(struct sandboxes *s)
{
	pool_resume(s->pool, clock_monotonic(s->clock));
	s->queue_changed = true;
	sandboxes_wake(s);
}
