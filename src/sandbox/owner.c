/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes: their places, holds, data, resets. */
#include "sandbox/internal.h"

#include "base/log.h"

#include <assert.h>
#include <stdio.h>

/* ---- life ---- */

static void reset_done(struct sandbox *sandbox, const struct err *err)
{
	sandbox_reset_fn *fn = take_ptr(sandbox->reset_fn);

	if (fn)
		fn(sandbox->reset_userdata, err);
}

static void release_state(struct sandbox *sandbox, enum sandbox_state_of of)
{
	struct list *it, *tmp;

	list_each(it, tmp, &sandbox->data)
	{
		struct sandbox_data *d = container_of(it, struct sandbox_data, item);

		if (d->of != of)
			continue;
		list_remove(it);
		d->release(d->state);
		free(d);
	}
}

void sandbox_free(struct sandbox *sandbox)
{
	release_state(sandbox, SANDBOX_STATE_OF_FILES);
	release_state(sandbox, SANDBOX_STATE_OF_OWNER);
	free(sandbox);
}

/* Nobody's any more, it stays for those who hold it or look at it. */
static void free_unless_needed(struct sandbox *sandbox)
{
	if (!sandbox->place && sandbox->holds + sandbox->looks == 0)
		sandbox_free(sandbox);
}

static struct sandbox *sandbox_new(struct sandboxes *s, const char *key, const char *principal)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox)
		return NULL;
	sandbox->s = s;
	(void)snprintf(sandbox->key, sizeof(sandbox->key), "%s", key);
	(void)snprintf(sandbox->principal, sizeof(sandbox->principal), "%s", principal);
	sandbox_key_label(key, sandbox->label);
	sandbox->created = clock_wall_seconds(s->clock);
	sandbox->last_used = sandbox->created;
	list_init(&sandbox->data);
	list_init(&sandbox->transfers);
	if (map_put(s->by_key, view_str(key), sandbox, NULL) < 0) {
		free(sandbox);
		return NULL;
	}
	return sandbox;
}

/* A container that waited in the slot becomes its owner's. */
static void bind(struct sandbox *sandbox, struct place *p)
{
	sandbox->place = p;
	p->owner = sandbox;
	p->box_used = clock_monotonic(p->s->clock);
	if (p->box_state != BOX_NONE)
		sandbox->box_unseen = true;
}

int sandbox_adopt(struct sandboxes *s, const char *key, const char *principal, uint32_t slot,
		  struct sandbox **ret, struct err *err)
{
	struct place *p = &s->places[slot];
	struct sandbox *sandbox = map_get(s->by_key, view_str(key));

	if (sandbox && strcmp(sandbox->principal, principal) != 0)
		return err_set(err, ERR_DENIED, "sandbox %s belongs to somebody else", key);
	if (!sandbox)
		sandbox = sandbox_new(s, key, principal);
	if (!sandbox)
		return err_sys(err, ENOMEM, "make a sandbox");
	if (sandbox->place != p) {
		assert(!p->owner && !sandbox->place);
		bind(sandbox, p);
	}
	*ret = sandbox;
	return 0;
}

void sandbox_evict(struct place *p)
{
	struct sandbox *sandbox = take_ptr(p->owner);
	struct err err;

	p->prepare = false;
	if (!sandbox)
		return;
	sandbox_cut_transfers(sandbox);
	/* Waits for the place look at it and are refused. */
	p->want_box = 0;
	p->want_files = 0;
	sandbox->place = NULL;
	(void)map_remove(p->s->by_key, view_str(sandbox->key));
	sandbox->holds++; /* outlives whoever is told now */
	(void)err_set(&err, ERR_GONE,
		      "the sandbox was emptied meanwhile; call again for a new one");
	reset_done(sandbox, &err);
	sandbox->holds--;
	free_unless_needed(sandbox);
}

/* ---- holds ---- */

static void begin_use(struct sandbox *sandbox)
{
	struct sandboxes *s = sandbox->s;
	struct err err;

	sandbox->has_use = pool_begin_use(s->pool, sandbox->key, clock_monotonic(s->clock),
					  &sandbox->use, &err) == 0;
}

void sandbox_hold(struct sandbox *sandbox)
{
	if (sandbox->holds++ == 0)
		begin_use(sandbox);
}

