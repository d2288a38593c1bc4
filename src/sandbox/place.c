/* SPDX-License-Identifier: Apache-2.0 */
/* Slots at run time: containers and keepers, driven towards what is wanted of them. */
#include "sandbox/internal.h"

#include "base/log.h"

#include <stdio.h>

enum {
	WARM_PAUSE_S = 30,    /* after a warm start that failed */
	MAX_EMPTY_LOSSES = 3, /* keepers that may end while they empty a slot */
};

void place_init(struct place *p, struct sandboxes *s, uint32_t slot)
{
	*p = (struct place){ .s = s, .slot = slot };
	list_init(&p->dirty);
}

void place_touch(struct place *p)
{
	if (list_is_empty(&p->dirty))
		list_add_tail(&p->s->dirty, &p->dirty);
	sandboxes_wake(p->s);
}

/* What the loss of the spawner has ended begins anew when there is one: they go on waiting. */
static void fail_waits(struct place *p, bool box_only, const struct err *err)
{
	if (engine_is_ready(p->s->engine))
		waits_fail_place(p, box_only, err);
}

/* ---- the keeper ---- */

static void close_files(struct place *p)
{
	if (p->files_state == FILES_OPEN)
		engine_files_close(take_ptr(p->files));
	p->files_state = FILES_NONE;
}

static void emptied(struct place *p, enum pool_emptied result)
{
	p->empty_state = EMPTY_NOT;
	p->empty_losses = 0;
	p->box_again = false;
	/* The next owner gets a keeper that knows nothing of this one. */
	close_files(p);
	p->disk = (struct place_disk){ 0 };
	sandbox_place_emptied(p, result);
}

/*
 * A keeper that ended, or could not start, says nothing about the slot: another one tries, when
 * there is a spawner. Without one it is not the slot's failure, and is not counted.
 */
static void lost_while_emptying(struct place *p)
{
	bool is_ready = engine_is_ready(p->s->engine);

	if (is_ready && ++p->empty_losses >= MAX_EMPTY_LOSSES) {
		emptied(p, POOL_NOT_EMPTY);
		return;
	}
	p->empty_state = EMPTY_WANTED;
	place_touch(p);
}

static void on_files_end(void *userdata)
{
	struct place *p = userdata;

	p->files = NULL;
	p->files_state = FILES_NONE;
	place_touch(p);
}

static void on_files(void *userdata, struct engine_files *files, const struct err *err)
{
	struct place *p = userdata;

	if (!files) {
		p->files_state = FILES_NONE;
		log_error("slot %u: open the keeper: %s", p->slot, err->msg);
		fail_waits(p, false, err);
		if (p->empty_state == EMPTY_ROLLED)
			lost_while_emptying(p);
	} else {
		p->files_state = FILES_OPEN;
		p->files = files;
		engine_files_on_end(files, on_files_end, p);
	}
	place_touch(p);
}

static void open_files(struct place *p)
{
	struct err err;

	p->files_state = FILES_OPENING;
	if (engine_files_open(p->s->engine, p->slot, on_files, p, &err) < 0)
		on_files(p, NULL, &err);
}

/* ---- the container ---- */

/* There is room for one more. Waits look at their places themselves; nobody waits for these yet. */
static void touch_prepared(struct sandboxes *s)
{
	for (uint32_t i = 0; s->config.max_running && i < s->config.pool.slots; i++)
		if (s->places[i].prepare)
			place_touch(&s->places[i]);
}

static void box_gone(struct place *p)
{
	p->box = NULL;
	p->box_state = BOX_NONE;
	p->stop_wanted = false;
	p->s->running--;
	disk_touch(p);
	place_touch(p);
	touch_prepared(p->s);
}

static void box_stopped(struct place *p)
{
	box_gone(p);
	if (p->owner)
		sandbox_has_no_box(p->owner);
}

/* What the container wrote outside /workspace is deleted in the background. After a failure the
 * next start sets it aside itself; if that has no room, see box_refused(). */
