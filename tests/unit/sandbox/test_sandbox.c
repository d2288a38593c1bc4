/* SPDX-License-Identifier: Apache-2.0 */
/* What must not be forgotten when engines, keepers and containers end at a bad moment. */
#include "../store/state_file.h"
#include "fake_engine.h"
#include "sandbox/internal.h"

#include <fcntl.h>
#include <sys/mman.h>

struct world {
	struct state_file *file;
	usec ahead; /* of the system's clock */
	struct clock clock;
	sd_event *event;
	struct engine *engine;
	struct sandboxes *s;
};

/* A call, as a tool makes it. */
struct call {
	struct sandbox_wait *wait;
	uint32_t answers;
	enum sandbox_verdict verdict;
	struct sandbox *sandbox;
	bool is_new_box;
	char text[512], notes[SANDBOX_MAX_NOTE];
	struct err err;
};

struct reset {
	uint32_t answers;
	bool ok;
};

static usec now(void *userdata)
{
	const struct world *w = userdata;

	return clock_monotonic(&clock_system) + w->ahead;
}

static usec wall(void *userdata)
{
	(void)userdata;
	return clock_wall(&clock_system);
}

static void world_start_limited(struct world *w, void **state, uint32_t max_running, uint64_t bytes)
{
	struct sandboxes_config config = {
		.pool = { .slots = 2,
			  .empty_when_idle = true,
			  .idle = 600 * USEC_PER_SEC,
			  .queue_patience = 600 * USEC_PER_SEC,
			  .queue_patience_mail = 600 * USEC_PER_SEC,
			  .claim_time = 600 * USEC_PER_SEC,
			  .queue_max = 10,
			  .retry_min = 30 * USEC_PER_SEC,
			  .retry_max = 60 * USEC_PER_SEC },
		.max_running = max_running,
		.require_limits = true,
		.disk = disk_limits_of(bytes, bytes),
		.state_dir = "/",
	};
	struct err err;

	*w = (struct world){ .file = *state, .engine = fake_engine_new() };
	w->clock = (struct clock){ .monotonic = now, .wall = wall, .userdata = w };
	assert_true(sd_event_new(&w->event) >= 0);
	if (sandboxes_new(w->event, &w->clock, w->engine, w->file->store, &config, &w->s, &err) < 0)
		fail_msg("%s", err.msg);
}

static void world_start(struct world *w, void **state, uint32_t max_running)
{
	world_start_limited(w, state, max_running, 0);
}

static void world_end(struct world *w)
{
	sandboxes_free(w->s);
	fake_engine_free(w->engine);
	sd_event_unref(w->event);
}

/* Everything that is due now; fails if that never ends. */
static void settle(struct world *w)
{
	for (int turns = 0; sd_event_run(w->event, 0) > 0; turns++)
		assert_true(turns < 1000);
}

static void on_acquired(void *userdata, const struct sandbox_answer *answer)
{
	struct call *call = userdata;

	call->wait = NULL;
	call->answers++;
	call->verdict = answer->verdict;
	call->sandbox = answer->sandbox;
	call->err = answer->err;
	call->is_new_box = answer->is_new_box;
	(void)snprintf(call->text, sizeof(call->text), "%s", answer->text);
	(void)snprintf(call->notes, sizeof(call->notes), "%s", answer->notes);
}

static void begin_for(struct world *w, struct call *call, const char *label, enum sandbox_need need)
{
	struct sandbox_request request = {
		.principal = "somebody",
		.label = view_str(label),
		.need = need,
		.acquired = on_acquired,
		.userdata = call,
	};
	struct err err;

	*call = (struct call){ 0 };
	assert_int_equal(sandbox_acquire(w->s, &request, &call->wait, &err), 0);
}

static void begin(struct world *w, struct call *call, const char *label)
{
	begin_for(w, call, label, SANDBOX_NEED_BOX);
}

/* The slot's keeper and container come up. */
static void come_up(struct world *w, uint32_t slot)
{
	settle(w);
	fake_open(w->engine, slot, true);
	fake_start(w->engine, slot, true);
	settle(w);
}

static void on_reset(void *userdata, const struct err *err)
{
	struct reset *reset = userdata;

	reset->answers++;
	reset->ok = !err;
}

static void begin_reset(struct call *call, enum sandbox_reset what, struct reset *reset)
{
	struct err err;

	*reset = (struct reset){ 0 };
	assert_int_equal(sandbox_reset(call->sandbox, what, on_reset, reset, &err), 0);
}

/* The one container that may run starts again under a call that came first; two others wait for
 * one sandbox and are refused in the same moment. */
