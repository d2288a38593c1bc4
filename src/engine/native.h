/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native engine's insides, shared by its files: the connection to the spawner (native.c),
 * boxes and their commands (box.c, cmd.c), keepers (files.c), rollbacks (rollback.c).
 */
#ifndef BERTH_ENGINE_NATIVE_H
#define BERTH_ENGINE_NATIVE_H

#include "base/list.h"
#include "engine/chan.h"
#include "engine/engine.h"
#include "wire/spawner.h"

struct engine {
	sd_event *event;
	char *socket_path, *name;
	struct chan *spawner; /* NULL while there is none */
	bool is_ready;        /* it has said HELLO */
	struct spawner_facts facts;
	struct list boxes, files, rollbacks;
	uint64_t next_id;
	struct chan_buffer buffer;
	sd_event_source *retry; /* timer to connect again */
	sd_event_source *lost;  /* deferred: the connection is to be given up */
	usec backoff, start_patience;
	void (*changed)(void *userdata);
	void *changed_userdata;
};

/* Never fails to its caller: if the spawner does not take it, the connection is given up soon, and
 * with it what the message was about. */
void native_send(struct engine *engine, const struct spawner_request *request);

/* Events of the spawner for each kind; false if the id is none of theirs. Of the
 * SPAWNER_MAX_EVENT_FDS descriptors, those that are taken are set to -1. */
bool box_on_event(struct engine *engine, const struct spawner_event *event, int *fds);
bool files_on_event(struct engine *engine, const struct spawner_event *event, int *fds);
bool rollback_on_event(struct engine *engine, const struct spawner_event *event);
/* The spawner is gone: every box, keeper and rollback ends, with callbacks. */
void box_end_all(struct engine *engine, const char *why);
void files_end_all(struct engine *engine, const char *why);
void rollback_end_all(struct engine *engine, const char *why);
/* Without callbacks: the engine is being freed. */
void box_free_all(struct engine *engine);
void files_free_all(struct engine *engine);
void rollback_free_all(struct engine *engine);

/* ---- between box.c and cmd.c ---- */

enum box_state {
	BOX_STARTING, /* asked the spawner */
	BOX_BOOTING,  /* waiting for init's READY */
	BOX_RUNNING,
	BOX_STOPPING, /* waiting for the spawner's ENDED */
};

struct engine_box {
	struct list in_boxes;
	struct engine *engine;
	uint64_t id;
	uint32_t slot;
	enum box_state state;
	bool was_running;
	bool is_late;    /* it did not start in time */
	int start_error; /* positive errno of the spawner's, or 0 */
	struct chan *init;
	int counters[SPAWNER_NUM_COUNTERS]; /* files to read them from, or -1 */
	sd_event_source *deadline;          /* for starting, and for dying once init hung up */
	struct list cmds, usages;
	size_t n_cmds;
	uint32_t next_cmd;
	uint64_t next_tag;
	char why[SPAWNER_MAX_TEXT]; /* STOPPING on our own initiative: the reason */
	engine_started_fn *started;
	void *started_userdata;
	void (*ended)(void *userdata, const char *why);
	void *ended_userdata;
	void (*stopped)(void *userdata);
	void *stopped_userdata;
};

/* It cannot go on: kill it; its end is told when the spawner says so. */
void box_fail(struct engine_box *box, const char *why);
/* An event of init about a command; false if there is no such command. */
bool cmd_on_event(struct engine_box *box, const struct init_event *event);
/* All commands end as ENGINE_LOST. */
void cmd_lose_all(struct engine_box *box);
void cmd_free_all(struct engine_box *box);

#endif
