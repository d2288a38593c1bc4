/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine against a spawner and an init that are played by the test, hostile ones too. */
#include "engine/engine.h"
#include "sys/io.h"
#include "wire/spawner.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

enum { PATIENCE_TURNS = 500, TURN_USEC = 10 * 1000 };

struct bench {
	char dir[32], socket_path[64];
	int listener, spawner; /* our end of the connection */
	sd_event *event;
	struct engine *engine;
	bool is_changed;
	/* of the one box */
	bool is_started, has_ended, is_stopped;
	struct engine_box *box;
	char why[512];
	enum err_code code;
	uint64_t id;
	int init; /* init's end, which the test plays */
	int oom;  /* the file of OOM kills, as the spawner would pass it */
};

static struct bench b;

static void run_until(const bool *flag)
{
	for (int i = 0; i < PATIENCE_TURNS && !*flag; i++)
		assert_true(sd_event_run(b.event, TURN_USEC) >= 0);
	assert_true(*flag);
}

static void run_a_little(void)
{
	while (sd_event_run(b.event, 0) > 0)
		continue;
}

static void on_change(void *userdata)
{
	*(bool *)userdata = true;
}

static void send_spawner(const struct spawner_event *event, int fd)
{
	const int fds[2] = { fd, b.oom };

	assert_int_equal(io_send_fds(b.spawner, event, sizeof(*event), fds,
				     fd < 0            ? 0
				     : event->counters ? 2
						       : 1),
			 0);
}

static struct spawner_request next_request(void)
{
	struct spawner_request request;
	char bytes[sizeof(request) + 1];
	ssize_t n = recv(b.spawner, bytes, sizeof(bytes), 0);

	assert_true(n >= 0);
	assert_int_equal(spawner_request_decode(bytes, (size_t)n, &request), 0);
	return request;
}

static void say_hello(void)
{
	const struct timeval patience = { .tv_sec = 5 };
	struct spawner_event hello;

	b.spawner = accept4(b.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(b.spawner >= 0);
	assert_int_equal(
		setsockopt(b.spawner, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	spawner_event_init(&hello, SPAWNER_HELLO, 0);
	spawner_event_text(&hello, "native");
	hello.facts.limiter = SPAWNER_LIMITER_CGROUP2;
	hello.facts.limited = SPAWNER_LIMITS_MEMORY;
	send_spawner(&hello, -1);
	b.is_changed = false;
	run_until(&b.is_changed);
}

static int set_up(usec start_patience)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct engine_native_config config = { .spawner_socket = b.socket_path,
					       .name = "native",
					       .start_patience = start_patience };
	struct err err;

	b = (struct bench){
		.dir = "/tmp/berth-native-XXXXXX", .spawner = -1, .init = -1, .oom = -1
	};
	assert_non_null(mkdtemp(b.dir));
	(void)snprintf(b.socket_path, sizeof(b.socket_path), "%s/s", b.dir);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", b.socket_path);
	b.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(b.listener, 4), 0);
	assert_true(sd_event_new(&b.event) >= 0);
	assert_int_equal(engine_native_new(b.event, &config, &b.engine, &err), 0);
	engine_on_change(b.engine, on_change, &b.is_changed);
	assert_true(sd_event_run(b.event, 1000 * 1000) > 0); /* connects */
	say_hello();
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return set_up(0);
}

static int setup_impatient(void **state)
{
	(void)state;
	return set_up(1);
}

static int teardown(void **state)
{
	(void)state;
	engine_free(b.engine);
	(void)sd_event_unref(b.event);
	(void)close(b.listener);
	if (b.spawner >= 0)
		(void)close(b.spawner);
	if (b.init >= 0)
		(void)close(b.init);
	if (b.oom >= 0)
		(void)close(b.oom);
	(void)unlink(b.socket_path);
	(void)rmdir(b.dir);
	return 0;
}

static void on_started(void *userdata, struct engine_box *box, const struct err *err)
{
	(void)userdata;
	b.is_started = true;
	b.box = box;
	if (!err)
		return;
	b.code = err->code;
	(void)snprintf(b.why, sizeof(b.why), "%s", err->msg);
}

static void on_end(void *userdata, const char *why)
{
	(void)userdata;
	b.has_ended = true;
	(void)snprintf(b.why, sizeof(b.why), "%s", why);
}

static const struct engine_box_spec spec = { .slot = 2,
					     .network = true,
					     .limits = { .memory_bytes = 1 << 30,
							 .cpu_permille = 1000,
							 .pids = 100,
							 .shm_bytes = 1 << 20,
							 .disk_bytes = 64 << 20,
							 .disk_operations = 2000,
							 .tmp_bytes = 1 << 20 } };

/* Asks for a box, and gives it the socket that the test will play init on. */
static void begin_box(void)
{
	const struct timeval patience = { .tv_sec = 5 };
	struct spawner_request request;
	struct spawner_event started;
	struct err err;
	int pair[2];

	assert_int_equal(engine_start(b.engine, &spec, on_started, NULL, &err), 0);
	request = next_request();
	assert_int_equal(request.type, SPAWNER_START);
	assert_int_equal(request.slot, 2);
	assert_int_equal(request.limits.disk_bytes, 64 << 20);
	assert_int_equal(request.limits.disk_operations, 2000);
	b.id = request.id;
	assert_int_equal(io_seqpacket_pair(pair), 0);
	b.init = pair[0];
	assert_int_equal(setsockopt(b.init, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)),
			 0);
	spawner_event_init(&started, SPAWNER_STARTED, b.id);
	started.counters = b.oom >= 0 ? 1U << SPAWNER_OOM_KILLS : 0;
	send_spawner(&started, pair[1]);
	(void)close(pair[1]);
	run_a_little();
	assert_false(b.is_started); /* not before init says so */
}

