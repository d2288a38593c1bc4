/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from the host's own files: resolv.conf, mountinfo. */
#include "slots/cgroups.h"
#include "slots/resolvers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void resolvers(void **state)
{
	static const struct {
		const char *text;
		enum resolvers_families families;
		size_t n;
		bool loopback;
		uint8_t first; /* byte of the first address */
	} rows[] = {
		{ "# none\nsearch lan\n", RESOLVERS_ALL, 0, false, 0 },
		{ "nameserver 10.0.0.53\n", RESOLVERS_ALL, 1, false, 10 },
		{ "  nameserver\t192.0.2.53  \nnameserver 127.0.0.1\n", RESOLVERS_ALL, 1, false,
		  192 },
		{ "nameserver 127.0.0.53\noptions edns0\n", RESOLVERS_ALL, 1, true, 127 },
		{ "nameserver ::1\nnameserver 127.0.0.1\n", RESOLVERS_V4_ONLY, 1, true, 127 },
		{ "nameserver ::1\n", RESOLVERS_ALL, 0, false, 0 },
		{ "nameserver 2001:db8::53\n", RESOLVERS_V4_ONLY, 0, false, 0 },
		{ "nameserver 2001:db8::53\n", RESOLVERS_ALL, 1, false, 0x20 },
		{ "nameserver fe80::1%eth0\nnameserver 10.0.0.1", RESOLVERS_ALL, 1, false, 10 },
		{ "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"
		  "nameserver 10.0.0.4\n",
		  RESOLVERS_ALL, 3, false, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resolvers r;

		resolvers_read(view_str(rows[i].text), rows[i].families, &r);
		assert_int_equal(r.n, rows[i].n);
		assert_int_equal(r.loopback, rows[i].loopback);
		if (r.n)
			assert_int_equal(r.list[0].bytes[0], rows[i].first);
	}
}

static void configured_resolvers(void **state)
{
	struct resolvers r;
	struct err err;

	(void)state;
	assert_int_equal(resolvers_find("10.0.0.1, 10.0.0.2", RESOLVERS_ALL, &r, &err), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(resolvers_find("10.0.0.1 } x", RESOLVERS_ALL, &r, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
}

static const char mountinfo[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup "
	"rw,cpu,cpuacct\n"
	"31 22 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
	"32 22 0:28 / /sys/fs/cgroup/unified rw shared:10 master:3 - cgroup2 cgroup2 rw\n";

static void cgroup_mounts(void **state)
{
	char path[64] = "";

	(void)state;
	assert_true(cgroups_find_mount(view_str(mountinfo), "memory", path, sizeof(path)));
	assert_string_equal(path, "/sys/fs/cgroup/memory");
	assert_true(cgroups_find_mount(view_str(mountinfo), "cpu", path, sizeof(path)));
	assert_string_equal(path, "/sys/fs/cgroup/cpu,cpuacct");
	assert_true(cgroups_find_mount(view_str(mountinfo), NULL, path, sizeof(path)));
	assert_string_equal(path, "/sys/fs/cgroup/unified");
	assert_false(cgroups_find_mount(view_str(mountinfo), "pids", path, sizeof(path)));
	assert_false(cgroups_find_mount(VIEW("garbage\n1 2 3\n"), "pids", path, sizeof(path)));
	assert_false(cgroups_find_mount(view_str(mountinfo), "memory", path, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolvers),
		cmocka_unit_test(configured_resolvers),
		cmocka_unit_test(cgroup_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
