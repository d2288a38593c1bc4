/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages are sent, and when; and that nothing of an address is left afterwards. */
#include "mail/outbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define S    USEC_PER_SEC
#define HOUR (3600 * S)

static struct outbox *make(uint32_t per_hour)
{
	struct outbox_config config = { .per_hour = per_hour, .keep = 24 * HOUR };
	struct outbox *o = NULL;
	struct err err;

	if (outbox_new(&config, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static void leave(struct outbox *o, const char *principal, const char *address, usec now)
{
	struct err err;

	if (outbox_leave(o, principal, view_str(address), now, &err) < 0)
		fail_msg("%s: %s", address, err.msg);
}

static enum err_code left(struct outbox *o, const char *principal, const char *address, usec now)
{
	struct err err;

	if (outbox_leave(o, principal, view_str(address), now, &err) == 0)
		return ERR_NONE;
	return err.code;
}

static uint32_t waiting(const struct outbox *o)
{
	struct outbox_stats stats;

	outbox_get_stats(o, &stats);
	return stats.waiting;
}

static uint32_t sends(struct outbox *o, usec now, const char *address)
{
	struct outbox_job job;

	assert_true(outbox_next(o, now, &job));
	assert_true(view_is(job.address, address));
	return job.number;
}

static void sends_nothing(struct outbox *o, usec now)
{
	struct outbox_job job;

	assert_false(outbox_next(o, now, &job));
}

static void test_one_message_when_ready(void **state)
{
	struct outbox *o = make(60);
	struct outbox_stats stats;
	uint32_t n;

	(void)state;
	assert_true(outbox_next_deadline(o, 0) == USEC_INFINITY);
	leave(o, "a", "a@x.example", 100 * S);
	assert_true(outbox_next_deadline(o, 100 * S) == 100 * S + 24 * HOUR);
	sends_nothing(o, 200 * S);
	outbox_ready(o, "a", 300 * S);
	outbox_ready(o, "nobody", 300 * S);
	assert_true(outbox_next_deadline(o, 250 * S) == 300 * S);
	n = sends(o, 300 * S, "a@x.example");
	sends_nothing(o, 300 * S);
	outbox_done(o, n, OUTBOX_SENT, 301 * S);
	sends_nothing(o, 400 * S);
	outbox_get_stats(o, &stats);
	assert_int_equal(stats.waiting, 0);
	assert_int_equal(stats.sent, 1);
	outbox_free(o);
}

static void test_a_relay_that_is_down(void **state)
{
	static const usec pauses[] = { 60, 120, 240, 480, 960, 1920, 3600, 3600 };
	struct outbox *o = make(1); /* failed attempts do not count */
	struct outbox_stats stats;
	usec now = 0;

	(void)state;
	leave(o, "a", "a@x.example", 0);
	outbox_ready(o, "a", 0);
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		uint32_t n = sends(o, now, "a@x.example");

		outbox_done(o, n, OUTBOX_TRY_AGAIN, now);
		sends_nothing(o, now + pauses[i] * S - 1);
		assert_true(outbox_next_deadline(o, now) == now + pauses[i] * S);
		now += pauses[i] * S;
	}
	while (now < 24 * HOUR) {
		outbox_done(o, sends(o, now, "a@x.example"), OUTBOX_TRY_AGAIN, now);
		now += HOUR;
	}
	sends_nothing(o, now); /* then it is forgotten */
	outbox_get_stats(o, &stats);
	assert_int_equal(stats.waiting, 0);
	assert_int_equal(stats.forgotten, 1);
	assert_int_equal(stats.sent, 0);
	outbox_free(o);
}

static void test_refused_for_good(void **state)
{
	struct outbox *o = make(60);

	(void)state;
	leave(o, "a", "a@x.example", 0);
	outbox_ready(o, "a", 0);
	outbox_done(o, sends(o, 0, "a@x.example"), OUTBOX_REFUSED, S);
	assert_int_equal(waiting(o), 0);
	outbox_free(o);
}

static void test_not_wanted_any_more(void **state)
{
	struct outbox *o = make(60);
	uint32_t n;

	(void)state;
	leave(o, "a", "a@x.example", 0);
	outbox_forget(o, "a");
	outbox_forget(o, "a");
	assert_int_equal(waiting(o), 0);

	/* while it is sent: whatever comes of it, it is not kept for another attempt */
	leave(o, "b", "b@x.example", 0);
	outbox_ready(o, "b", 0);
	n = sends(o, 0, "b@x.example");
	outbox_forget(o, "b");
	outbox_done(o, n, OUTBOX_TRY_AGAIN, S);
	assert_int_equal(waiting(o), 0);

	/* a second address replaces the first */
	leave(o, "c", "c1@x.example", 0);
	leave(o, "c", "c2@x.example", 0);
	assert_int_equal(waiting(o), 1);
	outbox_ready(o, "c", 0);
	outbox_done(o, sends(o, S, "c2@x.example"), OUTBOX_SENT, S);
	sends_nothing(o, S);
	outbox_free(o);
}

/* At most that many in any hour, whatever the pattern. */
static void test_so_many_an_hour(void **state)
{
	enum { PER_HOUR = 5, MESSAGES = 60 };
	struct outbox *o = make(PER_HOUR);
	usec starts[MESSAGES];
	int n = 0;

	(void)state;
	for (int i = 0; i < MESSAGES; i++) {
		char name[32], address[64];

		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(address, sizeof(address), "p@d%d.example", i);
		leave(o, name, address, (usec)i * S);
		outbox_ready(o, name, (usec)i * S);
	}
	for (usec now = 100 * S; n < MESSAGES && now < 24 * HOUR; now += 7 * S) {
		struct outbox_job job;

		if (!outbox_next(o, now, &job))
			continue;
		if ((now / S) % 3 == 0) {
			outbox_done(o, job.number, OUTBOX_TRY_AGAIN, now);
			continue;
		}
		outbox_done(o, job.number, OUTBOX_SENT, now);
		starts[n++] = now;
	}
	assert_int_equal(n, MESSAGES);
	for (int i = PER_HOUR; i < n; i++)
		assert_true(starts[i] - starts[i - PER_HOUR] >= HOUR);
	outbox_free(o);
}

static void test_the_field_is_offered(void **state)
{
	struct outbox *o = make(1);

	(void)state;
	assert_true(outbox_is_open(o, 0));
	leave(o, "a", "a@x.example", 0);
	outbox_ready(o, "a", 0);
	outbox_done(o, sends(o, S, "a@x.example"), OUTBOX_SENT, S);
	assert_false(outbox_is_open(o, 2 * S));
	assert_true(outbox_is_open(o, S + HOUR));
	outbox_free(o);

	o = make(0);
	assert_false(outbox_is_open(o, 0));
	assert_int_equal(left(o, "a", "a@x.example", 0), ERR_FULL);
	outbox_free(o);
}

static void test_limits_against_pestering(void **state)
{
	struct outbox *o = make(60);
	char name[16], address[32];

	(void)state;
	assert_int_equal(left(o, "a", "not an address", 0), ERR_INVALID);
	leave(o, "a", "Victim@X.example", S);
	assert_int_equal(left(o, "b", "victim@x.EXAMPLE", 2 * S), ERR_BUSY);
	assert_int_equal(left(o, "b", "vic.tim+more@x.example", 2 * S), ERR_BUSY);
	outbox_forget(o, "a");
	assert_int_equal(left(o, "b", "victim@x.example", 23 * HOUR), ERR_BUSY);
	leave(o, "b", "victim@x.example", S + 24 * HOUR);

	for (int i = 0; i < OUTBOX_PER_DOMAIN; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i);
		(void)snprintf(address, sizeof(address), "v%d@y.example", i);
		leave(o, name, address, 30 * HOUR);
	}
	assert_int_equal(left(o, "e", "w@y.example", 30 * HOUR + S), ERR_BUSY);
	leave(o, "e", "w@y.example", 31 * HOUR);
	for (int i = 0; i < OUTBOX_PER_LARGE_DOMAIN; i++) {
		(void)snprintf(name, sizeof(name), "g%d", i);
		(void)snprintf(address, sizeof(address), "v%d@gmail.com", i);
		leave(o, name, address, 40 * HOUR);
	}
	assert_int_equal(left(o, "h", "w@gmail.com", 40 * HOUR + S), ERR_BUSY);
	outbox_free(o);
}

static void test_bounded(void **state)
{
	struct outbox *o = make(60);
	char name[16], address[32];

	(void)state;
	for (int i = 0; i < OUTBOX_MAX_ADDRESSES; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(address, sizeof(address), "v@d%d.example", i);
		leave(o, name, address, S);
	}
	assert_false(outbox_is_open(o, S));
	assert_int_equal(left(o, "more", "v@more.example", S), ERR_FULL);
	outbox_tick(o, S + 24 * HOUR);
	assert_int_equal(waiting(o), 0);
	for (int i = 0; i < OUTBOX_MAX_REMEMBERED; i++) {
		(void)snprintf(address, sizeof(address), "v@e%d.example", i);
		leave(o, "one", address, 48 * HOUR);
	}
	assert_int_equal(left(o, "one", "v@other.example", 48 * HOUR), ERR_FULL);
	leave(o, "one", "v@other.example", 72 * HOUR);
	outbox_free(o);
}

/* Searches the process' own writable memory, as a core dump would show it. */
static bool memory_holds(const char *reversed)
{
	size_t len = strlen(reversed);
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long long from, to;
		char mode;

		/* The stack holds this very search. */
		if (strstr(line, "[stack]") || strstr(line, "[v"))
			continue;
		from = strtoull(line, NULL, 16);
		to = strtoull(strchr(line, '-') + 1, NULL, 16);
		mode = strchr(line, ' ')[2];
		if (mode != 'w')
			continue;
		for (const char *p = (const char *)(uintptr_t)from;
		     p + len <= (const char *)(uintptr_t)to; p++) {
			size_t i = 0;

			while (i < len && p[i] == reversed[len - 1 - i])
				i++;
			if (i == len)
				found = true;
		}
	}
	(void)fclose(maps);
	return found;
}

static void test_nothing_is_left_behind(void **state)
{
	static const char reversed[] = "elpmaxe.detteltnuah@rotisiv";
	char address[sizeof(reversed)];
	struct outbox *o;

	(void)state;
	if (BERTH_SANITIZED)
		skip(); /* terabytes of shadow memory to search */
	o = make(60);
	for (size_t i = 0; i < sizeof(reversed) - 1; i++)
		address[i] = reversed[sizeof(reversed) - 2 - i];
	address[sizeof(reversed) - 1] = '\0';
	leave(o, "a", address, 0);
	assert_true(memory_holds(reversed));
	outbox_ready(o, "a", 0);
	outbox_done(o, sends(o, 0, address), OUTBOX_SENT, S);
	assert_false(memory_holds(reversed));
	outbox_free(o);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_message_when_ready),
		cmocka_unit_test(test_a_relay_that_is_down),
		cmocka_unit_test(test_refused_for_good),
		cmocka_unit_test(test_not_wanted_any_more),
		cmocka_unit_test(test_so_many_an_hour),
		cmocka_unit_test(test_the_field_is_offered),
		cmocka_unit_test(test_limits_against_pestering),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_nothing_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