void sandbox_release(struct sandbox *sandbox)
{
	struct sandboxes *s = sandbox->s;
	usec now = clock_monotonic(s->clock);

	assert(sandbox->holds > 0);
	sandbox->last_used = clock_wall_seconds(s->clock);
	if (sandbox->place) {
		sandbox->place->box_used = now;
		disk_touch(sandbox->place);
	}
	if (--sandbox->holds > 0)
		return;
	if (sandbox->has_use)
		pool_end_use(s->pool, sandbox->use, now);
	sandbox->has_use = false;
	free_unless_needed(sandbox);
	sandboxes_wake(s);
}

void sandbox_look_begin(struct sandbox *sandbox)
{
	sandbox->looks++;
}

void sandbox_look_end(struct sandbox *sandbox)
{
	assert(sandbox->looks > 0);
	sandbox->looks--;
	free_unless_needed(sandbox);
}

/* ---- asking ---- */

uint64_t sandbox_created(const struct sandbox *sandbox)
{
	return sandbox->created;
}

const char *sandbox_key(const struct sandbox *sandbox)
{
	return sandbox->key;
}

const char *sandbox_principal(const struct sandbox *sandbox)
{
	return sandbox->principal;
}

uint32_t sandbox_slot(const struct sandbox *sandbox)
{
	assert(sandbox->place);
	return sandbox->place->slot;
}

struct engine_box *sandbox_box(const struct sandbox *sandbox)
{
	return sandbox->place && !sandbox->place->stop_wanted ? sandbox->place->box : NULL;
}

const char *sandbox_why_ended(const struct sandbox *sandbox)
{
	return sandbox->lost_why;
}

struct engine_files *sandbox_files(const struct sandbox *sandbox)
{
	return sandbox->place ? sandbox->place->files : NULL;
}

/* ---- data of tools ---- */

static struct sandbox_data *find_data(const struct sandbox *sandbox, const char *kind)
{
	struct list *it, *tmp;

	list_each(it, tmp, &sandbox->data)
	{
		struct sandbox_data *d = container_of(it, struct sandbox_data, item);

		if (d->kind == kind)
			return d;
	}
	return NULL;
}

void *sandbox_state(const struct sandbox *sandbox, const char *kind)
{
	const struct sandbox_data *d = find_data(sandbox, kind);

	return d ? d->state : NULL;
}

int sandbox_set_state(struct sandbox *sandbox, const char *kind, enum sandbox_state_of of,
		      void *state, void (*release)(void *state))
{
	struct sandbox_data *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	assert(!find_data(sandbox, kind));
	*d = (struct sandbox_data){
		.kind = kind,
		.of = of,
		.state = state,
		.release = release,
	};
	list_add_tail(&sandbox->data, &d->item);
	return 0;
}

/* ---- resets ---- */

bool sandbox_is_resetting(const struct sandbox *sandbox)
{
	struct pool_holder holder;
	struct err err;

	return pool_find(sandbox->s->pool, sandbox->key, &holder, &err) == 0 &&
	       holder.hold == POOL_HOLD_RESETTING;
}

void sandbox_box_ended(struct sandbox *sandbox, const char *why)
{
	(void)snprintf(sandbox->lost_why, sizeof(sandbox->lost_why), "%s", why);
}

void sandbox_has_no_box(struct sandbox *sandbox)
{
	if (sandbox->reset_what == SANDBOX_RESET_BOX)
		reset_done(sandbox, NULL);
}

static int reset_everything(struct sandbox *sandbox, struct err *err)
{
	struct sandboxes *s = sandbox->s;

	if (pool_reset(s->pool, sandbox->key, clock_monotonic(s->clock), err) < 0) {
		sandbox->reset_fn = NULL;
		return -1;
	}
	sandboxes_wake(s);
	return 0;
}

int sandbox_reset(struct sandbox *sandbox, enum sandbox_reset what, sandbox_reset_fn *fn,
		  void *userdata, struct err *err)
{
	if (!sandbox->place)
		return err_set(err, ERR_GONE, "the sandbox was emptied meanwhile");
	if (sandbox->reset_fn)
		return err_set(err, ERR_BUSY, "the sandbox is being reset already");
	sandbox->reset_fn = fn;
	sandbox->reset_userdata = userdata;
	sandbox->reset_what = what;
	if (what == SANDBOX_RESET_EVERYTHING)
		return reset_everything(sandbox, err);
	/* Without a container the deferred event ends the reset at once. */
	sandbox->place->stop_wanted = true;
	place_touch(sandbox->place);
	return 0;
}

