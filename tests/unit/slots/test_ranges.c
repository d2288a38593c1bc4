/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: what is one, what lies in one, and what no sandbox reaches. */
#include "slots/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void parse(void **state)
{
	static const struct {
		const char *text;
		int want;
		int family;
		uint32_t prefix;
		uint16_t port;
	} rows[] = {
		{ "192.0.2.0/24", 0, AF_INET, 24, 0 },
		{ "192.0.2.1", 0, AF_INET, 32, 0 },
		{ "192.0.2.1:443", 0, AF_INET, 32, 443 },
		{ "192.0.2.0/24:80", 0, AF_INET, 24, 80 },
		{ "0.0.0.0/0", 0, AF_INET, 0, 0 },
		{ "2001:db8::/32", 0, AF_INET6, 32, 0 },
		{ "2001:db8::1", 0, AF_INET6, 128, 0 },
		{ "[2001:db8::1]:443", 0, AF_INET6, 128, 443 },
		{ "[2001:db8::/32]:443", 0, AF_INET6, 32, 443 },
		{ "[2001:db8::1]", 0, AF_INET6, 128, 0 },
		{ "", -EINVAL },
		{ "192.0.2.1/24", -EINVAL }, /* bits beyond the prefix */
		{ "192.0.2.0/33", -EINVAL },
		{ "192.0.2.0/", -EINVAL },
		{ "192.0.2.0/24:0", -EINVAL },
		{ "192.0.2.0/24:65536", -EINVAL },
		{ "192.0.2:80", -EINVAL },
		{ "010.0.0.1", -EINVAL },
		{ "[2001:db8::1]443", -EINVAL },
		{ "[2001:db8::1", -EINVAL },
		{ "[]:1", -EINVAL },
		{ "2001:db8::1/129", -EINVAL },
		{ "example", -EINVAL },
		{ "1.2.3.4 } accept", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct range r = { .prefix = 99 };

		assert_int_equal(range_parse(view_str(rows[i].text), &r), rows[i].want);
		assert_int_equal(r.prefix, rows[i].want == 0 ? rows[i].prefix : 99);
		if (rows[i].want == 0) {
			assert_int_equal(r.address.family, rows[i].family);
			assert_int_equal(r.port, rows[i].port);
		}
	}
}

static void lists(void **state)
{
	struct range list[RANGES_MAX];
	char many[RANGES_MAX * 12 + 64] = "";
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(range_list_parse(" 192.0.2.1:80 , ,2001:db8::/32,", list, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(range_list_parse("", list, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(range_list_parse("192.0.2.1, bad", list, &n, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	for (size_t i = 0; i <= RANGES_MAX; i++)
		memcpy(many + i * 10, "192.0.2.1,", 11);
	assert_int_equal(range_list_parse(many, list, &n, &err), -1);
}

static void refused(void **state)
{
	static const struct {
		const char *text;
		bool refused;
	} rows[] = {
		{ "10.0.0.1", true },
		{ "172.31.255.255", true },
		{ "172.32.0.0", false },
		{ "192.168.1.1", true },
		{ "127.0.0.1", true },
		{ "0.0.0.0", true },
		{ "169.254.169.254", true },
		{ "100.100.100.200", true },
		{ "100.128.0.1", false },
		{ "192.0.0.192", true },
		{ "168.63.129.16", true },
		{ "168.63.129.17", false },
		{ "203.0.113.80", true },
		{ "224.0.0.1", true },
		{ "255.255.255.255", true },
		{ "8.8.8.8", false },
		{ "1.1.1.1", false },
		{ "::1", true },
		{ "::", true },
		{ "::ffff:8.8.8.8", true },
		{ "64:ff9b::a00:1", true },
		{ "2002:a00:1::", true },
		{ "fd00:ec2::254", true },
		{ "fd20:ce::254", true },
		{ "fe80::1", true },
		{ "ff02::1", true },
		{ "2606:4700::1", false },
		{ "2001:db8::1", true },
		{ "fec0::1", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct address a;

		assert_int_equal(address_parse(view_str(rows[i].text), &a), 0);
		assert_int_equal(address_is_refused(&a), rows[i].refused);
	}
}

/* Every entry of the lists must be a range, or it would protect from nothing. */
static void lists_are_ranges(void **state)
{
	static const char *const *const lists_of[] = { refused_v4, refused_v6, private_v4,
						       private_v6, metadata_v6 };
	struct range r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists_of); i++)
		for (const char *const *list = lists_of[i]; *list; list++)
			assert_int_equal(range_parse(view_str(*list), &r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test(lists),
		cmocka_unit_test(refused),
		cmocka_unit_test(lists_are_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
