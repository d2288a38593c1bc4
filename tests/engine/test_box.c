/* SPDX-License-Identifier: Apache-2.0 */
/* Real containers: start, commands, ends. */
#include "harness.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct fixture fixture;
static struct harness h = { .fixture = &fixture };

static struct engine_box *start(uint32_t slot)
{
	struct engine_box_spec spec = harness_spec(slot);
	struct err err = { 0 };
	struct engine_box *box = harness_box(&h, &spec, &err);

	if (!box)
		fail_msg("start: %s", err.msg);
	return box;
}

static void test_hello(void **state)
{
	struct engine_box *box = start(0);

	(void)state;
	assert_string_equal(harness_output(&h, box, "echo hello; id -u; pwd; hostname"),
			    "hello\n0\n/workspace\nsandbox\n");
	harness_stop_box(&h, box);
	assert_int_equal(fixture_count_processes(), 0);
	assert_int_equal(fixture_count_groups(&fixture), 0);
}

static void test_exits(void **state)
{
	static const struct {
		const char *text;
		enum engine_exit_kind kind;
		int value;
	} rows[] = {
		{ "exit 0", ENGINE_EXITED, 0 },
		{ "exit 255", ENGINE_EXITED, 255 },
		{ "kill -9 $$", ENGINE_SIGNALED, SIGKILL },
		{ "kill -SEGV $$", ENGINE_SIGNALED, SIGSEGV },
		{ "exec /bin/false", ENGINE_EXITED, 1 },
		{ "exec 1>&- 2>&-; exit 3", ENGINE_EXITED, 3 },
	};
	struct engine_box *box = start(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct run run;

		harness_bash(&h, box, rows[i].text, &run);
		assert_int_equal(run.exit.kind, rows[i].kind);
		assert_int_equal(run.exit.value, rows[i].value);
		run_done(&run);
	}
	harness_stop_box(&h, box);
}

static void expect_not_started(struct engine_box *box, const char *program, const char *cwd,
			       enum engine_start_stage stage, int error)
{
	const char *const argv[] = { program, NULL };
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = cwd, .stdin_fd = -1, .script_fd = -1
	};
	struct run run;

	harness_begin(&h, box, &spec, &run);
	assert_true(harness_wait(&h, &run.is_done));
	assert_int_equal(run.exit.kind, ENGINE_NOT_STARTED);
	assert_int_equal(run.exit.stage, stage);
	assert_int_equal(run.exit.value, error);
	run_done(&run);
}

static void test_not_started(void **state)
{
	struct engine_box *box = start(0);

	(void)state;
	expect_not_started(box, "/bin/true", "/nowhere", ENGINE_STAGE_CWD, ENOENT);
	expect_not_started(box, "/bin/true", "/etc/passwd", ENGINE_STAGE_CWD, ENOTDIR);
	expect_not_started(box, "/bin/nothing", "/", ENGINE_STAGE_EXEC, ENOENT);
	expect_not_started(box, "nothing", "/", ENGINE_STAGE_EXEC, ENOENT);
	expect_not_started(box, "/etc/passwd", "/", ENGINE_STAGE_EXEC, EACCES);
	harness_stop_box(&h, box);
}

static void test_fds_and_env(void **state)
{
	static const char script[] = "echo from the script; cat; echo $EXTRA $PAGER $HOME";
	const char *const argv[] = { "/bin/bash", "/proc/self/fd/3", NULL };
	const char *const env[] = { "EXTRA=more", "PAGER=less", NULL };
	struct engine_cmd_spec spec = { .argv = argv, .env = env, .cwd = "/" };
	struct engine_box *box = start(0);
	struct run run;
	int in[2];

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	spec.stdin_fd = in[0];
	spec.script_fd = memfd_create("script", MFD_CLOEXEC);
	assert_int_equal(write(spec.script_fd, script, strlen(script)), strlen(script));
	assert_int_equal(lseek(spec.script_fd, 0, SEEK_SET), 0);
	harness_begin(&h, box, &spec, &run);
	(void)close(in[0]);
	(void)close(spec.script_fd);
	assert_int_equal(write(in[1], "from stdin\n", 11), 11);
	(void)close(in[1]);
	assert_true(harness_wait(&h, &run.is_done));
	assert_string_equal(buf_str(&run.output), "from the script\nfrom stdin\nmore less /root\n");
	run_done(&run);

	/* Nothing else is open, and stdin is empty rather than missing. */
	assert_string_equal(harness_output(&h, box, "cat; ls /proc/self/fd | tr '\\n' ' '"),
			    "0 1 2 3 ");
	harness_stop_box(&h, box);
}

