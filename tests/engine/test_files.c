/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers: files of a slot with and without a container, emptying, ends. */
#include "harness.h"

#include "spawner/cgroup.h"
#include "sys/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct fixture fixture;
static struct harness h = { .fixture = &fixture };

struct opening {
	bool is_done;
	struct engine_files *files;
	struct err err;
};

static void on_opened(void *userdata, struct engine_files *files, const struct err *err)
{
	struct opening *opening = userdata;

	opening->is_done = true;
	opening->files = files;
	if (err)
		opening->err = *err;
}

static struct engine_files *open_files(uint32_t slot)
{
	struct opening opening = { 0 };
	struct err err;

	assert_int_equal(engine_files_open(h.engine, slot, on_opened, &opening, &err), 0);
	assert_true(harness_wait(&h, &opening.is_done));
	if (!opening.files)
		fail_msg("open: %s", opening.err.msg);
	return opening.files;
}

struct answer {
	bool is_done, is_lost;
	struct keeper_reply reply;
	int fd;
};

static void on_reply(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct answer *answer = userdata;

	answer->is_done = true;
	answer->is_lost = !reply;
	answer->fd = fd;
	if (reply)
		answer->reply = *reply;
}

static struct answer call(struct engine_files *files, const struct keeper_request *request)
{
	struct answer answer = { .fd = -1 };
	struct err err;

	if (engine_files_call(files, request, -1, on_reply, &answer, &err) < 0)
		fail_msg("call: %s", err.msg);
	assert_true(harness_wait(&h, &answer.is_done));
	return answer;
}

static void test_open_without_box(void **state)
{
	struct keeper_request stat_it = { .verb = KEEPER_STAT, .path = VIEW("") };
	struct engine_files *files = open_files(2);
	struct err err;

	(void)state;
	assert_int_equal(call(files, &stat_it).reply.error, 0);
	assert_int_equal(engine_files_open(h.engine, 2, on_opened, NULL, &err), -1);
	engine_files_close(files);
	files = open_files(2); /* waits for the first one's end */
	assert_int_equal(call(files, &stat_it).reply.error, 0);
	engine_files_close(files);
	assert_true(harness_wait_processes(&h, 0));
}

static void test_beside_a_box(void **state)
{
	struct keeper_request open_it = { .verb = KEEPER_OPEN, .path = VIEW("a/b.txt") };
	struct keeper_request empty = { .verb = KEEPER_EMPTY };
	struct engine_box_spec spec = harness_spec(0);
	struct engine_files *files = open_files(0);
	struct answer answer;
	struct err err = { 0 };
	char bytes[16] = "";
	struct engine_box *box = harness_box(&h, &spec, &err);

	(void)state;
	if (!box)
		fail_msg("start: %s", err.msg);
	(void)harness_output(&h, box, "mkdir a; echo content >a/b.txt; ln -s /etc/passwd a/out");
	answer = call(files, &open_it);
	assert_int_equal(answer.reply.error, 0);
	assert_int_equal(answer.reply.size, 8);
	assert_true(answer.fd >= 0);
	assert_int_equal(read(answer.fd, bytes, sizeof(bytes) - 1), 8);
	assert_string_equal(bytes, "content\n");
	(void)close(answer.fd);

	open_it.path = VIEW("a/out");
	assert_int_not_equal(call(files, &open_it).reply.error, 0);
	harness_stop_box(&h, box);

	answer = call(files, &empty);
	assert_int_equal(answer.reply.error, 0);
	open_it.path = VIEW("a/b.txt");
	assert_int_equal(call(files, &open_it).reply.error, ENOENT);
	engine_files_close(files);
}

/* What a file says of a slot's keeper in the hierarchy of version 1. */
static unsigned long group_number(uint32_t slot, const char *file)
{
	auto_buf struct buf text = BUF_INIT(4096);
	char path[160];

	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/memory/%s/keeper-%u/%s", fixture.cgroup,
		       slot, file);
	assert_int_equal(io_read_file(AT_FDCWD, path, &text), 0);
	return strtoul(buf_str(&text), NULL, 10);
}

/* What a tenant has a keeper do counts for that tenant, beside the container's own limit. */
static void test_group(void **state)
{
	struct engine_box_spec spec = harness_spec(1);
	struct err err = { 0 };
	struct engine_files *files;
	struct engine_box *box;

	(void)state;
	if (!fixture.has_cgroups)
		skip();
	box = harness_box(&h, &spec, &err);
	assert_non_null(box);
	files = open_files(1);
	assert_int_equal(group_number(1, "memory.limit_in_bytes"), CGROUP_KEEPER_MEMORY);
	assert_true(group_number(1, "cgroup.procs") > 1);
	harness_stop_box(&h, box);
	assert_true(group_number(1, "cgroup.procs") > 1);
	engine_files_close(files);
	files = open_files(1); /* waits for the first one's end */
	engine_files_close(files);
}

static void on_end(void *userdata)
{
	*(bool *)userdata = true;
}

static void test_spawner_dies(void **state)
{
	struct engine_files *files = open_files(1);
	bool has_ended = false, is_back = false;

	(void)state;
	engine_files_on_end(files, on_end, &has_ended);
	(void)kill(h.spawner, SIGKILL);
	(void)waitpid(h.spawner, NULL, 0);
	h.spawner = 0;
	assert_true(harness_wait(&h, &has_ended));
	assert_true(harness_wait_processes(&h, 0));
	engine_files_close(files);
	engine_on_change(h.engine, on_end, &is_back);
	h.spawner = fixture_spawner(&fixture); /* which removes what the first one left */
	assert_true(harness_wait(&h, &is_back));
	engine_on_change(h.engine, NULL, NULL);
	assert_int_equal(fixture_count_groups(&fixture), 0);
}

static void test_engine_goes(void **state)
{
	(void)state;
	(void)open_files(1);
	engine_free(h.engine);
	h.engine = NULL;
	assert_true(harness_wait_processes(&h, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_prestate_setup_teardown(fn, harness_set_up, harness_tear_down, &h)
		TEST(test_open_without_box), TEST(test_beside_a_box), TEST(test_group),
		TEST(test_spawner_dies),     TEST(test_engine_goes),
	};

	if (!fixture_can_enter())
		return FIXTURE_SKIPPED;
	fixture_enter(&fixture, FIXTURE_POOL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
