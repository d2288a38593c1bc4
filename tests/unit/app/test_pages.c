/* SPDX-License-Identifier: Apache-2.0 */
/* /health, /metrics and the start page as functions of a snapshot. */
#include "app/health.h"
#include "app/index_page.h"
#include "app/metrics.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct snapshot typical(void)
{
	return (struct snapshot){
		.version = "1.2.3",
		.profile = "public",
		.public_url = "https://berth.example/x",
		.has_oauth = true,
		.empties = true,
		.can_serve = true,
		.has_room = true,
		.uptime_seconds = 77,
		.pool = { .slots = 500,
			  .free = 12,
			  .held = 480,
			  .emptying = 5,
			  .set_aside = 3,
			  .unclaimed = 2,
			  .in_use = 7,
			  .warm = 4,
			  .queue_max = 5000,
			  .granted = 1000,
			  .granted_from_queue = 300 },
		.running = 484,
		.enforced = { .engine = "native",
			      .namespaces = "pool",
			      .limits_by = "cgroup2",
			      .storage = "zfs",
			      .disk_by = "measured",
			      .network = "internet",
			      .network_by = "veth",
			      .filter = true,
			      .landlock = 7,
			      .workspace = true,
			      .memory = true },
		.memory_bytes = 1ULL << 30,
		.workspace_bytes = 2ULL << 30,
		.cpu_percent = 200,
		.idle_seconds = 600,
		.tool_calls = 123456789012,
		.longest_turn_cpu = 0.25,
	};
}

