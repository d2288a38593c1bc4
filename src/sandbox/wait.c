/* SPDX-License-Identifier: Apache-2.0 */
/* Acquisitions: from the request to the answer. */
#include "sandbox/internal.h"

#include "base/log.h"
#include "sandbox/label.h"

#include <stdio.h>

enum { START_TIMEOUT_S = 60 };

static void want(struct sandbox_wait *w, int change)
{
	struct place *p = w->sandbox->place;

	if (!p)
		return;
	if (w->need == SANDBOX_NEED_BOX)
		p->want_box += (uint32_t)change;
	else
		p->want_files += (uint32_t)change;
}

/* Leaves PLACE, with or without the sandbox's hold. */
static void leave_place(struct sandbox_wait *w)
{
	if (w->state == WAIT_PLACE)
		want(w, -1);
}

static void let_go(struct sandbox_wait *w)
{
	struct sandbox *sandbox = take_ptr(w->sandbox);

	if (sandbox && w->is_look)
		sandbox_look_end(sandbox);
	else if (sandbox)
		sandbox_release(sandbox);
}

static void wait_free(struct sandbox_wait *w)
{
	leave_place(w);
	list_remove(&w->item);
	sd_event_source_disable_unref(w->timer);
	let_go(w);
	free(w);
}

/* READY keeps the sandbox for the caller, anything else lets it go. */
static void decide(struct sandbox_wait *w, enum sandbox_verdict verdict)
{
	leave_place(w);
	w->state = WAIT_ANSWER;
	w->verdict = verdict;
	if (verdict != SANDBOX_READY)
		let_go(w);
	list_remove(&w->item);
	list_add_tail(&w->s->answers, &w->item);
	sandboxes_wake(w->s);
}

static void refuse(struct sandbox_wait *w, const struct err *err)
{
	w->err = *err;
	decide(w, SANDBOX_REFUSED);
}

static int on_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct sandbox_wait *w = userdata;
	struct pool_answer position;
	struct err err;

	(void)source;
	(void)now;
	if (w->state == WAIT_PLACE) {
		(void)err_set(&err, ERR_TIMEOUT,
			      "the container did not start within %d seconds; files are kept, try "
			      "again",
			      (int)START_TIMEOUT_S);
		refuse(w, &err);
	} else if (w->state == WAIT_QUEUE) {
		if (pool_position(w->s->pool, w->principal, clock_monotonic(w->s->clock),
				  &position))
			queue_words(&position, w->text, sizeof(w->text));
		else
			(void)snprintf(w->text, sizeof(w->text), "the sandbox is being emptied");
		decide(w, SANDBOX_QUEUED);
	}
	return 0;
}

static int set_timer(struct sandbox_wait *w, usec after)
{
	sd_event_source_disable_unref(take_ptr(w->timer));
	return sd_event_add_time_relative(w->s->event, &w->timer, CLOCK_MONOTONIC, after, 0,
					  on_timer, w);
}

static void enter_place(struct sandbox_wait *w, struct sandbox *sandbox)
{
	if (w->is_look)
		sandbox_look_begin(sandbox);
	else
		sandbox_hold(sandbox);
	w->sandbox = sandbox;
	w->state = WAIT_PLACE;
	want(w, 1);
	if (set_timer(w, START_TIMEOUT_S * USEC_PER_SEC) < 0)
		log_warning("no time-out could be set for a start");
}

static void enter_queue(struct sandbox_wait *w)
{
	if (w->state == WAIT_QUEUE)
		return;
	w->state = WAIT_QUEUE;
	/* Timers are coarse. Without one it would wait for ever: then it answers at once, too. */
	if (w->max_wait == 0 || set_timer(w, w->max_wait) < 0)
		(void)on_timer(NULL, 0, w);
}

static void tell_position(struct sandbox_wait *w, const struct pool_answer *answer)
{
	char line[256];

	if (!w->progress || answer->position == w->last_position)
		return;
	w->last_position = answer->position;
	(void)snprintf(line, sizeof(line), "waiting for a sandbox: ");
	queue_words(answer, line + strlen(line), sizeof(line) - strlen(line));
	w->progress(w->userdata, line);
}

/* A place whose owner is told by e-mail is kept for longer. */
static void keep_for_mail(struct sandbox_wait *w)
{
	struct sandboxes *s = w->s;
	struct err err;

	if (s->config.has_mail && s->config.has_mail(s->config.userdata, w->principal) &&
	    pool_ticket_set_mail(s->pool, w->principal, true, clock_monotonic(s->clock), &err) < 0)
		log_warning("keep a place in the queue: %s", err.msg);
}