static void test_two_are_refused_at_once(void **state)
{
	struct call a, again, one, two;
	struct reset reset;
	struct world w;

	world_start(&w, state, 1);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	begin(&w, &again, "a");
	begin(&w, &one, "b");
	begin(&w, &two, "b");
	settle(&w);
	fake_open(w.engine, 1, true);
	settle(&w);
	assert_int_equal(one.answers + two.answers, 0);
	fake_stop(w.engine, 0);
	fake_reply(w.engine, 0, 0); /* the layer is dropped */
	settle(&w);
	assert_int_equal(reset.answers, 1);
	assert_true(fake_is_starting(w.engine, 0));
	assert_int_equal(one.answers, 1);
	assert_int_equal(two.answers, 1);
	assert_int_equal(one.verdict, SANDBOX_REFUSED);
	assert_int_equal(two.verdict, SANDBOX_REFUSED);
	fake_start(w.engine, 0, true);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_READY);
	sandbox_release(again.sandbox);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* The wait for room is one for an event, not a loop (settle() would not end). */
static void test_a_start_waits_for_room(void **state)
{
	struct call a, b;
	struct world w;

	world_start(&w, state, 1);
	begin(&w, &a, "a");
	come_up(&w, 0);
	sandbox_release(a.sandbox);
	begin(&w, &b, "b");
	settle(&w);
	fake_open(w.engine, 1, true);
	settle(&w);
	assert_true(fake_is_stopping(w.engine, 0));
	assert_false(fake_is_starting(w.engine, 1));
	fake_stop(w.engine, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	fake_start(w.engine, 1, true);
	settle(&w);
	assert_int_equal(b.verdict, SANDBOX_READY);
	sandbox_release(b.sandbox);
	world_end(&w);
}

/* A call whose container or keeper goes with the spawner waits for the next one. */
static void test_a_start_outlives_the_spawner(void **state)
{
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	settle(&w);
	assert_true(fake_is_starting(w.engine, 0) && fake_is_opening(w.engine, 0));
	fake_lose(w.engine);
	settle(&w);
	assert_int_equal(a.answers, 0);
	fake_ready(w.engine);
	come_up(&w, 0);
	assert_int_equal(a.answers, 1);
	assert_int_equal(a.verdict, SANDBOX_READY);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* A full layer refuses the start; the keeper empties it, and it is tried once more. */
static void test_a_start_in_a_full_layer(void **state)
{
	struct call a, again;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	settle(&w);
	fake_start_full(w.engine, 0);
	settle(&w);
	assert_false(fake_is_starting(w.engine, 0));
	fake_open(w.engine, 0, true);
	settle(&w);
	assert_true(fake_is_asked(w.engine, 0));
	fake_reply(w.engine, 0, 0); /* the layer is dropped */
	settle(&w);
	assert_int_equal(a.answers, 0);
	fake_start(w.engine, 0, true);
	settle(&w);
	assert_int_equal(a.verdict, SANDBOX_READY);

	fake_box_ends(w.engine, 0);
	settle(&w);
	assert_true(fake_is_asked(w.engine, 0));
	fake_reply(w.engine, 0, EDQUOT);
	begin(&w, &again, "a");
	settle(&w);
	fake_start_full(w.engine, 0);
	settle(&w);
	fake_reply(w.engine, 0, EDQUOT);
	settle(&w);
	fake_start_full(w.engine, 0);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_REFUSED);
	assert_false(fake_is_starting(w.engine, 0));
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* It is given up when the keeper cannot be opened, and when the sandbox is reset meanwhile. */
static void test_a_full_layer_stays_so(void **state)
{
	struct call a, again;
	struct reset reset;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	settle(&w);
	fake_start_full(w.engine, 0);
	fake_open(w.engine, 0, false);
	settle(&w);
	assert_int_equal(a.verdict, SANDBOX_REFUSED);

	begin(&w, &a, "a");
	come_up(&w, 0);
	fake_box_ends(w.engine, 0);
	fake_reply(w.engine, 0, EDQUOT);
	fake_keeper_ends(w.engine, 0);
	begin(&w, &again, "a");
	settle(&w);
	fake_start_full(w.engine, 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	assert_int_equal(reset.answers, 1);
	assert_true(fake_is_starting(w.engine, 0)); /* who came before still waits */
	fake_open(w.engine, 0, true);
	fake_start(w.engine, 0, true);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_READY);
	sandbox_release(again.sandbox);
	sandbox_release(a.sandbox);
	world_end(&w);
}

static void test_reset_while_a_start_fails(void **state)
{
	struct call a, again;
	struct reset reset;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	fake_stop(w.engine, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_int_equal(reset.answers, 1);

	begin(&w, &again, "a");
	settle(&w);
	assert_true(fake_is_starting(w.engine, 0));
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	fake_start(w.engine, 0, false);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_REFUSED);
	assert_int_equal(reset.answers, 1);
	sandbox_release(a.sandbox);
	world_end(&w);
}

static void test_reset_as_the_spawner_is_lost(void **state)
{
	struct reset reset;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	fake_lose(w.engine);
	settle(&w);
	assert_int_equal(reset.answers, 1);
	assert_true(reset.ok);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* The operator empties a sandbox in the moment in which its owner resets it. */
static void test_reset_of_what_is_emptied(void **state)
{
	struct reset reset;
	struct world w;
	struct call a;
	struct err err;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(sandboxes_empty(w.s, view_str(sandbox_key(a.sandbox)), &err), 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	assert_int_equal(reset.answers, 1);
	assert_false(reset.ok);
	sandbox_release(a.sandbox);
	world_end(&w);
}

static void get_stats(struct world *w, struct pool_stats *ret)
{
	pool_get_stats(sandboxes_pool(w->s), clock_monotonic(&clock_system), ret);
}

/* A sandbox that is being emptied: its storage has been asked. */
static void begin_rolling(struct world *w, void **state)
{
	struct call a;
	struct err err;

	world_start(w, state, 0);
	begin(w, &a, "a");
	come_up(w, 0);
	assert_int_equal(sandboxes_empty(w->s, view_str(sandbox_key(a.sandbox)), &err), 0);
	sandbox_release(a.sandbox);
	settle(w);
	fake_stop(w->engine, 0);
	settle(w);
	assert_true(fake_is_rolling(w->engine, 0));
	assert_false(fake_is_asked(w->engine, 0));
}

static void roll(struct world *w, int error)
{
	fake_roll(w->engine, 0, error);
	settle(w);
}

/* Its keeper has been asked, for the storage cannot do it. */
static void begin_emptying(struct world *w, void **state)
{
	begin_rolling(w, state);
	roll(w, ENOTSUP);
	assert_true(fake_is_asked(w->engine, 0));
}

/* Whatever the storage says, a keeper has the last word. */
static void test_rolled_back(void **state)
{
	static const int errors[] = { 0, ENOTSUP, EIO };
	struct pool_stats stats;
	struct world w;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		begin_rolling(&w, state);
		roll(&w, errors[i]);
		get_stats(&w, &stats);
		assert_int_equal(stats.emptying, 1);
		fake_reply(w.engine, 0, 0);
		settle(&w);
		get_stats(&w, &stats);
		assert_int_equal(stats.free, 2);
		assert_int_equal(sandboxes_rolled_back(w.s), errors[i] == 0);
		world_end(&w);
	}
}

static void test_rolled_back_but_not_empty(void **state)
{
	struct pool_stats stats;
	struct world w;

	begin_rolling(&w, state);
	roll(&w, 0);
	fake_reply(w.engine, 0, EIO);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.set_aside, 1);
	world_end(&w);
}

static void test_the_spawner_is_lost_while_rolling_back(void **state)
{
	struct world w;

	begin_rolling(&w, state);
	fake_lose(w.engine);
	settle(&w);
	assert_false(fake_is_rolling(w.engine, 0));
	fake_ready(w.engine);
	settle(&w);
	assert_true(fake_is_rolling(w.engine, 0));
	assert_false(fake_is_opening(w.engine, 0));
	world_end(&w);
}

static void test_the_spawner_is_lost_while_emptying(void **state)
{
	struct pool_stats stats;
	struct world w;

	begin_emptying(&w, state);
	for (int i = 0; i < 10; i++) {
		fake_lose(w.engine);
		settle(&w);
		fake_ready(w.engine);
		settle(&w);
		roll(&w, ENOTSUP);
		fake_open(w.engine, 0, true);
		settle(&w);
		assert_true(fake_is_asked(w.engine, 0));
	}
	get_stats(&w, &stats);
	assert_int_equal(stats.emptying, 1);
	assert_int_equal(stats.free, 1);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.free, 2);
	world_end(&w);
}

static void test_keepers_end_while_emptying(void **state)
{
	struct pool_stats stats;
	struct world w;

	begin_emptying(&w, state);
	fake_keeper_ends(w.engine, 0);
	settle(&w);
	roll(&w, ENOTSUP);
	fake_open(w.engine, 0, false);
	settle(&w);
	roll(&w, ENOTSUP);
	fake_open(w.engine, 0, true);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.emptying, 1);
	fake_keeper_ends(w.engine, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.set_aside, 1);
	assert_false(fake_is_opening(w.engine, 0));
	world_end(&w);
}