static void send_init(uint32_t type, uint32_t cmd, uint32_t status, uint32_t stage)
{
	const struct init_event event = {
		.version = INIT_VERSION, .type = type, .cmd = cmd, .status = status, .stage = stage
	};

	assert_int_equal(io_send_fds(b.init, &event, sizeof(event), NULL, 0), 0);
}

static void start_box(void)
{
	begin_box();
	send_init(INIT_READY, 0, 0, 0);
	run_until(&b.is_started);
	assert_non_null(b.box);
	engine_box_on_end(b.box, on_end, NULL);
}

/* The engine must ask for its end; then it is told that it has. */
static void expect_kill(void)
{
	struct spawner_request request;
	struct spawner_event ended;

	run_a_little();
	request = next_request();
	assert_int_equal(request.type, SPAWNER_STOP);
	assert_int_equal(request.id, b.id);
	spawner_event_init(&ended, SPAWNER_ENDED, b.id);
	spawner_event_text(&ended, "stopped");
	send_spawner(&ended, -1);
}

static void on_exit_cmd(void *userdata, const struct engine_exit *result)
{
	*(struct engine_exit *)userdata = *result;
	b.is_changed = true;
}

/* Starts a command and returns its number, as init sees it. */
static uint32_t begin_cmd(struct engine_exit *result)
{
	static const char *const argv[] = { "/bin/true", NULL };
	static char message[INIT_MAX_REQUEST];
	static struct init_request request;
	struct engine_cmd_spec cmd = { .argv = argv, .cwd = "/", .stdin_fd = -1, .script_fd = -1 };
	struct engine_cmd *handle;
	int fds[INIT_MAX_FDS];
	size_t n_fds = INIT_MAX_FDS;
	struct err err;
	ssize_t n;

	auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	cmd.output_fd = null;
	assert_int_equal(engine_exec(b.box, &cmd, on_exit_cmd, result, &handle, &err), 0);
	n = io_recv_fds(b.init, message, sizeof(message), fds, &n_fds);
	assert_true(n > 0);
	assert_int_equal(init_request_decode(message, (size_t)n, n_fds, &request), 0);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]);
	b.is_changed = false;
	return request.head.cmd;
}

static void test_commands(void **state)
{
	struct engine_exit first = { 0 }, second = { 0 };
	uint32_t a, z;

	(void)state;
	start_box();
	a = begin_cmd(&first);
	z = begin_cmd(&second);
	send_init(INIT_NOT_STARTED, z, ENOENT, INIT_STAGE_CWD);
	run_until(&b.is_changed);
	assert_int_equal(second.kind, ENGINE_NOT_STARTED);
	assert_int_equal(second.stage, ENGINE_STAGE_CWD);
	assert_int_equal(second.value, ENOENT);
	b.is_changed = false;
	send_init(INIT_EXITED, a, SIGKILL, 0);
	run_until(&b.is_changed);
	assert_int_equal(first.kind, ENGINE_SIGNALED);
	assert_int_equal(first.value, SIGKILL);
	assert_false(b.has_ended);
}

static void count_oom(const char *text)
{
	assert_int_equal(ftruncate(b.oom, 0), 0);
	assert_int_equal(pwrite(b.oom, text, strlen(text), 0), strlen(text));
}