static void on_layer_dropped(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct place *p = userdata;

	if (fd >= 0)
		(void)close(fd);
	if (reply && reply->error)
		log_warning("slot %u: drop the layer: errno %d", p->slot, reply->error);
	box_stopped(p);
}

/*
 * False if the keeper was not asked. While it is, the container counts as stopping: the keeper must
 * not set aside the layer of the next one.
 */
static bool drop_layer(struct place *p)
{
	/* After a start that had no room it is not enough that room will appear. */
	struct keeper_request request = { .verb = KEEPER_DROP_LAYER,
					  .flags = p->box_again ? KEEPER_ALL : 0 };
	struct err err;

	if (p->files_state != FILES_OPEN)
		return false;
	if (engine_files_call(p->files, &request, -1, on_layer_dropped, p, &err) < 0) {
		log_warning("slot %u: drop the layer: %s", p->slot, err.msg);
		return false;
	}
	return true;
}

static void on_stopped(void *userdata)
{
	struct place *p = userdata;

	p->box_state = BOX_STOPPING;
	if (p->empty_state != EMPTY_NOT || !drop_layer(p))
		box_stopped(p);
}

static void on_box_end(void *userdata, const char *why)
{
	struct place *p = userdata;

	log_info("slot %u: the container ended: %s", p->slot, why);
	p->box = NULL;
	if (p->owner)
		sandbox_box_ended(p->owner, why);
	else
		pool_set_warm(p->s->pool, p->slot, false);
	on_stopped(p);
}

static void stop_box(struct place *p)
{
	p->box_state = BOX_STOPPING;
	engine_box_stop(take_ptr(p->box), on_stopped, p);
}

/*
 * Where a quota is full a file system may have no room to rename the last layer away, only to
 * delete it, which is the keeper's (btrfs). False if that was tried, or is not the reason.
 */
static bool box_refused(struct place *p, const struct err *err)
{
	if (p->box_again || !p->owner || (err->sys_errno != EDQUOT && err->sys_errno != ENOSPC))
		return false;
	p->box_again = true;
	p->box_state = BOX_REFUSED;
	place_touch(p);
	return true;
}

static void on_started(void *userdata, struct engine_box *box, const struct err *err)
{
	struct place *p = userdata;
	struct sandboxes *s = p->s;

	if (!box) {
		s->boxes_failed++;
		log_error("slot %u: start a container: %s", p->slot, err->msg);
		if (box_refused(p, err))
			return;
		p->box_again = false;
		box_gone(p);
		if (p->owner) {
			fail_waits(p, true, err);
			sandbox_has_no_box(p->owner);
		} else {
			s->warm_pause_until =
				clock_monotonic(s->clock) + WARM_PAUSE_S * USEC_PER_SEC;
		}
		return;
	}
	s->boxes_started++;
	p->box = box;
	p->box_state = BOX_RUNNING;
	p->box_again = false;
	p->box_started = clock_monotonic(s->clock);
	p->box_used = p->box_started;
	engine_box_on_end(box, on_box_end, p);
	p->disk.next = p->disk.after;
	if (p->owner)
		p->owner->box_unseen = true;
	else
		pool_set_warm(s->pool, p->slot, true);
	place_touch(p);
}

static void start_box(struct place *p)
{
	const struct sandboxes_config *config = &p->s->config;
	struct engine_box_spec spec = {
		.slot = p->slot,
		.limits = config->limits,
		.layer = ENGINE_LAYER_FRESH,
		.no_new_privs = config->no_new_privs,
		.network = config->network,
	};
	struct err err;

	p->box_state = BOX_STARTING;
	p->disk.base = p->disk.use;
	p->s->running++;
	if (engine_start(p->s->engine, &spec, on_started, p, &err) < 0)
		on_started(p, NULL, &err);
}

/* ---- room ---- */

