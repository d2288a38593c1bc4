/* SPDX-License-Identifier: Apache-2.0 */
/* Keys set in the text of a configuration file. */
#include "conf/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void edit(void **state)
{
	static const struct {
		const char *before, *after; /* after [pool] slots = 7 */
	} rows[] = {
		{ "", "[pool]\nslots = 7\n" },
		{ "[pool]\nslots = 100\n", "[pool]\nslots = 7\n" },
		{ "[pool]\n  slots=100\nstorage = dir\n", "[pool]\nslots = 7\nstorage = dir\n" },
		{ "[pool]\n# places\n#slots = 100\n\n# next\n#storage = auto\n",
		  "[pool]\n# places\n#slots = 100\nslots = 7\n\n# next\n#storage = auto\n" },
		{ "[pool]\nstorage = dir\n\n[network]\nslots = 1\n",
		  "[pool]\nstorage = dir\nslots = 7\n\n[network]\nslots = 1\n" },
		{ "[network]\nmode = none", "[network]\nmode = none\n[pool]\nslots = 7\n" },
		{ "[pool]\nslots = 1", "[pool]\nslots = 7\n" },
		{ "[pool]\nslots = 1,\n  2,\n\t3\nstorage = dir\n",
		  "[pool]\nslots = 7\nstorage = dir\n" },
		{ "[pool]\nuid_base = 5", "[pool]\nuid_base = 5\nslots = 7\n" },
		{ "[pools]\nslots = 1\n", "[pools]\nslots = 1\n\n[pool]\nslots = 7\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(1024), again = BUF_INIT(1024);

		assert_int_equal(conf_edit(view_str(rows[i].before), "pool", "slots", "7", &out),
				 0);
		assert_string_equal(buf_str(&out), rows[i].after);
		assert_int_equal(conf_edit(buf_view(&out), "pool", "slots", "7", &again), 0);
		assert_string_equal(buf_str(&again), rows[i].after); /* nothing more to do */
	}
}

static void refuses(void **state)
{
	static const char *const rows[] = { "7\nstorage = dir", "7\r", "7 ; comment" };
	auto_buf struct buf out = BUF_INIT(1024), small = BUF_INIT(8);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(conf_edit(VIEW("[pool]\n"), "pool", "slots", rows[i], &out),
				 -EINVAL);
	assert_int_equal(conf_edit(VIEW("[pool]\n"), "pool", "slots", "7", &small), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(edit), cmocka_unit_test(refuses) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
