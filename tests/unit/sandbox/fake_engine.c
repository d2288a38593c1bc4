/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_engine.h"

#include <assert.h>
#include <stdlib.h>

struct engine_box {
	struct engine *engine;
	uint32_t slot;
	bool is_there;
	engine_started_fn *started;
	void (*ended)(void *userdata, const char *why);
	void (*stopped)(void *userdata);
	void *start_data, *end_data, *stop_data;
};

struct engine_files {
	struct engine *engine;
	uint32_t slot;
	bool is_there;
	engine_files_fn *opened;
	void (*ended)(void *userdata);
	engine_reply_fn *reply;
	void *open_data, *end_data, *reply_data;
	unsigned released;
	bool is_deaf;
};

struct fake_rollback {
	engine_rolled_back_fn *fn;
	void *userdata;
};

struct engine {
	bool is_ready, is_limited;
	void (*changed)(void *userdata);
	void *changed_data;
	struct engine_box boxes[FAKE_SLOTS];
	struct engine_files files[FAKE_SLOTS];
	struct fake_rollback rollbacks[FAKE_SLOTS];
};

struct engine *fake_engine_new(void)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	assert(engine);
	engine->is_ready = engine->is_limited = true;
	for (uint32_t i = 0; i < FAKE_SLOTS; i++) {
		engine->boxes[i] = (struct engine_box){ .engine = engine, .slot = i };
		engine->files[i] = (struct engine_files){ .engine = engine, .slot = i };
	}
	return engine;
}

void fake_engine_free(struct engine *engine)
{
	free(engine);
}

static void lose_box(struct engine_box *box, int error)
{
	struct engine_box was = *box;
	struct err err;

	*box = (struct engine_box){ .engine = was.engine, .slot = was.slot };
	(void)err_set(&err, ERR_SYSTEM, "lost");
	err.sys_errno = error;
	if (was.started)
		was.started(was.start_data, NULL, &err);
	else if (was.stopped)
		was.stopped(was.stop_data);
	else if (was.is_there && was.ended)
		was.ended(was.end_data, "lost");
}

static void lose_files(struct engine_files *files)
{
	struct engine_files was = *files;
	struct err err;

	*files = (struct engine_files){ .engine = was.engine, .slot = was.slot };
	(void)err_set(&err, ERR_SYSTEM, "lost");
	if (was.reply)
		was.reply(was.reply_data, NULL, -1);
	if (was.opened)
		was.opened(was.open_data, NULL, &err);
	else if (was.is_there && was.ended)
		was.ended(was.end_data);
}

void fake_lose(struct engine *engine)
{
	engine->is_ready = false;
	for (uint32_t i = 0; i < FAKE_SLOTS; i++)
		lose_box(&engine->boxes[i], 0);
	for (uint32_t i = 0; i < FAKE_SLOTS; i++)
		lose_files(&engine->files[i]);
	for (uint32_t i = 0; i < FAKE_SLOTS; i++)
		if (fake_is_rolling(engine, i))
			fake_roll(engine, i, EIO);
	engine->changed(engine->changed_data);
}

void fake_ready(struct engine *engine)
{
	engine->is_ready = true;
	engine->changed(engine->changed_data);
}

void fake_limit(struct engine *engine, bool is_limited)
{
	engine->is_limited = is_limited;
}

bool fake_is_starting(const struct engine *engine, uint32_t slot)
{
	return engine->boxes[slot].started;
}

bool fake_is_stopping(const struct engine *engine, uint32_t slot)
{
	return engine->boxes[slot].stopped;
}

bool fake_is_opening(const struct engine *engine, uint32_t slot)
{
	return engine->files[slot].opened;
}

bool fake_is_asked(const struct engine *engine, uint32_t slot)
{
	return engine->files[slot].reply;
}

bool fake_is_rolling(const struct engine *engine, uint32_t slot)
{
	return engine->rollbacks[slot].fn;
}

void fake_roll(struct engine *engine, uint32_t slot, int error)
{
	struct fake_rollback *rollback = &engine->rollbacks[slot];
	struct err err;

	assert(rollback->fn);
	(void)err_sys(&err, error, "roll back");
	take_ptr(rollback->fn)(rollback->userdata, error ? &err : NULL);
}

void fake_start(struct engine *engine, uint32_t slot, bool ok)
{
	struct engine_box *box = &engine->boxes[slot];

	assert(box->started);
	if (!ok) {
		lose_box(box, 0);
		return;
	}
	box->is_there = true;
	take_ptr(box->started)(box->start_data, box, NULL);
}

void fake_start_full(struct engine *engine, uint32_t slot)
{
	assert(engine->boxes[slot].started);
	lose_box(&engine->boxes[slot], EDQUOT);
}