/* Asks the pool: a slot, a place in the queue, or no. */
static void ask_pool(struct sandbox_wait *w)
{
	struct sandboxes *s = w->s;
	struct pool_answer answer;
	struct sandbox *sandbox;
	struct err err;

	if (sandboxes_lack_limits(s)) {
		(void)err_set(
			&err, ERR_BUSY,
			"this server cannot limit memory, CPU and processes of sandboxes, and "
			"its operator has not allowed it to serve without (sandbox."
			"allow_unlimited)");
		refuse(w, &err);
		return;
	}
	if (s->config.may_hold && !sandboxes_find(s, view_str(w->key)) &&
	    !s->config.may_hold(s->config.userdata, w->principal)) {
		(void)err_set(&err, ERR_BUSY,
			      "too many sandboxes are in use or waited for from your network. Try "
			      "again when "
			      "one of them has ended");
		refuse(w, &err);
		return;
	}
	pool_request(s->pool, w->key, w->principal, clock_monotonic(s->clock), &answer);
	switch (answer.verdict) {
	case POOL_READY:
		if (sandbox_adopt(s, w->key, w->principal, answer.slot, &sandbox, &err) < 0) {
			refuse(w, &err);
			return;
		}
		if (answer.is_new)
			sandbox->is_unseen = true;
		enter_place(w, sandbox);
		return;
	case POOL_CLEANING:
		enter_queue(w);
		return;
	case POOL_QUEUED:
		keep_for_mail(w);
		enter_queue(w);
		if (w->state == WAIT_QUEUE)
			tell_position(w, &answer);
		return;
	case POOL_REFUSED:
		break;
	}
	refuse(w, &answer.err);
}

static void begin(struct sandbox_wait *w)
{
	struct sandbox *sandbox;
	struct err err;

	if (!w->existing_only) {
		ask_pool(w);
		return;
	}
	sandbox = sandboxes_find(w->s, view_str(w->key));
	if (!sandbox || !sandbox->place) {
		(void)err_set(&err, ERR_NOT_FOUND, "there is no sandbox %s", w->key);
		refuse(w, &err);
		return;
	}
	if (sandbox_is_resetting(sandbox)) {
		(void)err_set(&err, ERR_BUSY,
			      "The sandbox is being emptied. Try again in a moment.");
		refuse(w, &err);
		return;
	}
	enter_place(w, sandbox);
}

/* A wait for a slot: has it come, or has the position changed? */
static void look_at_queue(struct sandbox_wait *w)
{
	struct sandboxes *s = w->s;
	struct pool_holder holder;
	struct pool_answer answer;
	struct err err;

	if (pool_find(s->pool, w->key, &holder, &err) == 0) {
		if (holder.hold != POOL_HOLD_RESETTING)
			ask_pool(w);
	} else if (pool_position(s->pool, w->principal, clock_monotonic(s->clock), &answer)) {
		tell_position(w, &answer);
	} else {
		/* The ticket is gone (lapsed, dropped): it asks anew, at the end of the queue. */
		ask_pool(w);
	}
}

static void look_at_place(struct sandbox_wait *w)
{
	const struct place *p = w->sandbox->place;
	struct err err;

	if (!p) {
		(void)err_set(&err, ERR_GONE,
			      "the sandbox was emptied meanwhile; call again for a new one");
		refuse(w, &err);
		return;
	}
	if (p->empty_state != EMPTY_NOT || p->files_state != FILES_OPEN)
		return;
	if (w->need == SANDBOX_NEED_BOX && (p->box_state != BOX_RUNNING || p->stop_wanted))
		return;
	/* The call before may have made room. */
	if (!w->existing_only && disk_is_awaited(p))
		return;
	decide(w, SANDBOX_READY);
}

static void look_at(struct sandbox_wait *w, bool queue_changed)
{
	if (w->state == WAIT_FRESH)
		begin(w);
	else if (w->state == WAIT_QUEUE && queue_changed)
		look_at_queue(w);
	if (w->state == WAIT_PLACE && w->sandbox->place)
		place_drive(w->sandbox->place);
	/* Driving may have failed it already. */
	if (w->state == WAIT_PLACE)
		look_at_place(w);
}

static void move_all(struct list *from, struct list *to)
{
	while (!list_is_empty(from)) {
		struct list *it = from->next;

		list_remove(it);
		list_add_tail(to, it);
	}
}

void waits_advance(struct sandboxes *s)
{
	bool queue_changed = s->queue_changed;
	struct list todo;

	s->queue_changed = false;
	/* Looking at one may decide others, so no pointer to a neighbour is kept. */
	list_init(&todo);
	move_all(&s->waits, &todo);
	while (!list_is_empty(&todo)) {
		struct sandbox_wait *w = container_of(todo.next, struct sandbox_wait, item);

		list_remove(&w->item);
		list_add_tail(&s->waits, &w->item);
		look_at(w, queue_changed);
	}
}