/* Another one is asked at once: the slot is not set aside for it. */
static void test_a_keeper_ends_before_it_is_asked_to_empty(void **state)
{
	struct pool_stats stats;
	struct world w;

	begin_rolling(&w, state);
	fake_keeper_is_deaf(w.engine, 0);
	roll(&w, ENOTSUP);
	roll(&w, ENOTSUP);
	fake_open(w.engine, 0, true);
	settle(&w);
	assert_true(fake_is_asked(w.engine, 0));
	fake_reply(w.engine, 0, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.set_aside, 0);
	assert_int_equal(stats.emptying, 0);
	world_end(&w);
}

static void test_a_call_is_cancelled_in_every_state(void **state)
{
	struct call fresh, queued, starting, a, b;
	struct pool_stats stats;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &fresh, "a");
	sandbox_wait_cancel(fresh.wait);
	settle(&w);
	begin(&w, &starting, "a");
	settle(&w);
	sandbox_wait_cancel(starting.wait);
	settle(&w);
	begin(&w, &a, "a");
	begin(&w, &b, "b");
	settle(&w);
	for (uint32_t slot = 0; slot < 2; slot++) {
		fake_open(w.engine, slot, true);
		settle(&w);
		fake_start(w.engine, slot, true);
		settle(&w);
	}
	assert_int_equal(a.verdict, SANDBOX_READY);
	assert_int_equal(b.verdict, SANDBOX_READY);
	begin(&w, &queued, "c");
	settle(&w);
	assert_int_equal(queued.verdict, SANDBOX_QUEUED);
	sandbox_release(a.sandbox);
	sandbox_release(b.sandbox);
	get_stats(&w, &stats);
	assert_int_equal(stats.in_use, 0);
	assert_int_equal(stats.queue_length, 1);
	world_end(&w);
}

