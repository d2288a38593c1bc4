/* SPDX-License-Identifier: Apache-2.0 */
/* The status file of berth-slots. */
#include "conf/slots_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void round_trip(void **state)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	struct slots_status in = { .slots = 100,
				   .storage = "btrfs-image",
				   .workspace_bounded = true,
				   .network = "internet",
				   .cgroups = "v1" };
	struct slots_status out;

	(void)state;
	assert_int_equal(slots_status_print(&in, &text), 0);
	assert_int_equal(slots_status_parse(buf_view(&text), &out), 0);
	assert_memory_equal(&in, &out, sizeof(in));
}

static void bad(void **state)
{
	static const char *const rows[] = {
		"",
		"storage=dir\n",
		"slots=0\n",
		"slots=x\n",
		"slots=5\nworkspace_bounded=maybe\n",
		"slots=5\nstorage=a-name-that-is-much-too-long\n",
	};
	struct slots_status out = { .slots = 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(slots_status_parse(view_str(rows[i]), &out), -EINVAL);
		assert_int_equal(out.slots, 7);
	}
	assert_int_equal(slots_status_parse(VIEW("slots=5\nfuture=1\nno equals sign\n"), &out), 0);
	assert_int_equal(out.slots, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(round_trip), cmocka_unit_test(bad) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