/* What grew while a command ran is its own, however it ended; what was before it is not. */
static void test_refusals(void **state)
{
	static const struct {
		const char *before, *after;
		uint64_t want;
	} rows[] = {
		{ "oom 0\noom_kill 0\n", "oom 1\noom_kill 1\n", 1 },
		{ "oom_kill 1\n", "oom_kill 1\n", 0 },
		{ "oom_kill 1\n", "oom_kill 12\n", 11 },
		{ "oom_kill 1\n", "", 0 },
		{ "", "oom_kill 1\n", 0 },
	};

	(void)state;
	b.oom = memfd_create("oom", MFD_CLOEXEC);
	assert_true(b.oom >= 0);
	start_box();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct engine_exit result = { 0 };
		uint32_t id;

		count_oom(rows[i].before);
		id = begin_cmd(&result);
		count_oom(rows[i].after);
		send_init(INIT_EXITED, id, 0, 0);
		run_until(&b.is_changed);
		assert_int_equal(result.kind, ENGINE_EXITED);
		assert_true(result.oom_kills == rows[i].want);
		assert_int_equal(result.pids_refused, 0);
	}
}

/* What a taken-over init may try after it was ready. Each must cost it its life, and only it. */
static void test_hostile_init(void **state)
{
	static const struct {
		struct init_event event;
		size_t len;
		bool has_fd;
	} rows[] = {
		{ { 1, INIT_READY, 0, 0, 0, 0, 0 }, 32, false },   /* again */
		{ { 1, INIT_EXITED, 77, 0, 0, 0, 0 }, 32, false }, /* of a command that is not */
		{ { 1, INIT_NOT_STARTED, 77, 2, 1, 0, 0 }, 32, false },
		{ { 9, INIT_EXITED, 0, 0, 0, 0, 0 }, 32, false },
		{ { 1, 9, 0, 0, 0, 0, 0 }, 32, false },
		{ { 1, INIT_EXITED, 0, 0x137f, 0, 0, 0 }, 32, false },
		{ { 1, INIT_EXITED, 0, 0, 0, 0, 0 }, 31, false },
		{ { 1, INIT_EXITED, 0, 0, 0, 0, 0 }, 1, false },
		{ { 1, INIT_EXITED, 0, 0, 0, 0, 0 }, 32, true }, /* with a present */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct engine_exit result = { 0 };
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		start_box();
		(void)begin_cmd(&result);
		b.has_ended = false;
		assert_int_equal(io_send_fds(b.init, &rows[i].event, rows[i].len, &null,
					     rows[i].has_fd ? 1 : 0),
				 0);
		(void)close(null);
		expect_kill();
		run_until(&b.has_ended);
		assert_int_equal(result.kind, ENGINE_LOST);
		assert_true(engine_is_ready(b.engine));
		(void)close(b.init);
		b.is_started = false;
	}
	b.init = -1;
}

/* Longer than any message may be. */
static void test_flood(void **state)
{
	static const char big[8192];

	(void)state;
	start_box();
	assert_int_equal(io_send_fds(b.init, big, sizeof(big), NULL, 0), 0);
	for (int i = 0; i < 8; i++)
		send_init(INIT_READY, 0, 0, 0);
	run_a_little();
	assert_false(b.has_ended); /* not before the spawner says so */
	expect_kill();
	run_until(&b.has_ended);
}

static void test_start_fails(void **state)
{
	struct spawner_event failed;
	struct err err;

	(void)state;
	assert_int_equal(engine_start(b.engine, &spec, on_started, NULL, &err), 0);
	spawner_event_init(&failed, SPAWNER_STARTED, next_request().id);
	failed.error = EPERM;
	spawner_event_text(&failed, "mount /proc: Operation not permitted");
	send_spawner(&failed, -1);
	run_until(&b.is_started);
	assert_null(b.box);
	assert_string_equal(b.why, "start the container: mount /proc: Operation not permitted");

	b.is_started = false;
	begin_box();
	send_init(INIT_EXITED, 1, 0, 0); /* before READY */
	expect_kill();
	run_until(&b.is_started);
	assert_null(b.box);
}

/* A machine that is too busy says so: it is no fault of the server's that its log would explain. */
static void test_start_is_late(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(engine_start(b.engine, &spec, on_started, NULL, &err), 0);
	b.id = next_request().id;
	assert_true(sd_event_run(b.event, UINT64_MAX) > 0); /* its time is over */
	expect_kill();
	run_until(&b.is_started);
	assert_null(b.box);
	assert_int_equal(b.code, ERR_TIMEOUT);
}

