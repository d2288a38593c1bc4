/* SPDX-License-Identifier: Apache-2.0 */
/* Limits by control groups, and what the counters say after each was hit. */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct fixture fixture;
static struct harness h = { .fixture = &fixture };
static struct engine_facts facts;

static int setup(void **state)
{
	(void)harness_set_up(state);
	engine_get_facts(h.engine, &facts);
	return 0;
}

static struct engine_box *start(const struct engine_box_spec *spec)
{
	struct err err = { 0 };
	struct engine_box *box = harness_box(&h, spec, &err);

	if (!box)
		fail_msg("start: %s", err.msg);
	return box;
}

static void test_facts(void **state)
{
	(void)state;
	assert_string_equal(facts.name, fixture_engine());
	assert_string_equal(facts.namespaces, "pool");
	if (fixture.has_cgroups) {
		assert_string_equal(facts.limits, "cgroup1");
		assert_true(facts.memory_limited && facts.pids_limited && facts.cpu_limited);
	}
}

/* The command dies, PID 1 and the next command live, the counter tells. */
static void test_memory(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(&spec);
	struct engine_usage before, after;
	struct run run;

	(void)state;
	if (!facts.memory_limited)
		skip();
	assert_true(harness_usage(&h, box, &before));
	assert_int_equal(before.oom_kills, 0);
	harness_bash(&h, box, "exec python3 -c 'x = bytearray(400 << 20)'", &run);
	assert_int_equal(run.exit.kind, ENGINE_SIGNALED);
	assert_int_equal(run.exit.value, 9);
	assert_int_equal(run.exit.oom_kills, 1);
	run_done(&run);
	assert_true(harness_usage(&h, box, &after));
	assert_int_equal(after.oom_kills, 1);
	assert_true(after.memory_peak_bytes > 200U << 20);
	assert_string_equal(harness_output(&h, box, "echo alive"), "alive\n");
	harness_stop_box(&h, box);
}

/* The victim may be any member of a pipeline that ends well; who comes after it has seen nothing.
 */
static void test_memory_in_pipeline(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(&spec);
	struct run run;

	(void)state;
	if (!facts.memory_limited)
		skip();
	harness_bash(&h, box, "python3 -c 'x = bytearray(400 << 20)' | cat", &run);
	assert_int_equal(run.exit.kind, ENGINE_EXITED);
	assert_int_equal(run.exit.value, 0);
	assert_int_equal(run.exit.oom_kills, 1);
	run_done(&run);
	harness_bash(&h, box, "exit 3", &run);
	assert_int_equal(run.exit.oom_kills, 0);
	assert_int_equal(run.exit.pids_refused, 0);
	run_done(&run);
	harness_stop_box(&h, box);
}

/* Files in /tmp and /dev/shm are bounded on their own, below the memory limit. */
static void test_tmpfs(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(&spec);

	(void)state;
	assert_string_equal(harness_output(&h, box,
					   "for d in /tmp /run /dev/shm /dev; do "
					   "head -c 100M /dev/zero >$d/f 2>/dev/null || echo full; "
					   "rm $d/f; done"),
			    "full\nfull\nfull\nfull\n");
	(void)harness_output(&h, box,
			     "! touch $(seq -f /tmp/f%.0f 1 120000) 2>/dev/null; rm -rf /tmp/*");
	harness_stop_box(&h, box);
}

static void test_pids(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box;
	struct engine_usage before, usage;
	const char *const argv[] = { "/usr/bin/python3", "-c",
				     "import os\n"
				     "print('bombed', flush=True)\n"
				     "while True:\n"
				     "    try: os.fork() or os.setsid()\n"
				     "    except OSError: pass\n",
				     NULL };
	const struct engine_cmd_spec bomb = {
		.argv = argv, .cwd = "/", .stdin_fd = -1, .script_fd = -1
	};
	struct run run;

	(void)state;
	spec.limits.pids = 40;
	box = start(&spec);
	assert_true(harness_usage(&h, box, &before));
	harness_begin(&h, box, &bomb, &run);
	while (!strstr(buf_str(&run.output), "bombed"))
		assert_true(sd_event_run(h.event, 100000) >= 0);
	if (facts.pids_limited)
		do
			assert_true(harness_usage(&h, box, &usage));
		while (usage.pids_refused == 0);
	engine_cmd_signal(run.cmd, SIGKILL);
	assert_true(harness_wait(&h, &run.is_done));
	assert_true(run.exit.pids_refused > 0 || !facts.pids_limited);
	run_done(&run);
	if (facts.pids_limited) {
		assert_true(harness_usage(&h, box, &usage));
		assert_true(usage.pids_refused > 0);
		/* On a busy machine init lost patience with the leader, and the last are still
		 * dying. */
		for (int i = 0; usage.pids > before.pids + 1 && i < 500; i++) {
			assert_true(sd_event_run(h.event, 20000) >= 0);
			assert_true(harness_usage(&h, box, &usage));
		}
		assert_true(usage.pids <= before.pids + 1);
	}
	assert_string_equal(harness_output(&h, box, "echo alive"), "alive\n");
	harness_stop_box(&h, box);
}