/* Whoever waits for the container holds its owner, so holds tell all. */
static enum running_state running_state_of(const struct place *p)
{
	if (p->box_state == BOX_STOPPING || p->stop_wanted || p->empty_state != EMPTY_NOT)
		return RUNNING_ENDING;
	if (p->box_state == BOX_STARTING || (p->owner && p->owner->holds > 0))
		return RUNNING_BUSY;
	return p->owner ? RUNNING_IDLE : RUNNING_WARM;
}

/* The table that running.h decides over. s->boxes has room for one a slot. */
static size_t list_boxes(struct sandboxes *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->config.pool.slots; i++) {
		const struct place *p = &s->places[i];

		if (p->box_state != BOX_NONE)
			s->boxes[n++] = (struct running_box){ .slot = i,
							      .state = running_state_of(p),
							      .last_used = p->box_used };
	}
	return n;
}

static struct running_policy policy_of(const struct sandboxes *s)
{
	return (struct running_policy){
		.max_running = s->config.max_running,
		.warm = s->config.warm,
		.idle = s->config.recycle_idle ? s->config.recycle_idle : USEC_INFINITY,
	};
}

static int check_disk(const struct sandboxes *s, struct err *err)
{
	uint64_t bytes;

	if (!disk_is_low(s, &bytes))
		return 0;
	return err_set(
		err, ERR_BUSY,
		"the server has too little free disk to start a container (%llu MiB, it keeps "
		"%llu MiB in reserve). Files are kept; the operator has to make room",
		(unsigned long long)(bytes >> 20), (unsigned long long)(s->config.min_free >> 20));
}

void place_end_box(struct place *p, const char *why)
{
	if (!p->owner)
		pool_set_warm(p->s->pool, p->slot, false);
	else if (why)
		(void)snprintf(p->owner->lost_why, sizeof(p->owner->lost_why), "%s", why);
	p->stop_wanted = true;
	place_drive(p);
}

int place_make_room(struct sandboxes *s, struct err *err)
{
	struct running_policy policy = policy_of(s);
	size_t at = 0;

	if (check_disk(s, err) < 0)
		return -1;
	/* The common case needs no table. */
	if (policy.max_running == 0 || s->running < policy.max_running)
		return 0;
	switch (running_admit(&policy, s->boxes, list_boxes(s), &at, err)) {
	case RUNNING_START:
		return 0;
	case RUNNING_WAIT:
		return 1;
	case RUNNING_RECYCLE:
		place_end_box(&s->places[s->boxes[at].slot], "another sandbox needed its place");
		return 1;
	case RUNNING_REFUSED:
		break;
	}
	return -1;
}

void place_keep_warm(struct sandboxes *s)
{
	struct running_policy policy = policy_of(s);
	uint32_t slot;
	struct err err;

	if (policy.warm == 0 || !engine_is_ready(s->engine) ||
	    clock_monotonic(s->clock) < s->warm_pause_until || !pool_find_cold(s->pool, &slot))
		return;
	/* One at a time: whether the slot gets its mark is known when the container has started. */
	if (s->places[slot].box_state != BOX_NONE || s->places[slot].empty_state != EMPTY_NOT ||
	    running_warm_wanted(&policy, s->boxes, list_boxes(s), 1) == 0 ||
	    check_disk(s, &err) < 0)
		return;
	start_box(&s->places[slot]);
}

void place_recycle_idle(struct sandboxes *s)
{
	struct running_policy policy = policy_of(s);
	usec now = clock_monotonic(s->clock);
	size_t at;

	while (running_due(&policy, s->boxes, list_boxes(s), now, &at)) {
		struct place *p = &s->places[s->boxes[at].slot];

		p->owner->recycled_idle = true;
		place_end_box(p, NULL);
	}
	/* Keepers of sandboxes that nobody has used for as long end too. */
	for (uint32_t i = 0; i < s->config.pool.slots; i++) {
		struct place *p = &s->places[i];

		if (p->owner && p->owner->holds + p->owner->looks == 0 &&
		    p->box_state == BOX_NONE && p->files_state == FILES_OPEN &&
		    p->empty_state == EMPTY_NOT && policy.idle != USEC_INFINITY &&
		    now - p->box_used >= policy.idle)
			close_files(p);
	}
}