static void test_lost_spawner(void **state)
{
	struct engine_exit result = { 0 };
	struct err err;

	(void)state;
	start_box();
	(void)begin_cmd(&result);
	(void)close(b.spawner);
	b.spawner = -1;
	run_until(&b.is_changed);
	assert_int_equal(result.kind, ENGINE_LOST);
	assert_true(b.has_ended);
	assert_false(engine_is_ready(b.engine));
	assert_int_equal(engine_start(b.engine, &spec, on_started, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	for (int i = 0; i < 30; i++) /* it connects again by itself */
		(void)sd_event_run(b.event, TURN_USEC);
	say_hello();
	assert_true(engine_is_ready(b.engine));
}

static void test_spawner_talks_nonsense(void **state)
{
	struct spawner_event hello;

	(void)state;
	spawner_event_init(&hello, SPAWNER_HELLO, 0);
	spawner_event_text(&hello, "native");
	b.is_changed = false;
	send_spawner(&hello, -1); /* a second time */
	run_until(&b.is_changed);
	assert_false(engine_is_ready(b.engine));
}

/* Other walls than the configured ones are none. */
static void test_other_engine(void **state)
{
	struct spawner_event hello;
	char byte;

	(void)state;
	(void)close(b.spawner);
	b.is_changed = false;
	run_until(&b.is_changed);
	for (int i = 0; i < 30; i++)
		(void)sd_event_run(b.event, TURN_USEC);
	b.spawner = accept4(b.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(b.spawner >= 0);
	spawner_event_init(&hello, SPAWNER_HELLO, 0);
	spawner_event_text(&hello, "oci:crun");
	send_spawner(&hello, -1);
	while (recv(b.spawner, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		(void)sd_event_run(b.event, TURN_USEC);
	assert_int_equal(recv(b.spawner, &byte, 1, MSG_DONTWAIT), 0); /* it hung up */
	assert_false(engine_is_ready(b.engine));
}

static void on_usage(void *userdata, const struct engine_usage *usage, const struct err *err)
{
	*(uint64_t *)userdata = usage ? usage->oom_kills : 99;
	assert_true(!usage == !!err);
	b.is_changed = true;
}

static void test_usage(void **state)
{
	uint64_t first = 0, second = 0;
	struct spawner_request request;
	struct spawner_event counters;

	(void)state;
	start_box();
	engine_box_usage(b.box, on_usage, &first);
	engine_box_usage(b.box, on_usage, &second);
	request = next_request();
	assert_int_equal(request.type, SPAWNER_USAGE);
	spawner_event_init(&counters, SPAWNER_COUNTERS, request.id);
	counters.tag = request.tag;
	counters.usage.oom_kills = 3;
	b.is_changed = false;
	send_spawner(&counters, -1);
	run_until(&b.is_changed);
	assert_int_equal(first, 3);
	assert_int_equal(second, 0);
	(void)close(b.spawner); /* the other one gets an error */
	b.spawner = -1;
	b.is_changed = false;
	run_until(&b.is_changed);
	assert_int_equal(second, 99);
}

struct rolled {
	int answers, error; /* -1: done */
};

static void on_rolled_back(void *userdata, const struct err *err)
{
	struct rolled *rolled = userdata;

	rolled->answers++;
	rolled->error = err ? err->sys_errno : -1;
	b.is_changed = true;
}

static void answer_rollback(const struct spawner_request *request, int error)
{
	struct spawner_event event;

	spawner_event_init(&event, SPAWNER_ROLLED_BACK, request->id);
	event.error = (uint32_t)error;
	b.is_changed = false;
	send_spawner(&event, -1);
	run_until(&b.is_changed);
}

static void test_roll_back(void **state)
{
	struct rolled rolled[3] = { 0 };
	struct spawner_request requests[3];
	struct err err;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(engine_roll_back(b.engine, i, on_rolled_back, &rolled[i], &err),
				 0);
		run_a_little();
		requests[i] = next_request();
		assert_int_equal(requests[i].type, SPAWNER_ROLL_BACK);
		assert_int_equal(requests[i].slot, i);
	}
	answer_rollback(&requests[1], 0);
	answer_rollback(&requests[0], ENOTSUP);
	assert_int_equal(rolled[1].error, -1);
	assert_int_equal(rolled[0].error, ENOTSUP);
	(void)close(b.spawner);
	b.spawner = -1;
	b.is_changed = false;
	run_until(&b.is_changed);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rolled[i].answers, 1);
	assert_int_equal(rolled[2].error, 0);
	assert_int_equal(engine_roll_back(b.engine, 0, on_rolled_back, &rolled[0], &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_commands),
		TEST(test_refusals),
		TEST(test_hostile_init),
		TEST(test_flood),
		TEST(test_start_fails),
		cmocka_unit_test_setup_teardown(test_start_is_late, setup_impatient, teardown),
		TEST(test_lost_spawner),
		TEST(test_spawner_talks_nonsense),
		TEST(test_usage),
		TEST(test_roll_back),
		TEST(test_other_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