/* The principal of all calls ends: one call waits for its container, another one works in a slot.
 */
static void test_a_principal_ends(void **state)
{
	struct call works, starts, after;
	struct pool_stats stats;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &works, "a");
	come_up(&w, 0);
	assert_int_equal(works.verdict, SANDBOX_READY);
	begin(&w, &starts, "b");
	settle(&w);
	sandboxes_end_principal(w.s, "nobody");
	settle(&w);
	assert_int_equal(starts.answers, 0);
	sandboxes_end_principal(w.s, "somebody");
	settle(&w);
	assert_int_equal(starts.verdict, SANDBOX_REFUSED);
	assert_int_equal(starts.err.code, ERR_GONE);
	assert_true(fake_is_stopping(w.engine, 0));
	fake_stop(w.engine, 0);
	settle(&w);
	roll(&w, ENOTSUP);
	fake_reply(w.engine, 0, 0);
	/* What is starting has to be there before it can be ended. */
	come_up(&w, 1);
	fake_stop(w.engine, 1);
	settle(&w);
	fake_roll(w.engine, 1, ENOTSUP);
	settle(&w);
	fake_reply(w.engine, 1, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.held, 0);
	assert_int_equal(stats.free, 2);
	sandbox_release(works.sandbox);
	/* Its key is nobody's now. */
	begin(&w, &after, "a");
	come_up(&w, 0);
	assert_int_equal(after.verdict, SANDBOX_READY);
	sandbox_release(after.sandbox);
	world_end(&w);
}

/* "/workspace is empty" is said by the first container, unless a call was there before it. */
static void test_who_is_told_that_it_is_new(void **state)
{
	struct call first, files, after;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &first, "a");
	come_up(&w, 0);
	assert_true(first.is_new_box);
	assert_non_null(strstr(first.notes, "/workspace is empty"));
	sandbox_release(first.sandbox);

	begin_for(&w, &files, "b", SANDBOX_NEED_FILES);
	settle(&w);
	fake_open(w.engine, 1, true);
	settle(&w);
	assert_int_equal(files.verdict, SANDBOX_READY);
	assert_false(files.is_new_box);
	sandbox_release(files.sandbox);
	begin(&w, &after, "b");
	settle(&w);
	fake_start(w.engine, 1, true);
	settle(&w);
	assert_int_equal(after.verdict, SANDBOX_READY);
	assert_true(after.is_new_box);
	assert_string_equal(after.notes, "");
	sandbox_release(after.sandbox);
	world_end(&w);
}

/* A file on its way, as a link has it. */
struct file {
	struct sandbox_transfer transfer;
	struct world *world;
	struct sandbox *sandbox;
	uint32_t cuts;
	enum err_code why;
	bool was_rolling; /* its sandbox was being emptied already when it was cut */
};

static void on_cut(void *userdata, const struct err *why)
{
	struct file *file = userdata;

	file->cuts++;
	file->why = why->code;
	file->was_rolling = fake_is_rolling(file->world->engine, 0);
	sandbox_release(file->sandbox);
}

static enum err_code begin_file(struct world *w, struct sandbox *sandbox, struct file *file)
{
	struct err err;

	*file = (struct file){ .transfer = { .cut = on_cut, .userdata = file },
			       .world = w,
			       .sandbox = sandbox };
	if (sandbox_transfer_begin(sandbox, &file->transfer, &err) < 0)
		return err.code;
	sandbox_hold(sandbox);
	return ERR_NONE;
}

/* The container has stopped, and all that is left to do is to empty it. */
static void check_cut(struct world *w, const struct file *file)
{
	settle(w);
	fake_stop(w->engine, 0);
	settle(w);
	assert_true(fake_is_rolling(w->engine, 0));
	assert_int_equal(file->cuts, 1);
	assert_int_equal(file->why, ERR_BUSY);
	assert_false(file->was_rolling);
}