static void test_cpu(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_usage usage;
	struct engine_box *box;
	struct run run;

	(void)state;
	if (!facts.cpu_limited)
		skip();
	spec.limits.cpu_permille = 200;
	box = start(&spec);
	harness_bash(&h, box, "timeout 1 sh -c 'while :; do :; done'", &run);
	assert_int_equal(run.exit.value, 124);
	assert_true(run.exit.cpu_time > 50000 && run.exit.cpu_time < 600000);
	run_done(&run);
	assert_true(harness_usage(&h, box, &usage));
	assert_true(usage.throttled_usec != UINT64_MAX); /* 0 on a machine that is busy enough */
	harness_stop_box(&h, box);
}

/* All of it dies of one tenant's greed: what remains must be able to say so. */
static void test_usage_of_two(void **state)
{
	struct engine_box_spec spec = harness_spec(0), other = harness_spec(1);
	struct engine_box *a = start(&spec), *b = start(&other);
	struct engine_usage before, usage;

	(void)state;
	assert_true(harness_usage(&h, b, &before));
	(void)harness_output(&h, a, "for i in $(seq 50); do sleep 100 >/dev/null 2>&1 & done");
	assert_true(harness_usage(&h, b, &usage));
	if (facts.pids_limited) { /* an OCI runtime has threads of its own, which come and go */
		assert_true(before.pids >= 1);
		assert_true(usage.pids < before.pids + 10);
	}
	harness_stop_box(&h, a);
	harness_stop_box(&h, b);
}

static void test_no_growth(void **state)
{
	static const char *const argv[] = {
		"/bin/bash", "-c",
		"exec 2>/dev/null; ulimit -Sf; ulimit -Hf; ulimit -f 1 && echo raised;"
		"(echo x >/workspace/f) || ls -s /workspace/f; rm /workspace/f && echo removed",
		NULL
	};
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = "/", .no_growth = true, .stdin_fd = -1, .script_fd = -1
	};
	struct engine_box_spec box_spec = harness_spec(0);
	struct engine_box *box = start(&box_spec);
	struct run run;

	(void)state;
	harness_begin(&h, box, &spec, &run);
	assert_true(harness_wait(&h, &run.is_done));
	assert_string_equal(buf_str(&run.output), "0\n0\n0 /workspace/f\nremoved\n");
	run_done(&run);
	/* The others are as before. */
	assert_string_equal(harness_output(&h, box, "ulimit -Hf"), "unlimited\n");
	harness_stop_box(&h, box);
}

static void test_rlimits(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(&spec);

	(void)state;
	assert_string_equal(
		harness_output(&h, box,
			       "ulimit -Sc; ulimit -Hc; ulimit -Sn; ulimit -Hl; "
			       "cat /proc/self/oom_score_adj; echo 0 >/proc/self/oom_score_adj;"
			       "echo -1 2>/dev/null >/proc/self/oom_score_adj || echo no"),
		"0\n0\n1024\n8192\n500\nno\n");
	harness_stop_box(&h, box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_prestate_setup_teardown(fn, setup, harness_tear_down, &h)
		TEST(test_facts),        TEST(test_memory),  TEST(test_memory_in_pipeline),
		TEST(test_tmpfs),        TEST(test_pids),    TEST(test_cpu),
		TEST(test_usage_of_two), TEST(test_rlimits), TEST(test_no_growth),
	};

	if (!fixture_can_enter())
		return FIXTURE_SKIPPED;
	fixture_enter(&fixture, FIXTURE_POOL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
