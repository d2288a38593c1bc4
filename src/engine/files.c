/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers: the transport of requests about a slot's files. */
#include "engine/native.h"

#include <stdlib.h>

enum { MAX_CALLS = 256 }; /* under way in one keeper */

struct call {
	struct list in_calls;
	uint64_t id;
	engine_reply_fn *fn; /* NULL: forgotten */
	void *userdata;
};

enum files_state {
	FILES_WAITING,  /* until the slot's last keeper is gone */
	FILES_STARTING, /* asked the spawner */
	FILES_OPEN,
	FILES_CLOSED, /* its owner has no handle any more; the spawner's ENDED is to come */
};

struct engine_files {
	struct list in_files;
	struct engine *engine;
	uint64_t id; /* to the spawner; 0 while WAITING */
	uint32_t slot;
	enum files_state state;
	struct chan *keeper;
	struct list calls;
	size_t n_calls;
	uint64_t next_call;
	engine_files_fn *opened;
	void *opened_userdata;
	void (*ended)(void *userdata);
	void *ended_userdata;
};

static void call_finish(struct engine_files *files, struct call *call,
			const struct keeper_reply *reply, int fd)
{
	engine_reply_fn *fn = call->fn;
	void *userdata = call->userdata;

	list_remove(&call->in_calls);
	files->n_calls--;
	free(call);
	if (fn)
		fn(userdata, reply, fd);
	else if (fd >= 0)
		(void)close(fd);
}

static void lose_calls(struct engine_files *files)
{
	while (!list_is_empty(&files->calls))
		call_finish(files, container_of(files->calls.next, struct call, in_calls), NULL,
			    -1);
}

static void files_free(struct engine_files *files)
{
	struct list *it, *tmp;

	list_each(it, tmp, &files->calls) container_of(it, struct call, in_calls)->fn = NULL;
	lose_calls(files);
	list_remove(&files->in_files);
	chan_free(files->keeper);
	free(files);
}

static void send_stop(const struct engine_files *files)
{
	struct spawner_request request;

	spawner_request_init(&request, SPAWNER_STOP, files->id);
	native_send(files->engine, &request);
}

static void send_start(struct engine_files *files)
{
	struct spawner_request request;

	files->state = FILES_STARTING;
	files->id = files->engine->next_id++;
	spawner_request_init(&request, SPAWNER_KEEPER, files->id);
	request.slot = files->slot;
	native_send(files->engine, &request);
}

/* A slot's keeper is gone: the next one in line may start. */
static void start_waiting(struct engine *engine, uint32_t slot)
{
	struct list *it, *tmp;

	list_each(it, tmp, &engine->files)
	{
		struct engine_files *files = container_of(it, struct engine_files, in_files);

		if (files->slot == slot && files->state == FILES_WAITING) {
			send_start(files);
			return;
		}
	}
}

/* The keeper is no more, by itself or because we gave it up. */
static void files_finish(struct engine_files *files, const char *why)
{
	struct engine_files gone;
	struct err err;

	lose_calls(files);
	gone = *files;
	files_free(files);
	if (gone.state == FILES_OPEN && gone.ended) {
		gone.ended(gone.ended_userdata);
	} else if (gone.state == FILES_WAITING || gone.state == FILES_STARTING) {
		(void)err_set(&err, ERR_SYSTEM, "start the keeper: %s", why);
		gone.opened(gone.opened_userdata, NULL, &err);
	}
}

/* From now on only the spawner's ENDED is of interest; its owner is told the keeper is lost. */
static void give_up(struct engine_files *files)
{
	enum files_state was = files->state;
	void (*ended)(void *userdata) = files->ended;
	void *userdata = files->ended_userdata;

	if (was == FILES_CLOSED)
		return;
	send_stop(files);
	files->state = FILES_CLOSED;
	lose_calls(files);
	if (was == FILES_OPEN && ended)
		ended(userdata);
}

static void on_reply(void *userdata, const char *p, size_t len, const int *fds, size_t n_fds)
{
	struct engine_files *files = userdata;
	int fd = n_fds ? fds[0] : -1;
	struct keeper_reply reply;
	struct list *it, *tmp;
	uint64_t id;

	if (files->state == FILES_OPEN && keeper_reply_decode(view_of(p, len), &id, &reply) == 0)
		list_each(it, tmp, &files->calls)
		{
			struct call *call = container_of(it, struct call, in_calls);

			if (call->id == id) {
				call_finish(files, call, &reply, fd);
				return;
			}
		}
	if (fd >= 0)
		(void)close(fd);
	give_up(files); /* nonsense, or an answer to a question never asked */
}

static void on_keeper_closed(void *userdata, enum chan_end end)
{
	(void)end;
	give_up(userdata);
}

static const struct chan_handlers keeper_handlers = {
	.message = on_reply,
	.closed = on_keeper_closed,
	.max_message = KEEPER_MAX_MESSAGE,
	.max_fds = 1,
	.max_queue = 64,
};

