/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the native engine takes: from start to READY, to the end of a first command, and for one
 * more command in a running container. As root, with the same fixture as the engine's tests:
 *
 *   BERTH_BIN_DIR=build/src build/tests/engine/bench-engine [ROUNDS]
 */
#include "harness.h"

#include "base/parse.h"

#include <stdio.h>

static int compare(const void *a, const void *b)
{
	const usec *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print(const char *what, usec *times, size_t n)
{
	qsort(times, n, sizeof(*times), compare);
	(void)printf("%-34s min %6.2f  p50 %6.2f  p95 %6.2f  p99 %6.2f ms  (n = %zu)\n", what,
		     (double)times[0] / 1000, (double)times[n / 2] / 1000,
		     (double)times[n * 95 / 100] / 1000, (double)times[n * 99 / 100] / 1000, n);
}

static void run_true(struct harness *h, struct engine_box *box)
{
	const char *const argv[] = { "/bin/true", NULL };
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = "/", .stdin_fd = -1, .script_fd = -1
	};
	struct run run;

	harness_begin(h, box, &spec, &run);
	if (!harness_wait(h, &run.is_done) || run.exit.kind != ENGINE_EXITED || run.exit.value)
		abort();
	run_done(&run);
}

static usec now(void)
{
	return clock_monotonic(&clock_system);
}

static void bench_starts(struct harness *h, size_t n, usec *times[3])
{
	struct engine_box_spec spec = harness_spec(0);
	struct err err;

	for (size_t i = 0; i < n; i++) {
		usec begin = now();
		struct engine_box *box = harness_box(h, &spec, &err);

		if (!box) {
			(void)fprintf(stderr, "start: %s\n", err.msg);
			exit(1);
		}
		times[0][i] = now() - begin;
		run_true(h, box);
		times[1][i] = now() - begin;
		begin = now();
		harness_stop_box(h, box);
		times[2][i] = now() - begin;
	}
	print("start, until ready", times[0], n);
	print("start and first /bin/true", times[1], n);
	print("stop", times[2], n);
}

static void bench_commands(struct harness *h, size_t n, usec *times)
{
	struct engine_box_spec spec = harness_spec(0);
	struct err err;
	struct engine_box *box = harness_box(h, &spec, &err);

	if (!box)
		abort();
	for (size_t i = 0; i < n; i++) {
		usec begin = now();

		run_true(h, box);
		times[i] = now() - begin;
	}
	print("one more /bin/true", times, n);
	harness_stop_box(h, box);
}

int main(int argc, char **argv)
{
	static struct fixture fixture;
	struct harness h;
	uint32_t n = 200;
	usec *times[3];

	if (argc > 1 && parse_u32(view_str(argv[1]), 1, 100000, &n) < 0)
		return 2;
	if (!fixture_can_enter())
		return FIXTURE_SKIPPED;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		times[i] = calloc(n, sizeof(usec));
	fixture_enter(&fixture, FIXTURE_POOL);
	harness_start(&h, &fixture);
	bench_starts(&h, n, times);
	bench_commands(&h, n, times[0]);
	harness_stop(&h);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		free(times[i]);
	return 0;
}