static void deliver(struct sandbox_wait *w)
{
	char notes[SANDBOX_MAX_NOTE] = "";
	struct sandbox *sandbox = take_ptr(w->sandbox);
	struct sandbox_answer answer = { .verdict = w->verdict,
					 .sandbox = sandbox,
					 .notes = notes,
					 .text = w->text,
					 .err = w->err };

	if (sandbox && !w->existing_only) {
		answer.is_new_box = w->need == SANDBOX_NEED_BOX && sandbox->box_unseen;
		if (answer.is_new_box)
			sandbox->box_unseen = false;
		sandbox_notes(sandbox, answer.is_new_box, pool_take_note(w->s->pool, w->key), notes,
			      sizeof(notes));
	}
	/* Who lost a sandbox or a place and waits now hears it now: the grant has a note of its
	 * own. */
	if (w->verdict == SANDBOX_QUEUED)
		queue_note(pool_take_note(w->s->pool, w->key), w->text, sizeof(w->text));
	sd_event_source_disable_unref(take_ptr(w->timer));
	list_remove(&w->item);
	w->acquired(w->userdata, &answer);
	free(w);
}

void waits_deliver(struct sandboxes *s)
{
	while (!list_is_empty(&s->answers))
		deliver(container_of(s->answers.next, struct sandbox_wait, item));
}

void waits_fail_place(struct place *p, bool box_only, const struct err *err)
{
	struct list *it, *tmp;

	list_each(it, tmp, &p->s->waits)
	{
		struct sandbox_wait *w = container_of(it, struct sandbox_wait, item);

		if (w->state == WAIT_PLACE && w->sandbox->place == p &&
		    (!box_only || w->need == SANDBOX_NEED_BOX))
			refuse(w, err);
	}
}

void waits_fail_principal(struct sandboxes *s, const char *principal, const struct err *err)
{
	struct list *it, *tmp;

	list_each(it, tmp, &s->waits)
	{
		struct sandbox_wait *w = container_of(it, struct sandbox_wait, item);

		if (!strcmp(w->principal, principal))
			refuse(w, err);
	}
}

void waits_free(struct sandboxes *s)
{
	struct list *it, *tmp;

	list_each(it, tmp, &s->waits) wait_free(container_of(it, struct sandbox_wait, item));
	list_each(it, tmp, &s->answers) wait_free(container_of(it, struct sandbox_wait, item));
}

static struct sandbox_wait *wait_new(struct sandboxes *s, sandbox_acquired_fn *acquired,
				     void *userdata)
{
	struct sandbox_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->s = s;
	w->acquired = acquired;
	w->userdata = userdata;
	list_add_tail(&s->waits, &w->item);
	sandboxes_wake(s);
	return w;
}

/* The first key of principal and label that is not another's. */
static void choose_key(const struct sandboxes *s, const char *principal, const char *label,
		       char out[SANDBOX_MAX_KEY])
{
	for (uint32_t attempt = 0;; attempt++) {
		const struct sandbox *other;

		sandbox_key_make(principal, label, attempt, out);
		other = sandboxes_find(s, view_str(out));
		if (!other || !strcmp(other->principal, principal))
			return;
	}
}

int sandbox_acquire(struct sandboxes *s, const struct sandbox_request *request,
		    struct sandbox_wait **ret, struct err *err)
{
	char label[SANDBOX_MAX_LABEL + 1] = "";
	struct sandbox_wait *w;

	if (request->label.len && sandbox_label_normalise(request->label, label, err) < 0)
		return -1;
	w = wait_new(s, request->acquired, request->userdata);
	if (!w)
		return err_sys(err, ENOMEM, "ask for a sandbox");
	w->existing_only = request->need == SANDBOX_NEED_EXISTING;
	w->need = w->existing_only ? SANDBOX_NEED_FILES : request->need;
	w->max_wait = request->max_wait;
	w->progress = request->progress;
	(void)snprintf(w->principal, sizeof(w->principal), "%s", request->principal);
	choose_key(s, w->principal, label, w->key);
	*ret = w;
	return 0;
}

int sandbox_acquire_key(struct sandboxes *s, struct view key, sandbox_acquired_fn *acquired,
			void *userdata, struct sandbox_wait **ret, struct err *err)
{
	struct sandbox *sandbox = sandboxes_find(s, key);
	struct sandbox_wait *w;

	if (!sandbox)
		return err_set(err, ERR_NOT_FOUND, "there is no such sandbox");
	w = wait_new(s, acquired, userdata);
	if (!w)
		return err_sys(err, ENOMEM, "ask for a sandbox");
	w->existing_only = true;
	w->need = SANDBOX_NEED_FILES;
	(void)snprintf(w->key, sizeof(w->key), "%s", sandbox->key);
	(void)snprintf(w->principal, sizeof(w->principal), "%s", sandbox->principal);
	*ret = w;
	return 0;
}

int sandbox_look(struct sandboxes *s, struct view key, sandbox_acquired_fn *acquired,
		 void *userdata, struct sandbox_wait **ret, struct err *err)
{
	if (sandbox_acquire_key(s, key, acquired, userdata, ret, err) < 0)
		return -1;
	(*ret)->is_look = true;
	return 0;
}

void sandbox_wait_cancel(struct sandbox_wait *wait)
{
	wait_free(wait);
}
