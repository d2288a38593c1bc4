/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in which nothing happens before the test says so: each request waits until it is
 * answered. One request of a kind a slot at a time, as the real users ask.
 */
#ifndef BERTH_TESTS_FAKE_ENGINE_H
#define BERTH_TESTS_FAKE_ENGINE_H

#include "engine/engine.h"

enum { FAKE_SLOTS = 4 };

struct engine *fake_engine_new(void);
void fake_engine_free(struct engine *engine);
/* All boxes, keepers and requests are lost, or a new spawner is there. */
void fake_lose(struct engine *engine);
void fake_ready(struct engine *engine);
/* Whether it can limit memory, CPU and processes; it can at first. */
void fake_limit(struct engine *engine, bool is_limited);

/* Whether a request waits. */
bool fake_is_starting(const struct engine *engine, uint32_t slot);
bool fake_is_stopping(const struct engine *engine, uint32_t slot);
bool fake_is_opening(const struct engine *engine, uint32_t slot);
bool fake_is_asked(const struct engine *engine, uint32_t slot);
bool fake_is_rolling(const struct engine *engine, uint32_t slot);

/* Answers it. */
void fake_start(struct engine *engine, uint32_t slot, bool ok);
/* There was no room for the start: EDQUOT. */
void fake_start_full(struct engine *engine, uint32_t slot);
/* The container that runs ends by itself. */
void fake_box_ends(struct engine *engine, uint32_t slot);
void fake_stop(struct engine *engine, uint32_t slot);
void fake_open(struct engine *engine, uint32_t slot, bool ok);
/* 0, or an errno, as the next. */
void fake_roll(struct engine *engine, uint32_t slot, int error);
void fake_reply(struct engine *engine, uint32_t slot, int error);
/* To a measurement: bytes in the workspace and in the layer. */
void fake_reply_usage(struct engine *engine, uint32_t slot, uint64_t workspace, uint64_t layer);

/* How many files the keeper was given to close. */
unsigned fake_released(const struct engine *engine, uint32_t slot);

/* The keeper takes nothing any more: it has ended, and nobody knows. */
void fake_keeper_is_deaf(struct engine *engine, uint32_t slot);
/* The keeper ends by itself. */
void fake_keeper_ends(struct engine *engine, uint32_t slot);

#endif