static void test_status(void **state)
{
	static const struct {
		bool can_serve, has_room, draining;
		uint32_t free, set_aside, queued;
		enum snapshot_status want;
		unsigned http;
	} rows[] = {
		{ true, true, false, 12, 3, 0, SNAPSHOT_OK, 200 },
		{ true, true, false, 0, 3, 0, SNAPSHOT_FULL, 200 },
		{ true, true, false, 0, 3, 9, SNAPSHOT_FULL, 200 },
		{ true, true, false, 1, 3, 9, SNAPSHOT_FULL, 200 },
		{ true, true, true, 12, 3, 0, SNAPSHOT_DRAINING, 200 },
		{ true, false, false, 12, 3, 0, SNAPSHOT_NO_ROOM, 200 },
		{ true, false, false, 0, 3, 9, SNAPSHOT_NO_ROOM, 200 },
		{ true, true, false, 0, 500, 0, SNAPSHOT_UNAVAILABLE, 503 },
		{ false, false, false, 12, 3, 0, SNAPSHOT_UNAVAILABLE, 503 },
		{ false, true, true, 12, 3, 0, SNAPSHOT_UNAVAILABLE, 503 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(8192);
		struct snapshot s = typical();
		struct err err;
		unsigned http = 0;

		s.can_serve = rows[i].can_serve;
		s.has_room = rows[i].has_room;
		s.pool.draining = rows[i].draining;
		s.pool.free = rows[i].free;
		s.pool.set_aside = rows[i].set_aside;
		s.pool.queue_length = rows[i].queued;
		assert_int_equal(snapshot_status(&s), rows[i].want);
		assert_int_equal(health_print(&s, &out, &http, &err), 0);
		assert_int_equal(http, rows[i].http);
	}
}

static int64_t number(const json_t *all, const char *object, const char *name)
{
	const json_t *v = json_object_get(json_object_get(all, object), name);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static void test_health(void **state)
{
	auto_buf struct buf out = BUF_INIT(8192);
	struct snapshot s = typical();
	const json_t *enforced;
	json_t *all;
	unsigned http;
	struct err err;

	(void)state;
	s.pool.newcomer_wait = 90 * USEC_PER_SEC + 1;
	s.enforced.engine = "oci:\"odd\"";
	assert_int_equal(health_print(&s, &out, &http, &err), 0);
	all = json_parse(buf_view(&out), &err);
	assert_non_null(all);
	assert_string_equal(json_string_value(json_object_get(all, "status")), "ok");
	assert_string_equal(json_string_value(json_object_get(all, "version")), "1.2.3");
	assert_int_equal(number(all, "slots", "total"), 500);
	assert_int_equal(number(all, "slots", "free"), 12);
	assert_int_equal(number(all, "slots", "occupied"), 480);
	assert_int_equal(number(all, "slots", "emptying"), 5);
	assert_int_equal(number(all, "slots", "set_aside"), 3);
	assert_int_equal(number(all, "queue", "newcomer_wait_seconds"), 91);
	enforced = json_object_get(all, "enforced");
	assert_true(json_is_true(json_object_get(enforced, "workspace_quota")));
	assert_true(json_is_false(json_object_get(enforced, "layer_quota")));
	assert_string_equal(json_string_value(json_object_get(enforced, "disk_by")), "measured");
	assert_true(json_is_true(json_object_get(enforced, "server_filter")));
	assert_int_equal(number(all, "enforced", "server_landlock"), 7);
	assert_string_equal(json_string_value(json_object_get(enforced, "engine")), "oci:\"odd\"");
	json_decref(all);

	/* no estimate is no number */
	buf_truncate(&out, 0);
	s.pool.newcomer_wait = USEC_INFINITY;
	assert_int_equal(health_print(&s, &out, &http, &err), 0);
	assert_non_null(strstr(buf_str(&out), "\"newcomer_wait_seconds\":null"));
}

/* Every line is a comment or "name[{label="value"}] number"; a metric's lines are together. */
static void check_format(const char *text)
{
	char family[64] = "";
	struct view rest = view_str(text), line;

	while (view_split(&rest, '\n', &line)) {
		size_t space = view_find(line, ' ');

		if (view_starts(line, VIEW("# TYPE "))) {
			struct view name = view_from(line, 7);

			name = view_first(name, view_find(name, ' '));
			assert_int_equal(view_copy(name, family, sizeof(family)), 0);
			continue;
		}
		if (view_starts(line, VIEW("# HELP berth_")))
			continue;
		assert_true(view_starts(line, view_str(family)));
		assert_true(line.p[strlen(family)] == ' ' || line.p[strlen(family)] == '{');
		assert_true(space < line.len);
	}
}

static void test_metrics(void **state)
{
	auto_buf struct buf out = BUF_INIT(32768);
	struct snapshot s = typical();

	(void)state;
	s.pool.newcomer_wait = 90 * USEC_PER_SEC;
	assert_int_equal(metrics_print(&s, &out), 0);
	check_format(buf_str(&out));
	assert_non_null(strstr(buf_str(&out), "berth_slots{state=\"free\"} 12\n"));
	assert_non_null(strstr(buf_str(&out), "berth_grants_total{from=\"free\"} 700\n"));
	assert_non_null(strstr(buf_str(&out), "berth_tool_calls_total 123456789012\n"));
	assert_non_null(strstr(buf_str(&out), "berth_newcomer_wait_seconds 90\n"));
	assert_non_null(strstr(buf_str(&out), "berth_up 1\n"));
	assert_non_null(
		strstr(buf_str(&out), "berth_loop_longest_turn_seconds{clock=\"cpu\"} 0.25\n"));

	buf_truncate(&out, 0);
	s.pool.newcomer_wait = USEC_INFINITY;
	assert_int_equal(metrics_print(&s, &out), 0);
	assert_null(strstr(buf_str(&out), "newcomer_wait"));

	buf_done(&out);
	buf_init(&out, 100);
	assert_int_equal(metrics_print(&s, &out), -ENOSPC);
}

static void index_has(const struct snapshot *s, const char *word, bool want)
{
	auto_buf struct buf out = BUF_INIT(65536);
	struct err err;

	if (index_page_print(s, &out, &err) < 0)
		fail_msg("%s", err.msg);
	if (!strstr(buf_str(&out), word) == want)
		fail_msg("\"%s\" %s in the page", word, want ? "is not" : "is");
}

static void test_index(void **state)
{
	struct snapshot s = typical();

	(void)state;
	index_has(&s, "<code>https://berth.example/x/mcp</code>", true);
	index_has(&s, "12 <small>of 500</small>", true);
	index_has(&s, "<p class=\"number\">none</p>", true);
	index_has(&s, "<rect width=\"97\"", true);
	index_has(&s, "at once", true);
	index_has(&s, "http-equiv=\"refresh\"", true);
	index_has(&s, "1 GiB of memory, 2 CPUs, 2 GiB for files", true);
	index_has(&s, "10 minutes", true);
	index_has(&s, "emptied for the next visitor", true);
	index_has(&s, "claude mcp add --transport http berth https://berth.example/x/mcp<", true);
	index_has(&s, "ChatGPT", true);
	index_has(&s, "Bearer", false);
	index_has(&s, "<script", false);
	index_has(&s, "{{", false);

	s.pool.free = 0;
	s.pool.queue_length = 3;
	s.pool.newcomer_wait = 20 * USEC_PER_SEC;
	index_has(&s, "3 waiting, and the next visitor would wait about a minute", true);
	s.pool.newcomer_wait = 1000 * USEC_PER_SEC;
	index_has(&s, "about 17 minutes", true);
	index_has(&s, "<p class=\"number\">17 min</p>", true);
	index_has(&s, "<rect width=\"100\"", true);
	s.pool.newcomer_wait = 7300 * USEC_PER_SEC;
	index_has(&s, "about 2 hours", true);
	index_has(&s, "<p class=\"number\">2 h</p>", true);
	s.pool.newcomer_wait = USEC_INFINITY;
	index_has(&s, "All sandboxes are taken.", true);
	index_has(&s, "<p class=\"number\">unknown</p>", true);
	s.has_room = false;
	index_has(&s, "disk is full", true);
	s.pool.draining = true;
	index_has(&s, "Maintenance", true);
	s.can_serve = false;
	index_has(&s, "cannot run sandboxes", true);

	/* Sign-in on somebody's own server, where files stay. */
	s = typical();
	s.empties = false;
	index_has(&s, "emptied for the next visitor", false);
	index_has(&s, "<code>/workspace</code> stay", true);

	s.has_oauth = false;
	s.needs_token = true;
	s.memory_bytes = 512ULL << 20;
	s.cpu_percent = 100;
	s.public_url = "https://a\"<b>";
	index_has(&s, "of 500", false); /* nobody else's business */
	index_has(&s, "http-equiv=\"refresh\"", false);
	index_has(&s, "the token", true);
	index_has(&s, "/mcp \\\n  --header \"Authorization: Bearer TOKEN\"</code>", true);
	index_has(&s, "\"headers\": {\"Authorization\": \"Bearer TOKEN\"}", true);
	index_has(&s, "<summary>ChatGPT</summary>", false); /* it cannot send one */
	index_has(&s, "512 MiB of memory, 1 CPU,", true);
	index_has(&s, "<b>", false);

	s.needs_token = false; /* on loopback only */
	index_has(&s, "TOKEN", false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