/* After emptying for a reset: the key has the same slot, another one, or a place in the queue. */
static void end_reset(struct sandbox *sandbox, struct place *p)
{
	struct sandboxes *s = sandbox->s;
	struct pool_holder holder;
	struct err err;

	release_state(sandbox, SANDBOX_STATE_OF_FILES);
	if (pool_find(s->pool, sandbox->key, &holder, &err) < 0) {
		(void)err_set(
			&err, ERR_BUSY,
			"the sandbox could not be emptied and was set aside for the operator; "
			"call again for another one");
		reset_done(sandbox, &err);
		sandbox_evict(p);
		return;
	}
	if (holder.hold == POOL_HOLD_RESETTING) {
		(void)err_set(&err, ERR_BUSY,
			      "the server could not save that the sandbox was emptied and empties "
			      "it again soon; call again in a few seconds");
		reset_done(sandbox, &err);
		return;
	}
	if (holder.slot != p->slot) {
		p->owner = NULL;
		bind(sandbox, &s->places[holder.slot]);
		sandbox->place->want_box += p->want_box;
		sandbox->place->want_files += p->want_files;
		p->want_box = p->want_files = 0;
	}
	sandbox->had_box = false;
	sandbox->is_unseen = true;
	/* The pool forgot the uses of what was emptied. */
	if (sandbox->holds > 0)
		begin_use(sandbox);
	reset_done(sandbox, NULL);
}

void sandbox_place_emptied(struct place *p, enum pool_emptied result)
{
	struct sandboxes *s = p->s;
	struct sandbox *sandbox = p->owner;

	pool_slot_emptied(s->pool, p->slot, result, clock_monotonic(s->clock));
	/* Whatever else empties a slot takes it from its owner first. */
	if (sandbox)
		end_reset(sandbox, p);
	s->queue_changed = true;
	sandboxes_wake(s);
}

/* ---- the operator ---- */

static void on_operator_reset(void *userdata, const struct err *err)
{
	(void)userdata;
	if (err)
		log_warning("recycle: %s", err->msg);
}

int sandboxes_recycle(struct sandboxes *s, struct view key, struct err *err)
{
	struct sandbox *sandbox = sandboxes_find(s, key);

	if (!sandbox)
		return err_set(err, ERR_NOT_FOUND, "there is no sandbox %.*s", VIEW_ARG(key));
	return sandbox_reset(sandbox, SANDBOX_RESET_BOX, on_operator_reset, NULL, err);
}

int sandboxes_empty(struct sandboxes *s, struct view key, struct err *err)
{
	struct sandbox *sandbox = sandboxes_find(s, key);

	if (!sandbox)
		return err_set(err, ERR_NOT_FOUND, "there is no sandbox %.*s", VIEW_ARG(key));
	if (sandbox->reset_fn || sandbox_is_resetting(sandbox))
		return err_set(err, ERR_BUSY, "%s is being reset; try again", sandbox->key);
	if (pool_release(s->pool, sandbox->key, clock_monotonic(s->clock), err) < 0)
		return -1;
	sandboxes_wake(s);
	return 0;
}

static void end_sandbox(struct sandboxes *s, const struct sandbox *sandbox)
{
	struct view key = view_str(sandbox->key);
	struct err err;
	int r;

	if (s->config.pool.empty_when_idle)
		r = sandboxes_empty(s, key, &err);
	else
		r = sandboxes_recycle(s, key, &err);
	/* Then it ends when it is idle. */
	if (r < 0)
		log_warning("end the sandbox %s: %s", sandbox->key, err.msg);
}

void sandboxes_end_principal(struct sandboxes *s, const char *principal)
{
	const struct sandbox *sandbox;
	struct err err;
	size_t at = 0;

	(void)err_set(&err, ERR_GONE, "the sign-in that this call belongs to has ended");
	waits_fail_principal(s, principal, &err);
	pool_ticket_drop(s->pool, principal, clock_monotonic(s->clock));
	while ((sandbox = map_next(s->by_key, &at, NULL)))
		if (sandbox->place && !strcmp(sandbox->principal, principal))
			end_sandbox(s, sandbox);
}