/* ---- driving ---- */

static void on_rolled_back(void *userdata, const struct err *err)
{
	struct place *p = userdata;

	place_touch(p);
	if (err && !engine_is_ready(p->s->engine)) {
		p->empty_state = EMPTY_WANTED; /* it says nothing about the slot */
		return;
	}
	p->empty_state = EMPTY_ROLLED;
	if (!err)
		p->s->rolled_back++;
	else if (err->sys_errno != ENOTSUP)
		log_warning("slot %u: not rolled back, its files are removed one by one: %s",
			    p->slot, err->msg);
}

static void roll_back(struct place *p)
{
	struct err err;

	p->empty_state = EMPTY_ROLLING;
	if (engine_roll_back(p->s->engine, p->slot, on_rolled_back, p, &err) < 0)
		on_rolled_back(p, &err);
}

static void on_empty_reply(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct place *p = userdata;

	if (fd >= 0)
		(void)close(fd);
	if (!reply) {
		log_warning("slot %u: the keeper was lost while it emptied it", p->slot);
		lost_while_emptying(p);
		return;
	}
	if (reply->error)
		log_error("slot %u: it could not be emptied: %.*s", p->slot, VIEW_ARG(reply->text));
	emptied(p, reply->error ? POOL_NOT_EMPTY : POOL_EMPTY);
}

static void ask_empty(struct place *p)
{
	struct keeper_request request = { .verb = KEEPER_EMPTY };
	struct err err;

	p->empty_state = EMPTY_ASKED;
	if (engine_files_call(p->files, &request, -1, on_empty_reply, p, &err) < 0) {
		/* It has just ended, and only nobody has said so yet. */
		log_warning("slot %u: ask the keeper to empty it: %s", p->slot, err.msg);
		close_files(p);
		lost_while_emptying(p);
	}
}

static void give_up_start(struct place *p)
{
	p->box_again = false;
	box_stopped(p);
}

/* Nobody may wait for the keeper any more: it could not be opened, say. */
static void drive_refused(struct place *p)
{
	if (p->files_state == FILES_OPEN)
		on_stopped(p);
	else if (p->stop_wanted || (!p->want_files && !p->want_box))
		give_up_start(p);
}

static void drive_empty(struct place *p)
{
	if (p->owner)
		sandbox_cut_transfers(p->owner);
	if (p->box_state == BOX_RUNNING)
		stop_box(p);
	else if (p->box_state == BOX_REFUSED)
		give_up_start(p);
	if (p->box_state != BOX_NONE)
		return;
	if (p->empty_state == EMPTY_WANTED)
		roll_back(p);
	else if (p->files_state == FILES_NONE)
		open_files(p);
	else if (p->files_state == FILES_OPEN)
		ask_empty(p);
}

static void drive_start(struct place *p)
{
	struct err err;

	switch (place_make_room(p->s, &err)) {
	case 0:
		p->prepare = false;
		start_box(p);
		break;
	case 1: /* box_gone() of the other one brings us back */
		break;
	default:
		p->prepare = false;
		waits_fail_place(p, true, &err);
		break;
	}
}

void place_drive(struct place *p)
{
	if (!engine_is_ready(p->s->engine) || p->empty_state == EMPTY_ROLLING ||
	    p->empty_state == EMPTY_ASKED)
		return;
	if (p->empty_state != EMPTY_NOT) {
		drive_empty(p);
		return;
	}
	if (p->box_state == BOX_REFUSED)
		drive_refused(p);
	if (p->stop_wanted) {
		if (p->box_state == BOX_RUNNING)
			stop_box(p);
		if (p->box_state != BOX_NONE)
			return;
		p->stop_wanted = false;
		if (p->owner)
			sandbox_has_no_box(p->owner);
	}
	if (p->want_files + p->want_box && p->files_state == FILES_NONE)
		open_files(p);
	if ((p->want_box || p->prepare) && p->box_state == BOX_NONE && !disk_is_awaited(p))
		drive_start(p);
}
