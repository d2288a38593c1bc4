/* SPDX-License-Identifier: Apache-2.0 */
/* The courier on a real loop, with a program in berth-mail's place that does as it is told. */
#include "mail/courier.h"

#include "sys/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

struct world {
	char dir[64], program[96], frame[96], password[96];
	sd_event *event;
	usec now;
	struct clock clock;
	struct courier *courier;
	bool is_wanted;
};

static usec world_now(void *userdata)
{
	return ((struct world *)userdata)->now;
}

static bool is_wanted(void *userdata, const char *principal)
{
	assert_string_equal(principal, "a");
	return ((struct world *)userdata)->is_wanted;
}

static void write_file(const char *path, mode_t mode, const char *text)
{
	assert_int_equal(io_write_file(AT_FDCWD, path, view_str(text), mode), 0);
}

/* A shell script: keeps what it is given, then does `then`. */
static void set_program(struct world *w, const char *then)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "#!/bin/sh\ncat >%s.part && mv %s.part %s\n%s\n",
		       w->frame, w->frame, w->frame, then);
	write_file(w->program, 0700, text);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/berth-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->program, sizeof(w->program), "%s/program", w->dir);
	(void)snprintf(w->frame, sizeof(w->frame), "%s/frame", w->dir);
	(void)snprintf(w->password, sizeof(w->password), "%s/password", w->dir);
	write_file(w->password, 0600, "secret word\nsecond line\n");
	assert_true(sd_event_new(&w->event) >= 0);
	assert_true(sd_event_now(w->event, CLOCK_BOOTTIME, &w->now) >= 0);
	w->clock = (struct clock){ world_now, world_now, w };
	w->is_wanted = true;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	courier_free(w->courier);
	(void)sd_event_unref(w->event);
	(void)unlink(w->program);
	(void)unlink(w->frame);
	(void)unlink(w->password);
	(void)rmdir(w->dir);
	free(w);
	return 0;
}

static int make(struct world *w, const char *relay, const char *password, struct err *err)
{
	struct courier_config config = {
		.program = w->program,
		.relay = relay,
		.ca_file = "",
		.from = "berth@x.example",
		.user = "user",
		.password_file = password,
		.public_url = "https://x.example",
		.claim_time = 90 * USEC_PER_SEC,
		.outbox = { .per_hour = 60, .keep = 3600 * USEC_PER_SEC },
		.is_wanted = is_wanted,
		.userdata = w,
	};

	return courier_new(w->event, &w->clock, &config, &w->courier, err);
}

static void start(struct world *w)
{
	struct err err;

	if (make(w, "smtp://127.0.0.1", w->password, &err) < 0)
		fail_msg("%s", err.msg);
}

static void leave_and_ready(struct world *w, const char *address)
{
	struct err err;

	if (courier_leave(w->courier, "a", view_str(address), &err) < 0)
		fail_msg("%s", err.msg);
	courier_ready(w->courier, "a");
}

static struct outbox_stats stats(const struct world *w)
{
	struct outbox_stats s;

	courier_get_stats(w->courier, &s);
	return s;
}

/* Turns the loop until `done` or nothing has happened for a while. */
static bool turn_until(struct world *w, bool (*done)(const struct world *w))
{
	for (int i = 0; i < 200 && !done(w); i++)
		assert_true(sd_event_run(w->event, 50 * USEC_PER_MSEC) >= 0);
	return done(w);
}

static bool none_waiting(const struct world *w)
{
	return stats(w).waiting == 0;
}

static bool was_started(const struct world *w)
{
	return access(w->frame, F_OK) == 0;
}

static void test_sent(void **state)
{
	auto_buf struct buf bytes = BUF_INIT(MAIL_MAX_FRAME);
	struct world *w = *state;
	struct mail_frame frame;

	set_program(w, "exit 0");
	start(w);
	assert_true(courier_is_open(w->courier));
	leave_and_ready(w, "visitor@y.example");
	assert_true(turn_until(w, none_waiting));
	assert_int_equal(stats(w).sent, 1);
	assert_int_equal(io_read_file(AT_FDCWD, w->frame, &bytes), 0);
	assert_int_equal(mail_frame_read(buf_view(&bytes), &frame), 0);
	assert_true(view_is(frame.to, "visitor@y.example"));
	assert_true(view_is(frame.password, "secret word"));
	assert_int_equal(frame.claim_minutes, 2);
}

static void test_refused(void **state)
{
	static const char *const endings[] = { "exit 69", "exit 64" };
	static const char *const addresses[] = { "a@y.example", "b@y.example" };
	struct world *w = *state;

	start(w);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		set_program(w, endings[i]);
		leave_and_ready(w, addresses[i]);
		assert_true(turn_until(w, none_waiting));
		assert_int_equal(stats(w).refused, i + 1);
	}
}

static void test_tried_again(void **state)
{
	static const char *const endings[] = { "exit 75", "exit 1", "kill -SEGV $$" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		set_program(w, endings[i]);
		start(w);
		leave_and_ready(w, "visitor@y.example");
		assert_true(turn_until(w, was_started));
		/* its exit status may come a little later than its output */
		for (int turn = 0; turn < 10; turn++)
			assert_true(sd_event_run(w->event, 20 * USEC_PER_MSEC) >= 0);
		assert_int_equal(stats(w).waiting, 1);
		assert_int_equal(stats(w).sent + stats(w).refused, 0);
		(void)unlink(w->frame);
		courier_free(w->courier);
		w->courier = NULL;
	}
}

static void test_not_wanted(void **state)
{
	struct world *w = *state;

	set_program(w, "exit 0");
	start(w);
	w->is_wanted = false;
	leave_and_ready(w, "visitor@y.example");
	assert_true(turn_until(w, none_waiting));
	assert_int_equal(stats(w).sent, 0);
	assert_false(was_started(w));
}

static void test_no_program(void **state)
{
	struct world *w = *state;

	start(w);
	leave_and_ready(w, "visitor@y.example");
	for (int turn = 0; turn < 5; turn++)
		assert_true(sd_event_run(w->event, 10 * USEC_PER_MSEC) >= 0);
	assert_int_equal(stats(w).waiting, 1);
}

/* Freed while the program runs: it does not outlive the server. */
static void test_freed_meanwhile(void **state)
{
	struct world *w = *state;

	set_program(w, "exec sleep 1000");
	start(w);
	leave_and_ready(w, "visitor@y.example");
	assert_true(turn_until(w, was_started));
	courier_free(w->courier);
	w->courier = NULL;
}

static void test_what_is_refused_at_start(void **state)
{
	struct world *w = *state;
	struct err err;

	assert_int_equal(make(w, "mail.example", w->password, &err), -1);
	assert_non_null(strstr(err.msg, "mail.relay"));
	assert_int_equal(make(w, "smtp://127.0.0.1", "/nowhere", &err), -1);
	assert_non_null(strstr(err.msg, "/nowhere"));
	assert_int_equal(make(w, "smtp://127.0.0.1", "", &err), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_sent),
		TEST(test_refused),
		TEST(test_tried_again),
		TEST(test_not_wanted),
		TEST(test_no_program),
		TEST(test_freed_meanwhile),
		TEST(test_what_is_refused_at_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
