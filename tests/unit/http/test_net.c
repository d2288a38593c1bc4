/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, networks, and the client behind proxies. */
#include "http/net.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct net_address address(const char *text)
{
	struct net_address a;

	assert_int_equal(net_address_parse(view_str(text), &a), 0);
	return a;
}

static void test_addresses(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.1" },        { " 192.0.2.1:8080 ", "192.0.2.1" },
		{ "2001:DB8::1", "2001:db8::1" },    { "[2001:db8::1]:443", "2001:db8::1" },
		{ "::ffff:192.0.2.1", "192.0.2.1" },
	};
	static const char *const bad[] = { "",          "unknown", "192.0.2",      "192.0.2.256",
					   "1.2.3.4.5", "0x7f.1",  "192.0.2.1/24", "fe80::1%eth0" };
	struct net_address a;
	char text[NET_ADDRESS_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		a = address(rows[i].in);
		net_address_text(&a, text);
		assert_string_equal(text, rows[i].out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(net_address_parse(view_str(bad[i]), &a), -EINVAL);
}

static void test_loopback(void **state)
{
	struct net_address a;

	(void)state;
	a = address("127.8.8.8");
	assert_true(net_is_loopback(&a));
	a = address("::1");
	assert_true(net_is_loopback(&a));
	a = address("128.0.0.1");
	assert_false(net_is_loopback(&a));
}

static void test_lists(void **state)
{
	static const struct {
		const char *ip;
		bool is_in;
	} rows[] = {
		{ "10.1.2.3", true },     { "11.0.0.0", false },      { "192.168.1.130", true },
		{ "192.168.1.1", false }, { "2001:db8:ff::1", true }, { "2001:db9::1", false },
		{ "::1", true },          { "::2", false },
	};
	static const char *const bad[] = { "10.0.0.0/33", "::/129", "x", "10.0.0.0/",
					   "10.0.0.0/-1" };
	struct net_list list;
	struct err err;

	(void)state;
	assert_int_equal(
		net_list_parse("10.0.0.0/8, 192.168.1.128/25,2001:db8::/32, ::1", &list, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_address a = address(rows[i].ip);

		assert_int_equal(net_list_has(&list, &a), rows[i].is_in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(net_list_parse(bad[i], &list, &err), -1);
	assert_int_equal(net_list_parse("", &list, &err), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(net_list_parse(NULL, &list, &err), 0);
	assert_int_equal(net_list_parse("0.0.0.0/0", &list, &err), 0);
	struct net_address any = address("203.0.113.7"), v6 = address("2001:db8::1");
	assert_true(net_list_has(&list, &any));
	assert_false(net_list_has(&list, &v6));
}

static void test_forwarded(void **state)
{
	static const struct {
		const char *peer, *header, *want;
	} rows[] = {
		{ "10.0.0.1", "198.51.100.7", "198.51.100.7" },
		{ "10.0.0.1", "", "10.0.0.1" },
		/* What the client wrote itself stands before what the proxy added. */
		{ "10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7" },
		{ "10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7" },
		{ "10.0.0.1", "1.1.1.1, garbage, 10.0.0.2", "10.0.0.2" },
		{ "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3" },
		/* Not a proxy. */
		{ "203.0.113.1", "198.51.100.7", "203.0.113.1" },
	};
	struct net_list list;
	struct err err;

	(void)state;
	assert_int_equal(net_list_parse("10.0.0.0/8", &list, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_address peer = address(rows[i].peer), client;
		char text[NET_ADDRESS_TEXT];

		net_forwarded_client(&list, &peer, view_str(rows[i].header), &client);
		net_address_text(&client, text);
		assert_string_equal(text, rows[i].want);
	}
}

static void test_networks(void **state)
{
	static const struct {
		const char *address, *network;
	} rows[] = {
		{ "192.0.2.77", "192.0.2.0/24" },
		{ "::ffff:192.0.2.78", "192.0.2.0/24" },
		{ "255.255.255.255", "255.255.255.0/24" },
		{ "2001:db8:1:2::3", "2001:db8:1::/48" },
		{ "2001:db8:1:ffff::3", "2001:db8:1::/48" },
		{ "2001:db8:2::3", "2001:db8:2::/48" },
		{ "::1", "::/48" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_address a = address(rows[i].address);
		char text[NET_NETWORK_TEXT];

		net_network_text(&a, text);
		assert_string_equal(text, rows[i].network);
	}
}

static void test_hosts(void **state)
{
	static const char *const ours[] = { "localhost",      "LocalHost:8000", "127.0.0.1",
					    "127.1.2.3:8000", "[::1]",          "[::1]:8000" };
	static const char *const others[] = { "",
					      ":8000",
					      "localhost.evil.example",
					      "127.0.0.1.evil.example",
					      "evil.example:8000",
					      "192.0.2.1",
					      "[2001:db8::1]:80",
					      "0.0.0.0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_true(net_host_is_loopback(view_str(ours[i])));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(net_host_is_loopback(view_str(others[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_lists),     cmocka_unit_test(test_forwarded),
		cmocka_unit_test(test_networks),  cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
