/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: its connection to the spawner. */
#include "engine/native.h"

#include "base/log.h"
#include "sys/io.h"
#include "sys/loop.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BACKOFF_MIN (50 * USEC_PER_MSEC)
#define BACKOFF_MAX (2 * USEC_PER_SEC)

static void notify(struct engine *engine)
{
	if (engine->changed)
		engine->changed(engine->changed_userdata);
}

static void schedule_retry(struct engine *engine)
{
	loop_wake_after(engine->retry, engine->backoff);
	engine->backoff *= 2;
	if (engine->backoff > BACKOFF_MAX)
		engine->backoff = BACKOFF_MAX;
}

/* Boxes and keepers are told first: nobody may think that they are there when readiness changes. */
static void lose(struct engine *engine, const char *why)
{
	bool was_ready = engine->is_ready;

	if (!engine->spawner)
		return;
	log_warning("lost the spawner: %s", why);
	chan_free(engine->spawner);
	engine->spawner = NULL;
	engine->is_ready = false;
	(void)sd_event_source_set_enabled(engine->lost, SD_EVENT_OFF);
	schedule_retry(engine);
	box_end_all(engine, "the spawner was lost");
	files_end_all(engine, "the spawner was lost");
	rollback_end_all(engine, "the spawner was lost");
	if (was_ready)
		notify(engine);
}

static int on_lost(sd_event_source *source, void *userdata)
{
	(void)source;
	lose(userdata, "it does not take messages");
	return 0;
}

static void on_hello(struct engine *engine, const struct spawner_event *event)
{
	char why[2 * SPAWNER_MAX_TEXT + 160];

	/* The walls that were asked for, or none. */
	if (strcmp(event->text, engine->name) != 0) {
		(void)snprintf(why, sizeof(why),
			       "its engine is %s, the configuration wants %.200s: run berth setup "
			       "--systemd again, or restart both",
			       event->text, engine->name);
		lose(engine, why);
		return;
	}
	engine->facts = event->facts;
	engine->is_ready = true;
	engine->backoff = BACKOFF_MIN;
	notify(engine);
}

static void on_message(void *userdata, const char *p, size_t len, const int *fds, size_t n_fds)
{
	struct engine *engine = userdata;
	int untaken[SPAWNER_MAX_EVENT_FDS] = { -1, -1, -1 };
	struct spawner_event event;
	bool is_good = spawner_event_decode(p, len, n_fds, &event) == 0;

	for (size_t i = 0; i < n_fds; i++)
		untaken[i] = fds[i];
	if (!is_good || (event.type == SPAWNER_HELLO) == engine->is_ready)
		lose(engine, "it broke the protocol");
	else if (event.type == SPAWNER_HELLO)
		on_hello(engine, &event);
	else if (!box_on_event(engine, &event, untaken) && !files_on_event(engine, &event, untaken))
		(void)rollback_on_event(engine, &event); /* or it was given up meanwhile */
	for (size_t i = 0; i < ARRAY_SIZE(untaken); i++)
		if (untaken[i] >= 0)
			(void)close(untaken[i]);
}

static void on_closed(void *userdata, enum chan_end end)
{
	lose(userdata, end == CHAN_HUNG_UP ? "its connection ended" : "it broke the protocol");
}

static const struct chan_handlers spawner_handlers = {
	.message = on_message,
	.closed = on_closed,
	.max_message = sizeof(struct spawner_event) + 1,
	.max_fds = SPAWNER_MAX_EVENT_FDS,
	.max_queue =
		8192, /* small ones: something about each slot at once is no reason to give up */
};

void native_send(struct engine *engine, const struct spawner_request *request)
{
	/* Not here and now: the caller is in the middle of its own state. */
	if (engine->spawner && chan_send(engine->spawner, request, sizeof(*request), NULL, 0) < 0)
		loop_wake(engine->lost);
}