static void test_a_reset_cuts_what_is_on_its_way(void **state)
{
	struct file first, second;
	struct reset reset;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(begin_file(&w, a.sandbox, &first), ERR_NONE);
	begin_reset(&a, SANDBOX_RESET_EVERYTHING, &reset);
	assert_int_equal(begin_file(&w, a.sandbox, &second), ERR_BUSY);
	check_cut(&w, &first);
	assert_int_equal(begin_file(&w, a.sandbox, &second), ERR_BUSY);
	roll(&w, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	assert_int_equal(begin_file(&w, a.sandbox, &second), ERR_NONE);
	sandbox_transfer_end(&second.transfer);
	sandbox_release(second.sandbox);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* The next spawner may say something else than the last. */
static void test_nobody_is_served_without_limits(void **state)
{
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	assert_true(sandboxes_can_serve(w.s));
	fake_limit(w.engine, false);
	fake_lose(w.engine);
	assert_false(sandboxes_can_serve(w.s));
	fake_ready(w.engine);
	assert_false(sandboxes_can_serve(w.s));
	begin(&w, &a, "a");
	settle(&w);
	assert_int_equal(a.verdict, SANDBOX_REFUSED);
	assert_non_null(strstr(a.err.msg, "allow_unlimited"));
	fake_limit(w.engine, true);
	fake_lose(w.engine);
	fake_ready(w.engine);
	assert_true(sandboxes_can_serve(w.s));
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(a.verdict, SANDBOX_READY);
	sandbox_release(a.sandbox);
	world_end(&w);
}

static int save(struct world *w, const char *key, uint32_t slot)
{
	const struct pool_holder holder = { .key = key, .principal = "p", .slot = slot };
	struct err err;

	return persist_hooks.save_holder(w->s, &holder, 0, &err);
}

/* It says so for as long as nobody could be granted anything. */
static void test_room_for_newcomers(void **state)
{
	struct world w;

	world_start(&w, state, 0);
	assert_true(sandboxes_have_room(w.s));
	assert_int_equal(save(&w, "a", 0), 0);
	assert_int_equal(save(&w, "b", 0), -1); /* a's slot */
	assert_false(sandboxes_have_room(w.s));
	assert_int_equal(save(&w, "b", 1), 0);
	assert_true(sandboxes_have_room(w.s));
	w.s->config.min_free = UINT64_MAX;
	assert_false(sandboxes_have_room(w.s));
	assert_true(sandboxes_can_serve(w.s));
	world_end(&w);
}

static void count_release(void *state)
{
	int *releases = state;

	++*releases;
}

/* What a tool keeps of the files goes with them; what is of the owner stays as long as the owner.
 */
static void test_what_a_reset_leaves_of_the_tools(void **state)
{
	static const char of_owner[] = "jobs", of_files[] = "map";
	int owner_releases = 0, files_releases = 0;
	struct reset reset;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(sandbox_set_state(a.sandbox, of_owner, SANDBOX_STATE_OF_OWNER,
					   &owner_releases, count_release),
			 0);
	assert_int_equal(sandbox_set_state(a.sandbox, of_files, SANDBOX_STATE_OF_FILES,
					   &files_releases, count_release),
			 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	fake_stop(w.engine, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	assert_ptr_equal(sandbox_state(a.sandbox, of_files), &files_releases);
	begin_reset(&a, SANDBOX_RESET_EVERYTHING, &reset);
	settle(&w);
	roll(&w, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	assert_null(sandbox_state(a.sandbox, of_files));
	assert_int_equal(files_releases, 1);
	assert_ptr_equal(sandbox_state(a.sandbox, of_owner), &owner_releases);
	sandbox_release(a.sandbox);
	world_end(&w);
	assert_int_equal(files_releases, 1);
	assert_int_equal(owner_releases, 1);
}

/* By the keeper while there is one. */
static void test_who_closes_a_file(void **state)
{
	struct world w;
	struct call a;
	int fd = memfd_create("file", MFD_CLOEXEC);

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	sandbox_close_file(a.sandbox, fd);
	assert_int_equal(fake_released(w.engine, 0), 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);

	fd = memfd_create("file", MFD_CLOEXEC);
	fake_keeper_ends(w.engine, 0);
	sandbox_close_file(a.sandbox, fd);
	assert_int_equal(fake_released(w.engine, 0), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* Its last hold goes with it. */
static void test_the_operator_cuts_what_is_on_its_way(void **state)
{
	struct pool_stats stats;
	struct file file;
	struct world w;
	struct call a;
	struct err err;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(begin_file(&w, a.sandbox, &file), ERR_NONE);
	assert_int_equal(sandboxes_empty(w.s, view_str(sandbox_key(a.sandbox)), &err), 0);
	sandbox_release(a.sandbox);
	check_cut(&w, &file);
	roll(&w, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.free, 2);
	world_end(&w);
}

static void test_a_recycle_cuts_nothing(void **state)
{
	struct reset reset;
	struct file file;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(begin_file(&w, a.sandbox, &file), ERR_NONE);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	settle(&w);
	fake_stop(w.engine, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	assert_int_equal(file.cuts, 0);
	sandbox_transfer_end(&file.transfer);
	sandbox_transfer_end(&file.transfer);
	sandbox_release(file.sandbox);
	sandbox_release(a.sandbox);
	world_end(&w);
}

static void test_so_many_on_their_way(void **state)
{
	struct file files[SANDBOX_MAX_TRANSFERS], one_more;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(begin_file(&w, a.sandbox, &files[i]), ERR_NONE);
	assert_int_equal(begin_file(&w, a.sandbox, &one_more), ERR_BUSY);
	sandbox_transfer_end(&files[3].transfer);
	sandbox_release(files[3].sandbox);
	assert_int_equal(begin_file(&w, a.sandbox, &files[3]), ERR_NONE);
	assert_int_equal(begin_file(&w, a.sandbox, &one_more), ERR_BUSY);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		sandbox_transfer_end(&files[i].transfer);
		sandbox_release(files[i].sandbox);
	}
	sandbox_release(a.sandbox);
	world_end(&w);
}

static const usec HOUR = 3600 * USEC_PER_SEC;
static void tick(struct world *w)
{
	assert_true(sd_event_source_set_time_relative(w->s->tick, 0) >= 0);
	settle(w);
}

/* However diligently. */
static void test_what_never_arrives_is_cut(void **state)
{
	struct pool_stats stats;
	struct file old, young;
	struct world w;
	struct call a;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(begin_file(&w, a.sandbox, &old), ERR_NONE);
	w.ahead = HOUR;
	assert_int_equal(begin_file(&w, a.sandbox, &young), ERR_NONE);
	w.ahead = SANDBOX_MAX_TRANSFER_HOURS * HOUR - HOUR / 2;
	tick(&w);
	assert_int_equal(old.cuts, 0);
	w.ahead += HOUR;
	tick(&w);
	assert_int_equal(old.cuts, 1);
	assert_int_equal(old.why, ERR_TIMEOUT);
	assert_int_equal(young.cuts, 0);
	sandbox_release(a.sandbox);
	get_stats(&w, &stats);
	assert_int_equal(stats.in_use, 1);
	w.ahead += HOUR;
	tick(&w);
	assert_int_equal(young.cuts, 1);
	get_stats(&w, &stats);
	assert_int_equal(stats.in_use, 0);
	world_end(&w);
}

#define MIB (UINT64_C(1) << 20)

/* A container whose use of the disk is known. */
static void begin_measured(struct world *w, struct call *call, uint64_t workspace, uint64_t layer)
{
	begin(w, call, "a");
	come_up(w, 0);
	assert_int_equal(call->verdict, SANDBOX_READY);
	assert_true(fake_is_asked(w->engine, 0)); /* at once for the first time */
	fake_reply_usage(w->engine, 0, workspace, layer);
	settle(w);
}

/* As much later as it takes for the next measurement; a call elsewhere has the service look. */
static void measure_later(struct world *w, uint64_t workspace, uint64_t layer)
{
	struct call other;

	assert_false(fake_is_asked(w->engine, 0));
	w->ahead += 10 * USEC_PER_SEC;
	begin(w, &other, "other");
	settle(w);
	sandbox_wait_cancel(other.wait);
	assert_true(fake_is_asked(w->engine, 0));
	fake_reply_usage(w->engine, 0, workspace, layer);
	settle(w);
}

/* The container that was told to stop has. */
static void stop(struct world *w)
{
	assert_true(fake_is_stopping(w->engine, 0));
	fake_stop(w->engine, 0);
	fake_reply(w->engine, 0, 0); /* the layer is dropped */
	settle(w);
}

/* The next call of a full sandbox whose container has ended. */
static void begin_full(struct world *w, struct call *call, uint64_t workspace)
{
	begin(w, call, "a");
	settle(w);
	/* What was there when the last one had ended counts, and not what this one begins with. */
	assert_false(fake_is_starting(w->engine, 0));
	fake_reply_usage(w->engine, 0, workspace, 0);
	settle(w);
	fake_start(w->engine, 0, true);
	settle(w);
	assert_int_equal(call->verdict, SANDBOX_READY);
	assert_true(sandbox_is_full(call->sandbox));
}

static void test_a_full_sandbox_is_ended_and_cleared(void **state)
{
	struct call a, full, again;
	struct world w;
	struct err err;

	world_start_limited(&w, state, 0, 100 * MIB);
	begin_measured(&w, &a, 100 * MIB, 100 * MIB);
	assert_false(fake_is_stopping(w.engine, 0));
	assert_int_equal(sandbox_check_room(a.sandbox, &err), 0);

	measure_later(&w, 101 * MIB, 0);
	assert_string_equal(sandbox_why_ended(a.sandbox), "/workspace holds 101 of 100 MiB");
	assert_int_equal(sandbox_check_room(a.sandbox, &err), -1);
	assert_int_equal(err.code, ERR_FULL);
	assert_non_null(strstr(err.msg, "/workspace holds 101 of 100 MiB. Delete something"));
	sandbox_release(a.sandbox);
	settle(&w);
	stop(&w);

	begin_full(&w, &full, 140 * MIB);
	assert_non_null(strstr(full.notes, "ended (/workspace holds 101 of 100 MiB)"));
	assert_non_null(strstr(full.notes, "[limit] /workspace holds 140 of 100 MiB: files can"));

	/* It removed some: the very next call may write, in the same container. */
	sandbox_release(full.sandbox);
	begin(&w, &again, "a");
	settle(&w);
	assert_int_equal(again.answers, 0);
	fake_reply_usage(w.engine, 0, 99 * MIB, 0);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_READY);
	assert_string_equal(again.notes, "");
	assert_false(sandbox_is_full(again.sandbox));
	sandbox_release(again.sandbox);
	world_end(&w);
}

static void test_what_grows_in_a_full_sandbox_is_ended(void **state)
{
	struct call a, full;
	struct world w;

	world_start_limited(&w, state, 0, 100 * MIB);
	begin_measured(&w, &a, 0, 101 * MIB);
	assert_string_equal(sandbox_why_ended(a.sandbox),
			    "what was written outside /workspace takes 101 of 100 MiB");
	sandbox_release(a.sandbox);
	settle(&w);
	stop(&w);
	begin_full(&w, &full, 120 * MIB);
	/* Less is what it may not grow beyond from now on. */
	measure_later(&w, 110 * MIB, 0);
	assert_false(fake_is_stopping(w.engine, 0));
	measure_later(&w, 111 * MIB, 0);
	assert_false(fake_is_stopping(w.engine, 0));
	measure_later(&w, 112 * MIB, 0);
	assert_true(fake_is_stopping(w.engine, 0));
	sandbox_release(full.sandbox);
	world_end(&w);
}

/* A keeper that is lost says nothing; what was measured of the last owner is not the next one's. */
static void test_measurements_are_lost_and_forgotten(void **state)
{
	struct call a, again;
	struct reset reset;
	struct world w;
	struct err err;

	world_start_limited(&w, state, 0, 100 * MIB);
	begin(&w, &a, "a");
	come_up(&w, 0);
	fake_keeper_ends(w.engine, 0);
	settle(&w);
	assert_false(fake_is_stopping(w.engine, 0));
	begin(&w, &again, "a");
	settle(&w);
	fake_open(w.engine, 0, true);
	settle(&w);
	assert_int_equal(again.verdict, SANDBOX_READY);
	sandbox_release(again.sandbox);
	settle(&w);
	measure_later(&w, 200 * MIB, 0);
	assert_int_equal(sandbox_check_room(a.sandbox, &err), -1);
	begin_reset(&a, SANDBOX_RESET_EVERYTHING, &reset);
	settle(&w);
	fake_stop(w.engine, 0);
	settle(&w);
	fake_roll(w.engine, 0, ENOTSUP);
	settle(&w);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	assert_int_equal(sandbox_check_room(a.sandbox, &err), 0);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* A look, as the operator has it. */
static void begin_look(struct world *w, struct call *look, const char *key)
{
	struct err err;

	*look = (struct call){ 0 };
	assert_int_equal(sandbox_look(w->s, view_str(key), on_acquired, look, &look->wait, &err),
			 0);
	settle(w);
}

static void get_slot(struct world *w, uint32_t slot, struct pool_slot_view *ret)
{
	pool_get_slot(sandboxes_pool(w->s), slot, ret);
}

/* Who looks changes nothing of what is seen: neither when it is emptied, nor whether it is used. */
static void test_a_look_is_no_use(void **state)
{
	struct pool_slot_view before, after;
	struct call a, b, queued, look;
	struct sandbox_view view;
	struct world w;
	struct err err;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin(&w, &b, "b");
	come_up(&w, 1);
	begin(&w, &queued, "c");
	settle(&w);
	assert_int_equal(queued.verdict, SANDBOX_QUEUED);
	assert_int_equal(sandboxes_empty(w.s, view_str(sandbox_key(b.sandbox)), &err), 0);
	sandbox_release(b.sandbox);
	settle(&w);
	fake_stop(w.engine, 1);
	settle(&w);
	fake_roll(w.engine, 1, 0);
	settle(&w);
	fake_reply(w.engine, 1, 0);
	settle(&w);
	fake_start(w.engine, 1, true);
	settle(&w);
	assert_true(sandboxes_is_unclaimed(w.s, "somebody"));
	sandbox_release(a.sandbox);

	for (uint32_t slot = 0; slot < 2; slot++) {
		w.ahead += 10 * USEC_PER_SEC;
		get_slot(&w, slot, &before);
		begin_look(&w, &look, before.holder.key);
		if (fake_is_opening(w.engine, slot))
			fake_open(w.engine, slot, true);
		settle(&w);
		assert_int_equal(look.verdict, SANDBOX_READY);
		assert_true(sandboxes_get(w.s, view_str(before.holder.key), &view));
		assert_int_equal(view.holds, 0);
		sandbox_look_end(look.sandbox);
		settle(&w);
		get_slot(&w, slot, &after);
		assert_true(after.last_used == before.last_used);
		assert_int_equal(after.holder.hold, before.holder.hold);
	}
	assert_true(sandboxes_is_unclaimed(w.s, "somebody"));
	world_end(&w);
}

/* What is being looked at may be emptied, and stays valid for who looks. */
static void test_what_is_looked_at_is_emptied(void **state)
{
	struct pool_stats stats;
	struct call a, look;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin_look(&w, &look, sandbox_key(a.sandbox));
	sandbox_release(a.sandbox);
	w.ahead = 601 * USEC_PER_SEC;
	pool_tick(sandboxes_pool(w.s), now(&w));
	settle(&w);
	fake_stop(w.engine, 0);
	settle(&w);
	roll(&w, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.free, 2);
	assert_null(sandbox_files(look.sandbox));
	sandbox_look_end(look.sandbox);
	world_end(&w);
}

static void begin_by_key(struct world *w, struct call *call, const char *key)
{
	struct err err;

	*call = (struct call){ 0 };
	assert_int_equal(
		sandbox_acquire_key(w->s, view_str(key), on_acquired, call, &call->wait, &err), 0);
}

/* A link needs the files alone. That they are on their way out is no reason to call them gone. */
static void test_links_while_it_is_reset(void **state)
{
	struct call a, link, info;
	struct reset reset;
	struct world w;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	begin_reset(&a, SANDBOX_RESET_BOX, &reset);
	begin_by_key(&w, &link, sandbox_key(a.sandbox));
	begin_for(&w, &info, "a", SANDBOX_NEED_EXISTING);
	settle(&w);
	assert_int_equal(reset.answers, 0);
	assert_int_equal(link.verdict, SANDBOX_READY);
	assert_int_equal(info.verdict, SANDBOX_READY);
	sandbox_release(link.sandbox);
	sandbox_release(info.sandbox);
	stop(&w);
	begin_reset(&a, SANDBOX_RESET_EVERYTHING, &reset);
	begin_by_key(&w, &link, sandbox_key(a.sandbox));
	begin_for(&w, &info, "a", SANDBOX_NEED_EXISTING);
	settle(&w);
	assert_int_equal(link.verdict, SANDBOX_REFUSED);
	assert_int_equal(link.err.code, ERR_BUSY);
	assert_int_equal(info.err.code, ERR_BUSY);
	roll(&w, 0);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	assert_true(reset.ok);
	sandbox_release(a.sandbox);
	world_end(&w);
}

/* The owner keeps the slot, and everybody sees that, also if the server ends meanwhile. */
static void test_a_restart_during_a_reset(void **state)
{
	char key[SANDBOX_MAX_KEY];
	struct sandbox_view view;
	struct pool_stats stats;
	struct reset reset;
	struct world w;
	struct call a;
	struct err err;

	world_start(&w, state, 0);
	begin(&w, &a, "a");
	come_up(&w, 0);
	(void)snprintf(key, sizeof(key), "%s", sandbox_key(a.sandbox));
	begin_reset(&a, SANDBOX_RESET_EVERYTHING, &reset);
	settle(&w);
	world_end(&w);

	world_start(&w, state, 0);
	settle(&w);
	assert_true(fake_is_rolling(w.engine, 0));
	assert_true(sandboxes_get(w.s, view_str(key), &view));
	assert_int_equal(sandboxes_empty(w.s, view_str(key), &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	roll(&w, 0);
	fake_open(w.engine, 0, true);
	settle(&w);
	fake_reply(w.engine, 0, 0);
	settle(&w);
	get_stats(&w, &stats);
	assert_int_equal(stats.held, 1);
	assert_int_equal(stats.resetting, 0);
	assert_true(sandboxes_get(w.s, view_str(key), &view));
	begin(&w, &a, "a");
	come_up(&w, 0);
	assert_int_equal(a.verdict, SANDBOX_READY);
	assert_non_null(strstr(a.notes, "/workspace is empty"));
	sandbox_release(a.sandbox);
	assert_int_equal(sandboxes_empty(w.s, view_str(key), &err), 0);
	settle(&w);
	assert_false(sandboxes_get(w.s, view_str(key), &view));
	world_end(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, state_file_set_up, state_file_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two_are_refused_at_once),
		TEST(test_nobody_is_served_without_limits),
		TEST(test_room_for_newcomers),
		TEST(test_a_full_sandbox_is_ended_and_cleared),
		TEST(test_what_grows_in_a_full_sandbox_is_ended),
		TEST(test_measurements_are_lost_and_forgotten),
		TEST(test_a_start_waits_for_room),
		TEST(test_a_start_outlives_the_spawner),
		TEST(test_a_start_in_a_full_layer),
		TEST(test_a_full_layer_stays_so),
		TEST(test_reset_while_a_start_fails),
		TEST(test_reset_as_the_spawner_is_lost),
		TEST(test_reset_of_what_is_emptied),
		TEST(test_rolled_back),
		TEST(test_rolled_back_but_not_empty),
		TEST(test_the_spawner_is_lost_while_rolling_back),
		TEST(test_the_spawner_is_lost_while_emptying),
		TEST(test_keepers_end_while_emptying),
		TEST(test_a_keeper_ends_before_it_is_asked_to_empty),
		TEST(test_a_call_is_cancelled_in_every_state),
		TEST(test_a_principal_ends),
		TEST(test_who_is_told_that_it_is_new),
		TEST(test_who_closes_a_file),
		TEST(test_a_reset_cuts_what_is_on_its_way),
		TEST(test_what_a_reset_leaves_of_the_tools),
		TEST(test_the_operator_cuts_what_is_on_its_way),
		TEST(test_a_recycle_cuts_nothing),
		TEST(test_so_many_on_their_way),
		TEST(test_what_never_arrives_is_cut),
		TEST(test_a_look_is_no_use),
		TEST(test_what_is_looked_at_is_emptied),
		TEST(test_links_while_it_is_reset),
		TEST(test_a_restart_during_a_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
