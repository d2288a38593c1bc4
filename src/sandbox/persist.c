/* SPDX-License-Identifier: Apache-2.0 */
/* The pool's hooks: what must survive goes to the store, what is to be done to the places. */
#include "sandbox/internal.h"

#include "base/log.h"
#include "store/tickets.h"

#include <stdio.h>

/* ---- saving ---- */

/* The pool's answers say why; /health says that it goes on. */
static int note_saved(struct sandboxes *s, int result)
{
	s->is_unsaved = result < 0;
	return result;
}

static int save_holder(void *userdata, const struct pool_holder *holder, uint64_t ticket,
		       struct err *err)
{
	struct sandboxes *s = userdata;
	struct store_sandbox row = { .slot = holder->slot, .hold = (uint32_t)holder->hold };

	(void)snprintf(row.key, sizeof(row.key), "%s", holder->key);
	(void)snprintf(row.principal, sizeof(row.principal), "%s", holder->principal);
	row.created = clock_wall_seconds(s->clock);
	row.last_used = row.created;
	return note_saved(s, store_sandbox_save(s->store, &row, ticket, err));
}

static int save_release(void *userdata, const struct pool_holder *holder, struct err *err)
{
	struct sandboxes *s = userdata;

	return note_saved(s, store_sandbox_release(s->store, holder->key, holder->slot,
						   clock_wall_seconds(s->clock), err));
}

static int save_clean(void *userdata, uint32_t slot, struct err *err)
{
	struct sandboxes *s = userdata;

	return note_saved(s, store_slot_clean(s->store, slot, err));
}

static int save_ticket(void *userdata, const struct pool_ticket *ticket, struct err *err)
{
	struct sandboxes *s = userdata;
	struct store_ticket row = { .number = ticket->order, .has_mail = ticket->has_mail };

	(void)snprintf(row.key, sizeof(row.key), "%s", ticket->key);
	(void)snprintf(row.principal, sizeof(row.principal), "%s", ticket->principal);
	row.created = clock_wall_seconds(s->clock);
	return note_saved(s, store_ticket_save(s->store, &row, err));
}

static int save_no_ticket(void *userdata, uint64_t order, struct err *err)
{
	struct sandboxes *s = userdata;

	return note_saved(s, store_ticket_remove(s->store, order, err));
}

/* ---- doing ---- */

static void empty(void *userdata, uint32_t slot, const char *key)
{
	struct sandboxes *s = userdata;
	struct place *p = &s->places[slot];

	p->empty_state = EMPTY_WANTED;
	/* A reset keeps its owner, anything else has taken the slot from it. */
	if (p->owner && !key)
		p->evict = true;
	place_touch(p);
}

/* The sandbox of a queued owner is made now, so that its container is warm when the call comes. */
static void granted(void *userdata, const struct pool_holder *holder)
{
	struct sandboxes *s = userdata;
	struct sandbox *sandbox;
	struct err err;

	s->queue_changed = true;
	sandboxes_wake(s);
	if (holder->hold != POOL_HOLD_UNCLAIMED)
		return;
	if (sandbox_adopt(s, holder->key, holder->principal, holder->slot, &sandbox, &err) < 0) {
		log_error("slot %u: %s", holder->slot, err.msg);
		return;
	}
	sandbox->is_unseen = true;
	sandbox->place->prepare = true;
	place_touch(sandbox->place);
	if (s->config.on_granted)
		s->config.on_granted(s->config.userdata, holder->principal);
}

static void lapsed(void *userdata, const struct pool_ticket *ticket)
{
	struct sandboxes *s = userdata;

	s->queue_changed = true;
	if (s->config.on_lapsed)
		s->config.on_lapsed(s->config.userdata, ticket->principal);
	sandboxes_wake(s);
}

static void queue_moved(void *userdata)
{
	struct sandboxes *s = userdata;

	s->queue_changed = true;
	sandboxes_wake(s);
}

const struct pool_hooks persist_hooks = {
	.save_holder = save_holder,
	.save_release = save_release,
	.save_clean = save_clean,
	.save_ticket = save_ticket,
	.save_no_ticket = save_no_ticket,
	.empty = empty,
	.granted = granted,
	.lapsed = lapsed,
	.queue_moved = queue_moved,
};

/* ---- restoring ---- */

struct restore {
	struct sandboxes *s;
	struct err *err;
};

static int restore_sandbox(void *userdata, const struct store_sandbox *row)
{
	struct restore *restore = userdata;
	struct sandboxes *s = restore->s;
	struct pool_holder holder = { .key = row->key,
				      .principal = row->principal,
				      .slot = row->slot,
				      .hold = (enum pool_hold)row->hold };
	uint64_t now = clock_wall_seconds(s->clock);
	usec held_for = now > row->created ? (now - row->created) * USEC_PER_SEC : 0;
	struct sandbox *sandbox;

	if (row->hold >= POOL_NUM_HOLDS)
		return err_set(restore->err, ERR_INVALID, "slot %u has an unknown state",
			       row->slot);
	if (pool_restore_holder(s->pool, &holder, held_for, clock_monotonic(s->clock),
				restore->err) < 0 ||
	    sandbox_adopt(s, row->key, row->principal, row->slot, &sandbox, restore->err) < 0)
		return -1;
	sandbox->created = row->created;
	sandbox->last_used = row->last_used;
	/* Its container ended with the server before this one. */
	sandbox->had_box = true;
	return 0;
}

static int restore_dirty(void *userdata, uint32_t slot, uint64_t since)
{
	struct restore *restore = userdata;

	(void)since;
	pool_restore_dirty(restore->s->pool, slot, clock_monotonic(restore->s->clock));
	return 0;
}

static int restore_ticket(void *userdata, const struct store_ticket *row)
{
	struct restore *restore = userdata;
	struct sandboxes *s = restore->s;
	struct pool_ticket ticket = { .order = row->number,
				      .key = row->key,
				      .principal = row->principal,
				      .has_mail = row->has_mail };

	return pool_restore_ticket(s->pool, &ticket, clock_monotonic(s->clock), restore->err);
}

int persist_restore(struct sandboxes *s, struct err *err)
{
	struct restore restore = { .s = s, .err = err };

	if (store_sandbox_each(s->store, restore_sandbox, &restore, err) != 0)
		return err_wrap(err, "take up the sandboxes of the state");
	if (store_dirty_each(s->store, restore_dirty, &restore, err) != 0)
		return err_wrap(err, "take up the slots being emptied");
	if (store_ticket_each(s->store, restore_ticket, &restore, err) != 0)
		return err_wrap(err, "take up the queue");
	return 0;
}

/* ---- last uses ---- */

static void save_use(void *userdata, const char *key)
{
	struct sandboxes *s = userdata;
	const struct sandbox *sandbox = sandboxes_find(s, view_str(key));
	struct err err;

	if (sandbox && store_sandbox_touch(s->store, key, sandbox->last_used, &err) < 0)
		log_warning("save a sandbox's last use: %s", err.msg);
}

void persist_save_uses(struct sandboxes *s)
{
	struct err err;

	if (store_begin(s->store, &err) < 0) {
		log_warning("save last uses: %s", err.msg);
		return;
	}
	pool_take_touched(s->pool, save_use, s);
	if (store_commit(s->store, &err) < 0)
		log_warning("save last uses: %s", err.msg);
}
