/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups where the host offers none; what the kernel is told about disks. */
#include "spawner/cgroup_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Where nothing is delegated: an answer, not an error. */
static void test_none(void **state)
{
	const struct spawner_limits limits = { .memory_bytes = 1 << 30,
					       .cpu_permille = 1000,
					       .pids = 10 };
	struct cgroups *groups;
	struct cgroup_box *box;
	struct spawner_usage usage;
	int counters[SPAWNER_NUM_COUNTERS];
	struct err err;

	(void)state;
	assert_int_equal(cgroups_new("/nowhere", "berth-nowhere", &groups, &err), 0);
	assert_int_equal(cgroups_limiter(groups), SPAWNER_LIMITER_RLIMITS);
	assert_int_equal(cgroups_limited(groups), 0);
	assert_int_equal(cgroup_box_new(groups, 0, &limits, VIEW("8:0\n"), &box, &err), 0);
	assert_null(box);
	cgroup_box_usage(box, &usage);
	assert_true(usage.oom_kills == UINT64_MAX);
	assert_int_equal(cgroup_box_open_counters(box, counters), 0);
	assert_int_equal(counters[SPAWNER_OOM_KILLS], -1);
	assert_int_equal(cgroup_box_remove(box), 0);
	cgroups_free(groups);
}

static void test_disks(void **state)
{
	static const struct {
		struct spawner_limits limits;
		const char *text;
	} rows[] = {
		{ { .disk_bytes = 64 << 20, .disk_operations = 2000 },
		  "8:16 rbps=67108864 wbps=67108864 riops=2000 wiops=2000" },
		{ { .disk_bytes = UINT64_C(1) << 50 },
		  "8:16 rbps=1125899906842624 wbps=1125899906842624 riops=max wiops=max" },
		{ { .disk_operations = 5 }, "8:16 rbps=max wbps=max riops=5 wiops=5" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf text = BUF_INIT(256);

		assert_int_equal(cgroup2_print_disk(VIEW("8:16"), &rows[i].limits, &text), 0);
		assert_string_equal(buf_str(&text), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
