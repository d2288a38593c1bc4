/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with its spawner on an event loop. */
#include "harness.h"

#include "base/parse.h"
#include "sys/io.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum { TURN_USEC = 20 * 1000 };

static usec now(void)
{
	return clock_monotonic(&clock_system);
}

/* $BERTH_TEST_SLOWNESS, as in tests/e2e: how much longer things take on an emulated machine. */
static usec patience_ends(void)
{
	const char *given = getenv("BERTH_TEST_SLOWNESS");
	uint32_t slowness = 1;

	if (given && parse_u32(view_str(given), 1, 100, &slowness) < 0)
		abort();
	return now() + slowness * HARNESS_PATIENCE_SECONDS * USEC_PER_SEC;
}

bool harness_wait(struct harness *h, const bool *flag)
{
	usec deadline = patience_ends();

	while (!*flag && now() < deadline)
		if (sd_event_run(h->event, TURN_USEC) < 0)
			return false;
	return *flag;
}

bool harness_wait_processes(struct harness *h, int processes)
{
	usec deadline = patience_ends();

	while (fixture_count_processes() > processes && now() < deadline)
		if (sd_event_run(h->event, TURN_USEC) < 0)
			return false;
	return fixture_count_processes() <= processes;
}

static void set_ready(void *userdata)
{
	*(bool *)userdata = true;
}

void harness_start(struct harness *h, const struct fixture *fixture)
{
	char socket_path[160];
	struct engine_native_config config = { .spawner_socket = socket_path,
					       .name = fixture_engine() };
	bool is_ready = false;
	struct err err;

	*h = (struct harness){ .fixture = fixture };
	h->spawner = fixture_spawner(fixture);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/run/spawner.sock", fixture->dir);
	if (sd_event_new(&h->event) < 0 ||
	    engine_native_new(h->event, &config, &h->engine, &err) < 0)
		abort();
	engine_on_change(h->engine, set_ready, &is_ready);
	if (!harness_wait(h, &is_ready)) {
		(void)fprintf(stderr, "the spawner did not get ready; see its log\n");
		abort();
	}
	engine_on_change(h->engine, NULL, NULL);
}

void harness_stop(struct harness *h)
{
	engine_free(h->engine);
	if (h->spawner > 0) {
		(void)kill(h->spawner, SIGTERM);
		(void)waitpid(h->spawner, NULL, 0);
	}
	if (fixture_count_processes() != 0 || fixture_count_groups(h->fixture) != 0) {
		(void)fprintf(stderr, "left over: %d processes, %d control groups\n",
			      fixture_count_processes(), fixture_count_groups(h->fixture));
		abort();
	}
	(void)sd_event_unref(h->event);
}

int harness_set_up(void **state)
{
	struct harness *h = *state;

	harness_start(h, h->fixture);
	return 0;
}

int harness_tear_down(void **state)
{
	harness_stop(*state);
	return 0;
}

struct engine_box_spec harness_spec(uint32_t slot)
{
	return (struct engine_box_spec){ .slot = slot,
					 .layer = ENGINE_LAYER_FRESH,
					 .no_new_privs = true,
					 .network = true,
					 .limits = { .memory_bytes = 256U << 20,
						     .cpu_permille = 2000,
						     .pids = 128,
						     .shm_bytes = 32U << 20,
						     .tmp_bytes = 32U << 20 } };
}

struct starting {
	bool is_done;
	struct engine_box *box;
	struct err *err;
};

static void on_started(void *userdata, struct engine_box *box, const struct err *err)
{
	struct starting *starting = userdata;

	starting->is_done = true;
	starting->box = box;
	if (err)
		*starting->err = *err;
}

struct engine_box *harness_box(struct harness *h, const struct engine_box_spec *spec,
			       struct err *err)
{
	struct starting starting = { .err = err };

	if (engine_start(h->engine, spec, on_started, &starting, err) < 0 ||
	    !harness_wait(h, &starting.is_done))
		return NULL;
	return starting.box;
}

void harness_stop_box(struct harness *h, struct engine_box *box)
{
	bool is_done = false;

	engine_box_stop(box, set_ready, &is_done);
	if (!harness_wait(h, &is_done))
		abort();
}

static void drain(struct run *run)
{
	char bytes[16384];
	ssize_t n;

	while ((n = read(run->output_fd, bytes, sizeof(bytes))) > 0)
		(void)!buf_add(&run->output, bytes, (size_t)n); /* what does not fit is dropped */
	if (n == 0)
		run->io = sd_event_source_disable_unref(run->io);
}

static int on_output(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	drain(userdata);
	return 0;
}

static void on_exit_cmd(void *userdata, const struct engine_exit *result)
{
	struct run *run = userdata;

	run->exit = *result;
	run->cmd = NULL;
	run->is_done = true;
}

void harness_begin(struct harness *h, struct engine_box *box, const struct engine_cmd_spec *spec,
		   struct run *run)
{
	struct engine_cmd_spec with_output = *spec;
	struct err err;
	int pair[2];

	*run = (struct run){ 0 };
	buf_init(&run->output, HARNESS_MAX_OUTPUT);
	if (pipe2(pair, O_CLOEXEC) < 0 || io_set_nonblocking(pair[0]) < 0)
		abort();
	run->output_fd = pair[0];
	with_output.output_fd = pair[1];
	if (sd_event_add_io(h->event, &run->io, pair[0], EPOLLIN, on_output, run) < 0)
		abort();
	if (engine_exec(box, &with_output, on_exit_cmd, run, &run->cmd, &err) < 0) {
		(void)fprintf(stderr, "exec: %s\n", err.msg);
		abort();
	}
	(void)close(pair[1]);
}

void harness_bash(struct harness *h, struct engine_box *box, const char *text, struct run *run)
{
	const char *const argv[] = { "/bin/bash", "-c", text, NULL };
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = "/workspace", .stdin_fd = -1, .script_fd = -1
	};

	harness_begin(h, box, &spec, run);
	if (!harness_wait(h, &run->is_done)) {
		(void)fprintf(stderr, "does not end: %s\n", text);
		abort();
	}
	drain(run);
}

void run_done(struct run *run)
{
	(void)sd_event_source_disable_unref(run->io);
	(void)close(run->output_fd);
	buf_done(&run->output);
}

const char *harness_output(struct harness *h, struct engine_box *box, const char *text)
{
	static char kept[HARNESS_MAX_OUTPUT + 1];
	struct run run;

	harness_bash(h, box, text, &run);
	(void)snprintf(kept, sizeof(kept), "%s", buf_str(&run.output));
	if (run.exit.kind != ENGINE_EXITED || run.exit.value != 0) {
		(void)fprintf(stderr, "%s: kind %d value %d stage %d: %s\n", text,
			      (int)run.exit.kind, run.exit.value, (int)run.exit.stage, kept);
		abort();
	}
	run_done(&run);
	return kept;
}

struct usage_result {
	bool is_done, is_good;
	struct engine_usage usage;
};

static void on_usage(void *userdata, const struct engine_usage *usage, const struct err *err)
{
	struct usage_result *result = userdata;

	result->is_done = true;
	result->is_good = !err;
	if (usage)
		result->usage = *usage;
}

bool harness_usage(struct harness *h, struct engine_box *box, struct engine_usage *ret)
{
	struct usage_result result = { 0 };

	engine_box_usage(box, on_usage, &result);
	if (!harness_wait(h, &result.is_done) || !result.is_good)
		return false;
	*ret = result.usage;
	return true;
}