/* Starts a command and waits until it says something: it is under way. */
static void begin(struct engine_box *box, const char *text, struct run *run)
{
	const char *const argv[] = { "/bin/bash", "-c", text, NULL };
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = "/", .stdin_fd = -1, .script_fd = -1
	};

	harness_begin(&h, box, &spec, run);
	while (!run->output.len)
		assert_true(sd_event_run(h.event, 100000) >= 0);
}

/* Everything the command started gets the signal, whatever session it made. */
static void test_kill_reaches_all(void **state)
{
	struct engine_box *box = start(0);
	struct run run;

	(void)state;
	begin(box,
	      "setsid bash -c '(trap \"\" TERM; setsid sleep 1001 & sleep 1002) & sleep 1003' & "
	      "sleep 0.3; echo up; wait",
	      &run);
	engine_cmd_signal(run.cmd, SIGKILL);
	assert_true(harness_wait(&h, &run.is_done));
	assert_int_equal(run.exit.kind, ENGINE_SIGNALED);
	assert_int_equal(run.exit.value, SIGKILL);
	run_done(&run);
	assert_string_equal(harness_output(&h, box, "pgrep -c sleep || true"), "0\n");
	harness_stop_box(&h, box);
}

/* A tenant can stop the process that would kill its command. */
static void test_kill_with_stopped_leader(void **state)
{
	struct engine_box *box = start(0);
	struct run run;

	(void)state;
	begin(box, "setsid sleep 1000 & kill -STOP $PPID; echo up; sleep 1000", &run);
	engine_cmd_signal(run.cmd, SIGKILL);
	assert_true(harness_wait(&h, &run.is_done));
	assert_int_equal(run.exit.kind, ENGINE_SIGNALED);
	run_done(&run);
	assert_string_equal(harness_output(&h, box, "pgrep -c sleep || true"), "0\n");
	harness_stop_box(&h, box);
}

static void test_term(void **state)
{
	struct engine_box *box = start(0);
	struct run run;

	(void)state;
	begin(box,
	      "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; "
	      "done",
	      &run);
	engine_cmd_signal(run.cmd, SIGTERM);
	assert_true(harness_wait(&h, &run.is_done));
	assert_int_equal(run.exit.kind, ENGINE_EXITED);
	assert_int_equal(run.exit.value, 7);
	run_done(&run);
	harness_stop_box(&h, box);
}

/* A command's end does not end its background children; the box's end does. */
static void test_background(void **state)
{
	struct engine_box *box = start(0);

	(void)state;
	(void)harness_output(&h, box,
			     "sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 &");
	(void)harness_output(&h, box, "until [ $(pgrep -c sleep) = 2 ]; do :; done");
	assert_string_equal(harness_output(&h, box, "ps -o ppid= -C sleep | tr -d ' \\n'"), "11");
	harness_stop_box(&h, box);
	assert_int_equal(fixture_count_processes(), 0);
}

static void test_init_survives(void **state)
{
	struct engine_box *box = start(0);
	struct run run;

	(void)state;
	/* The leader dies as well; init takes the command over and sees its end. */
	harness_bash(&h, box, "kill -9 -1; exit 5", &run);
	assert_int_equal(run.exit.kind, ENGINE_EXITED);
	assert_int_equal(run.exit.value, 5);
	run_done(&run);
	(void)harness_output(&h, box, "kill -9 1; kill -STOP 1; kill -TERM 1; true");
	(void)harness_output(&h, box, "for i in $(seq 300); do (setsid true &) ; done");
	assert_string_equal(harness_output(&h, box,
					   "cat /proc/1/environ /proc/1/maps 2>&1 | "
					   "grep -c denied; ls /proc/1/fd 2>&1 | "
					   "grep -c denied; ps -e -o stat= | grep -c Z"
					   " || true"),
			    "2\n1\n0\n");
	harness_stop_box(&h, box);
}