static bool slot_is_busy(const struct engine *engine, uint32_t slot, bool *ret_is_open)
{
	struct list *it, *tmp;
	bool is_busy = false;

	*ret_is_open = false;
	list_each(it, tmp, &engine->files)
	{
		const struct engine_files *files = container_of(it, struct engine_files, in_files);

		if (files->slot != slot)
			continue;
		is_busy = true;
		if (files->state != FILES_CLOSED)
			*ret_is_open = true;
	}
	return is_busy;
}

int engine_files_open(struct engine *engine, uint32_t slot, engine_files_fn *fn, void *userdata,
		      struct err *err)
{
	struct engine_files *files;
	bool is_open, is_busy;

	if (!engine->is_ready)
		return err_set(err, ERR_BUSY, "the spawner is not running");
	if (slot >= SPAWNER_MAX_SLOTS)
		return err_set(err, ERR_BUG, "there is no slot %u", slot);
	is_busy = slot_is_busy(engine, slot, &is_open);
	if (is_open)
		return err_set(err, ERR_BUG, "slot %u has a keeper already", slot);
	files = calloc(1, sizeof(*files));
	if (!files)
		return err_set(err, ERR_SYSTEM, "out of memory");
	files->engine = engine;
	files->slot = slot;
	files->opened = fn;
	files->opened_userdata = userdata;
	list_init(&files->calls);
	list_add_tail(&engine->files, &files->in_files);
	if (!is_busy)
		send_start(files);
	return 0;
}

void engine_files_on_end(struct engine_files *files, void (*fn)(void *userdata), void *userdata)
{
	files->ended = fn;
	files->ended_userdata = userdata;
}

void engine_files_close(struct engine_files *files)
{
	files->ended = NULL;
	give_up(files);
}

int engine_files_call(struct engine_files *files, const struct keeper_request *request, int in_fd,
		      engine_reply_fn *fn, void *userdata, struct err *err)
{
	auto_buf struct buf message = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct call *call;
	int r;

	if (files->state != FILES_OPEN)
		return err_set(err, ERR_GONE, "the keeper has ended");
	if (files->n_calls >= MAX_CALLS)
		return err_set(err, ERR_BUSY, "too many file operations at once");
	r = keeper_request_encode(&message, files->next_call, request);
	if (r < 0)
		return err_set(err, ERR_INVALID, "the path is too long or holds a NUL");
	call = calloc(1, sizeof(*call));
	if (!call)
		return err_set(err, ERR_SYSTEM, "out of memory");
	r = chan_send(files->keeper, message.p, message.len, &in_fd, in_fd >= 0 ? 1 : 0);
	if (r < 0) {
		free(call);
		if (r == -EAGAIN)
			return err_set(err, ERR_BUSY, "too many file operations at once");
		return err_sys(err, -r, "ask the keeper");
	}
	call->id = files->next_call++;
	call->fn = fn;
	call->userdata = userdata;
	list_add_tail(&files->calls, &call->in_calls);
	files->n_calls++;
	return 0;
}

void engine_files_forget(struct engine_files *files, void *userdata)
{
	struct list *it, *tmp;

	list_each(it, tmp, &files->calls)
	{
		struct call *call = container_of(it, struct call, in_calls);

		if (call->userdata == userdata)
			call->fn = NULL;
	}
}

static void on_started(struct engine_files *files, const struct spawner_event *event, int fd)
{
	struct engine *engine = files->engine;
	uint32_t slot = files->slot;
	struct err err;

	if (event->error) {
		files_finish(files, event->text);
		start_waiting(engine, slot);
		return;
	}
	if (files->state != FILES_STARTING) {
		(void)close(fd);
		return;
	}
	if (chan_new(engine->event, fd, &keeper_handlers, files, &engine->buffer, &files->keeper,
		     &err) < 0) {
		send_stop(files); /* ENDED tells the owner */
		return;
	}
	files->state = FILES_OPEN;
	files->opened(files->opened_userdata, files, NULL);
}

bool files_on_event(struct engine *engine, const struct spawner_event *event, int *fds)
{
	struct list *it, *tmp;

	list_each(it, tmp, &engine->files)
	{
		struct engine_files *files = container_of(it, struct engine_files, in_files);
		uint32_t slot = files->slot;

		if (files->id != event->id)
			continue;
		if (event->type == SPAWNER_STARTED) {
			on_started(files, event, take_fd(fds[0]));
		} else if (event->type == SPAWNER_ENDED) {
			files_finish(files, event->text);
			start_waiting(engine, slot);
		}
		return true;
	}
	return false;
}

void files_end_all(struct engine *engine, const char *why)
{
	while (!list_is_empty(&engine->files))
		files_finish(container_of(engine->files.next, struct engine_files, in_files), why);
}

void files_free_all(struct engine *engine)
{
	while (!list_is_empty(&engine->files))
		files_free(container_of(engine->files.next, struct engine_files, in_files));
}
