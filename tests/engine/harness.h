/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with its spawner on an event loop, and short ways to start boxes and run commands in
 * them and wait for the result. One at a time; everything that takes too long fails the test.
 */
#ifndef BERTH_TESTS_ENGINE_HARNESS_H
#define BERTH_TESTS_ENGINE_HARNESS_H

#include "engine/engine.h"
#include "fixture.h"

enum { HARNESS_PATIENCE_SECONDS = 20, HARNESS_MAX_OUTPUT = 1024 * 1024 };

struct harness {
	const struct fixture *fixture;
	pid_t spawner;
	sd_event *event;
	struct engine *engine;
};

struct run {
	bool is_done;
	struct engine_exit exit;
	struct buf output;
	struct engine_cmd *cmd;
	int output_fd;
	sd_event_source *io;
};

void harness_start(struct harness *h, const struct fixture *fixture);
/* For cmocka, with *state a harness whose fixture is set. */
int harness_set_up(void **state);
int harness_tear_down(void **state);
/* Ends engine and spawner; checks that no process and no control group is left. */
void harness_stop(struct harness *h);
/* Runs the loop until *flag; false after HARNESS_PATIENCE_SECONDS, times $BERTH_TEST_SLOWNESS. */
bool harness_wait(struct harness *h, const bool *flag);
/* Waits until the machine has no more than `processes` of the slots' ids. */
bool harness_wait_processes(struct harness *h, int processes);

struct engine_box_spec harness_spec(uint32_t slot);
/* NULL if it could not be started; *err says why. */
struct engine_box *harness_box(struct harness *h, const struct engine_box_spec *spec,
			       struct err *err);
void harness_stop_box(struct harness *h, struct engine_box *box);

/* Starts a command; its output is collected. */
void harness_begin(struct harness *h, struct engine_box *box, const struct engine_cmd_spec *spec,
		   struct run *run);
/* bash -c TEXT in `cwd`, to its end. */
void harness_bash(struct harness *h, struct engine_box *box, const char *text, struct run *run);
void run_done(struct run *run);

/* The output of a bash command that must exit with 0; valid until the next call. */
const char *harness_output(struct harness *h, struct engine_box *box, const char *text);
bool harness_usage(struct harness *h, struct engine_box *box, struct engine_usage *ret);

#endif