void fake_box_ends(struct engine *engine, uint32_t slot)
{
	assert(engine->boxes[slot].is_there);
	lose_box(&engine->boxes[slot], 0);
}

void fake_stop(struct engine *engine, uint32_t slot)
{
	struct engine_box *box = &engine->boxes[slot];

	assert(box->stopped);
	box->is_there = false;
	take_ptr(box->stopped)(box->stop_data);
}

void fake_open(struct engine *engine, uint32_t slot, bool ok)
{
	struct engine_files *files = &engine->files[slot];

	assert(files->opened);
	if (!ok) {
		lose_files(files);
		return;
	}
	files->is_there = true;
	take_ptr(files->opened)(files->open_data, files, NULL);
}

static void reply_with(struct engine *engine, uint32_t slot, const struct keeper_reply *reply)
{
	struct engine_files *files = &engine->files[slot];

	assert(files->reply);
	take_ptr(files->reply)(files->reply_data, reply, -1);
}

void fake_reply(struct engine *engine, uint32_t slot, int error)
{
	reply_with(engine, slot,
		   &(struct keeper_reply){ .error = error, .text = VIEW("as the test wants it") });
}

void fake_reply_usage(struct engine *engine, uint32_t slot, uint64_t workspace, uint64_t layer)
{
	reply_with(engine, slot,
		   &(struct keeper_reply){ .number = workspace, .size = workspace + layer });
}

unsigned fake_released(const struct engine *engine, uint32_t slot)
{
	return engine->files[slot].released;
}

void fake_keeper_is_deaf(struct engine *engine, uint32_t slot)
{
	engine->files[slot].is_deaf = true;
}

void fake_keeper_ends(struct engine *engine, uint32_t slot)
{
	lose_files(&engine->files[slot]);
}

/* ---- the interface ---- */

void engine_get_facts(const struct engine *engine, struct engine_facts *ret)
{
	*ret = (struct engine_facts){
		.name = "fake",
		.memory_limited = engine->is_limited,
		.cpu_limited = engine->is_limited,
		.pids_limited = engine->is_limited,
	};
}

bool engine_is_ready(const struct engine *engine)
{
	return engine->is_ready;
}

void engine_on_change(struct engine *engine, void (*fn)(void *userdata), void *userdata)
{
	engine->changed = fn;
	engine->changed_data = userdata;
}

int engine_start(struct engine *engine, const struct engine_box_spec *spec, engine_started_fn *fn,
		 void *userdata, struct err *err)
{
	struct engine_box *box = &engine->boxes[spec->slot];

	(void)err;
	assert(!box->is_there && !box->started && !box->stopped);
	box->started = fn;
	box->start_data = userdata;
	return 0;
}

int engine_roll_back(struct engine *engine, uint32_t slot, engine_rolled_back_fn *fn,
		     void *userdata, struct err *err)
{
	(void)err;
	assert(!fake_is_rolling(engine, slot) && !engine->boxes[slot].is_there);
	engine->rollbacks[slot] = (struct fake_rollback){ .fn = fn, .userdata = userdata };
	return 0;
}

void engine_box_on_end(struct engine_box *box, void (*fn)(void *userdata, const char *why),
		       void *userdata)
{
	box->ended = fn;
	box->end_data = userdata;
}

void engine_box_stop(struct engine_box *box, void (*fn)(void *userdata), void *userdata)
{
	assert(box->is_there && !box->stopped);
	box->stopped = fn;
	box->stop_data = userdata;
}

int engine_files_open(struct engine *engine, uint32_t slot, engine_files_fn *fn, void *userdata,
		      struct err *err)
{
	struct engine_files *files = &engine->files[slot];

	(void)err;
	assert(!files->is_there && !files->opened);
	files->opened = fn;
	files->open_data = userdata;
	return 0;
}

void engine_files_on_end(struct engine_files *files, void (*fn)(void *userdata), void *userdata)
{
	files->ended = fn;
	files->end_data = userdata;
}

void engine_files_close(struct engine_files *files)
{
	files->ended = NULL;
	lose_files(files);
}

int engine_files_call(struct engine_files *files, const struct keeper_request *request, int in_fd,
		      engine_reply_fn *fn, void *userdata, struct err *err)
{
	if (files->is_there && request->verb == KEEPER_RELEASE) {
		assert(in_fd >= 0 && !fn);
		files->released++;
		return 0;
	}
	if (!files->is_there || files->reply || files->is_deaf)
		return err_set(err, ERR_BUSY, "not now");
	files->reply = fn;
	files->reply_data = userdata;
	return 0;
}