/* Connecting to a socket of this host does not block, unless its backlog is full: EAGAIN. */
static int connect_spawner(struct engine *engine, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof(peer);
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_sys(err, errno, "socket");
	if (view_copy(view_str(engine->socket_path), address.sun_path, sizeof(address.sun_path)) <
	    0)
		return err_set(err, ERR_INVALID, "the name of the spawner's socket is too long");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_sys(err, errno, "connect to %s", engine->socket_path);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid())
		return err_set(err, ERR_DENIED, "%s belongs to another user", engine->socket_path);
	return chan_new(engine->event, take_fd(fd), &spawner_handlers, engine, &engine->buffer,
			&engine->spawner, err);
}

static int on_retry(sd_event_source *source, uint64_t time, void *userdata)
{
	struct engine *engine = userdata;
	struct err err;

	(void)source;
	(void)time;
	if (connect_spawner(engine, &err) < 0) {
		log_debug("%s", err.msg);
		schedule_retry(engine);
	}
	return 0;
}

static int add_sources(struct engine *engine)
{
	int r = loop_add_timer(engine->event, &engine->retry, on_retry, engine);

	if (r >= 0)
		r = loop_add_deferred(engine->event, &engine->lost, on_lost, engine);
	/* At once for the first time. */
	if (r >= 0)
		loop_wake(engine->retry);
	return r;
}

int engine_native_new(sd_event *event, const struct engine_native_config *config,
		      struct engine **ret, struct err *err)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int r;

	if (!engine)
		return err_set(err, ERR_SYSTEM, "out of memory");
	list_init(&engine->boxes);
	list_init(&engine->files);
	list_init(&engine->rollbacks);
	engine->event = sd_event_ref(event);
	engine->next_id = 1;
	engine->backoff = BACKOFF_MIN;
	engine->start_patience =
		config->start_patience ? config->start_patience : ENGINE_START_PATIENCE;
	engine->socket_path = strdup(config->spawner_socket);
	engine->name = strdup(config->name);
	engine->buffer.size = KEEPER_MAX_MESSAGE + 1;
	engine->buffer.p = malloc(engine->buffer.size);
	r = engine->socket_path && engine->name && engine->buffer.p ? add_sources(engine) : -ENOMEM;
	if (r < 0) {
		engine_free(engine);
		return err_sys(err, -r, "set up the engine");
	}
	*ret = engine;
	return 0;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	box_free_all(engine);
	files_free_all(engine);
	rollback_free_all(engine);
	chan_free(engine->spawner);
	(void)sd_event_source_disable_unref(engine->retry);
	(void)sd_event_source_disable_unref(engine->lost);
	(void)sd_event_unref(engine->event);
	free(engine->socket_path);
	free(engine->name);
	free(engine->buffer.p);
	free(engine);
}

void engine_get_facts(const struct engine *engine, struct engine_facts *ret)
{
	static const char *const namespaces[SPAWNER_NUM_NS] = { "none", "pool", "newuidmap" };
	static const char *const limits[SPAWNER_NUM_LIMITERS] = { "rlimits only", "cgroup1",
								  "cgroup2" };
	static const char *const networks[SPAWNER_NUM_NETWORKS] = { "none", "veth" };
	const struct spawner_facts *f = &engine->facts;

	*ret = (struct engine_facts){
		.name = engine->name,
		.namespaces = namespaces[f->namespaces],
		.limits = limits[f->limiter],
		.network = networks[f->network],
		.memory_limited = f->limited & SPAWNER_LIMITS_MEMORY,
		.cpu_limited = f->limited & SPAWNER_LIMITS_CPU,
		.pids_limited = f->limited & SPAWNER_LIMITS_PIDS,
		.io_limited = f->limited & SPAWNER_LIMITS_IO,
	};
}

bool engine_is_ready(const struct engine *engine)
{
	return engine->is_ready;
}

void engine_on_change(struct engine *engine, void (*fn)(void *userdata), void *userdata)
{
	engine->changed = fn;
	engine->changed_userdata = userdata;
}
