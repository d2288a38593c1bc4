/* SPDX-License-Identifier: Apache-2.0 */
/* Without kept namespaces: newuidmap makes one for each start. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct fixture fixture;

static void on_opened(void *userdata, struct engine_files *files, const struct err *err)
{
	assert_non_null(files);
	assert_null(err);
	*(bool *)userdata = true;
}

static void test_fallback(void **state)
{
	struct engine_box_spec spec = harness_spec(1);
	struct engine_facts facts;
	struct engine_box *box;
	struct harness h;
	struct err err = { 0 };
	bool is_open = false;

	(void)state;
	harness_start(&h, &fixture);
	engine_get_facts(h.engine, &facts);
	assert_string_equal(facts.namespaces, "newuidmap");
	assert_string_equal(facts.network, "none");
	box = harness_box(&h, &spec, &err);
	if (!box)
		fail_msg("start: %s", err.msg);
	assert_string_equal(harness_output(&h, box, "id -u; cat /proc/self/uid_map | tr -s ' '"),
			    "0\n 0 906035200 65536\n");
	assert_int_equal(engine_files_open(h.engine, 1, on_opened, &is_open, &err), 0);
	assert_true(harness_wait(&h, &is_open));
	harness_stop_box(&h, box);
	harness_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_fallback) };

	if (!fixture_can_enter() || access("/usr/bin/newuidmap", X_OK) < 0)
		return FIXTURE_SKIPPED;
	fixture_enter(&fixture, FIXTURE_NO_POOL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
