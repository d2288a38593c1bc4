/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in service units. */
#include "cli/units.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct units_values values = {
	.libexecdir = "/usr/libexec/berth",
	.bindir = "/usr/bin",
	.config = "/etc/berth/berth.conf",
	.state_dir = "/srv/100%",
	.runtime_dir = "/srv/with blank",
	.user = "berth",
	.spawner_options = "",
	.engine = "oci:crun",
	.uid_base = "1048576",
};

static void test_rows(void **state)
{
	static const struct {
		const char *template, *expected; /* NULL: refused */
	} rows[] = {
		{ "", "" },
		{ "plain\n", "plain\n" },
		{ "Exec=@libexecdir@/berthd --config @config@\n",
		  "Exec=/usr/libexec/berth/berthd --config /etc/berth/berth.conf\n" },
		{ "User=@user@", "User=berth" },
		{ "--engine @engine@ --uid-base @uid_base@",
		  "--engine oci:crun --uid-base 1048576" },
		{ "@user@@user@", "berthberth" },
		{ "Path=@state_dir@", "Path=/srv/100%%" },
		{ "Filter=@system-service\nFilter=~@privileged @resources\n",
		  "Filter=@system-service\nFilter=~@privileged @resources\n" },
		{ "a@", "a@" },
		{ "@@", "@@" },
		{ "spawner --x @spawner_options@\n", "spawner --x \n" },
		{ "@nothing@", NULL },
		{ "@runtime_dir@", NULL },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(4096);
		int r = units_fill(view_str(rows[i].template), &values, &out, &err);

		assert_int_equal(r, rows[i].expected ? 0 : -1);
		if (rows[i].expected)
			assert_string_equal(buf_str(&out), rows[i].expected);
		else
			assert_int_equal(err.code, ERR_INVALID);
	}
}

static void test_bound(void **state)
{
	auto_buf struct buf out = BUF_INIT(8);
	struct err err;

	(void)state;
	assert_int_equal(units_fill(VIEW("x@libexecdir@"), &values, &out, &err), -1);
	assert_int_equal(err.code, ERR_FULL);
}

static void test_state(void **state)
{
	static const struct {
		const char *unit, *expected;
	} rows[] = {
		{ "", "" },
		{ "[Unit]\nAfter=local-fs.target\n", "" },
		{ "[Unit]\nRequiresMountsFor=/var/lib/berth\n[Service]\n", "/var/lib/berth" },
		{ "RequiresMountsFor=/srv/100%%/%%", "/srv/100%/%" },
		{ "RequiresMountsFor=/srv/%", "/srv/" },
	};
	auto_buf struct buf small = BUF_INIT(4);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(4096);

		assert_int_equal(units_state(view_str(rows[i].unit), &out), 0);
		assert_string_equal(buf_str(&out), rows[i].expected);
	}
	assert_int_equal(units_state(VIEW("RequiresMountsFor=/var/lib"), &small), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