static void test_layers(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(0);
	struct err err;

	(void)state;
	(void)harness_output(&h, box, "echo 1 >/etc/mine; echo 2 >/workspace/mine");
	harness_stop_box(&h, box);
	spec.layer = ENGINE_LAYER_KEEP;
	box = harness_box(&h, &spec, &err);
	assert_non_null(box);
	assert_string_equal(harness_output(&h, box, "cat /etc/mine /workspace/mine"), "1\n2\n");
	harness_stop_box(&h, box);
	box = start(0);
	assert_string_equal(
		harness_output(&h, box, "cat /workspace/mine; ls /etc/mine 2>&1 || true"),
		"2\nls: cannot access '/etc/mine': No such file or directory\n");
	(void)harness_output(&h, box, "rm /workspace/mine");
	harness_stop_box(&h, box);
}

static void test_no_network(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box;
	struct err err = { 0 };

	(void)state;
	spec.network = false;
	box = harness_box(&h, &spec, &err);
	assert_non_null(box);
	/* Names of interfaces: loopback alone, and that works. */
	assert_string_equal(
		harness_output(&h, box, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n'"),
		"lo");
	assert_string_equal(
		harness_output(&h, box,
			       "python3 -c 'import socket; s = socket.socket(); "
			       "s.bind((\"127.0.0.1\", 80)); s.listen(); c = socket.socket(); "
			       "c.connect((\"127.0.0.1\", 80)); print(\"ok\")'"),
		"ok\n");
	harness_stop_box(&h, box);
}

static void on_end(void *userdata, const char *why)
{
	(void)snprintf(userdata, 200, "%s", why);
}

static void note_change(void *userdata)
{
	*(bool *)userdata = true;
}

/* kill -9 of the spawner: everything dies with it, the engine reconnects to the next one. */
static void test_spawner_dies(void **state)
{
	struct engine_box *box = start(0), *other = start(1);
	char why[200] = "", other_why[200] = "";
	const char *const argv[] = { "/bin/sleep", "1000", NULL };
	const struct engine_cmd_spec spec = {
		.argv = argv, .cwd = "/", .stdin_fd = -1, .script_fd = -1
	};
	bool is_changed = false;
	struct run run;

	(void)state;
	engine_box_on_end(box, on_end, why);
	engine_box_on_end(other, on_end, other_why);
	harness_begin(&h, box, &spec, &run);
	(void)kill(h.spawner, SIGKILL);
	(void)waitpid(h.spawner, NULL, 0);
	assert_true(harness_wait(&h, &run.is_done));
	assert_int_equal(run.exit.kind, ENGINE_LOST);
	run_done(&run);
	assert_string_equal(why, "the spawner was lost");
	assert_string_equal(other_why, "the spawner was lost");
	assert_false(engine_is_ready(h.engine));
	assert_true(harness_wait_processes(&h, 0));

	engine_on_change(h.engine, note_change, &is_changed);
	h.spawner = fixture_spawner(&fixture);
	assert_true(harness_wait(&h, &is_changed));
	engine_on_change(h.engine, NULL, NULL);
	assert_int_equal(fixture_count_groups(&fixture), 0);
	box = start(0);
	harness_stop_box(&h, box);
}

/* berthd goes away: the spawner ends everything. */
static void test_engine_goes(void **state)
{
	(void)state;
	(void)start(0);
	(void)start(1);
	engine_free(h.engine);
	h.engine = NULL;
	assert_true(harness_wait_processes(&h, 0));
}

static void test_refusals(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start(0);
	struct err err = { 0 };

	(void)state;
	assert_null(harness_box(&h, &spec, &err)); /* taken */
	assert_non_null(strstr(err.msg, "busy"));
	spec.slot = 77;
	assert_null(harness_box(&h, &spec, &err));
	assert_non_null(strstr(err.msg, "slot 77"));
	spec.limits.pids = 0;
	assert_null(harness_box(&h, &spec, &err));
	assert_int_equal(err.code, ERR_INVALID);
	harness_stop_box(&h, box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_prestate_setup_teardown(fn, harness_set_up, harness_tear_down, &h)
		TEST(test_hello),
		TEST(test_exits),
		TEST(test_not_started),
		TEST(test_fds_and_env),
		TEST(test_kill_reaches_all),
		TEST(test_term),
		TEST(test_kill_with_stopped_leader),
		TEST(test_background),
		TEST(test_init_survives),
		TEST(test_layers),
		TEST(test_spawner_dies),
		TEST(test_engine_goes),
		TEST(test_refusals),
		TEST(test_no_network),
	};

	if (!fixture_can_enter())
		return FIXTURE_SKIPPED;
	fixture_enter(&fixture, FIXTURE_POOL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
