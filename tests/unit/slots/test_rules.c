/* SPDX-License-Identifier: Apache-2.0 */
/* The rules' text: what must be in it in each mode, and in which order. */
#include "slots/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct network example(enum conf_network mode)
{
	struct network net = { .mode = mode,
			       .link_prefix = "bv1a2b-",
			       .table = "berth_1a2b",
			       .mtu = 1500,
			       .resolvers = { .n = 1 } };

	assert_int_equal(range_parse(VIEW("10.213.4.0/29"), &net.piece4), 0);
	assert_int_equal(range_parse(VIEW("fd42::/112"), &net.piece6), 0);
	assert_int_equal(address_parse(VIEW("10.9.9.9"), &net.resolvers.list[0]), 0);
	return net;
}

static const char *at(const char *text, const char *what)
{
	const char *hit = strstr(text, what);

	if (!hit)
		print_message("missing: %s\n%s\n", what, text);
	assert_non_null(hit);
	return hit;
}

static void assert_order(const char *text, const char *first, const char *second)
{
	assert_true(at(text, first) < at(text, second));
}

static void internet(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX);
	struct network net = example(CONF_NETWORK_INTERNET);
	struct range allowed;
	struct rules rules = {
		.net = &net, .slots = 2, .allowed = &allowed, .n_allowed = 1, .connections = 50
	};
	const char *from;

	(void)state;
	assert_int_equal(range_parse(VIEW("203.0.113.80:80"), &allowed), 0);
	assert_int_equal(rules_print(&rules, &out), 0);
	(void)at(buf_str(&out), "\"bv1a2b-0\" . 10.213.4.2, \"bv1a2b-1\" . 10.213.4.3 }");
	(void)at(buf_str(&out),
		 "ip daddr 203.0.113.80/32 meta l4proto { tcp, udp } th dport 80 goto granted");
	(void)at(buf_str(&out),
		 "ip daddr 10.9.9.9 meta l4proto { tcp, udp } th dport 53 goto granted");
	(void)at(buf_str(&out), "ip saddr 10.213.4.0/29 masquerade");
	/* The whole of the chain matters in its order. */
	from = at(buf_str(&out), "chain from_sandbox");
	assert_order(from, "@slots4 drop", "established,related accept");
	assert_order(from, "oifname \"bv*\" goto refuse", "jump permitted");
	assert_order(from, "jump permitted", "@refused4 goto refuse");
	assert_order(from, "@refused6 goto refuse", "\t\tgoto reached\n");
	/* Nothing that leaves is uncounted. */
	from = at(buf_str(&out), "chain granted");
	assert_order(from, "add @open_granted { iifname ct count over 50 }", "\t\taccept\n");
	from = at(buf_str(&out), "chain reached");
	(void)at(from, "meta l4proto tcp add @open_tcp { iifname ct count over 50 }");
	assert_order(from, "meta l4proto != tcp add @open_other { iifname ct count over 13 }",
		     "\t\taccept\n");
	/* No IPv6 block: nothing of IPv6 leaves. */
	(void)at(at(buf_str(&out), "chain from_sandbox"), "meta nfproto ipv6 drop");
	assert_null(strstr(buf_str(&out), "dnat"));
	assert_null(strstr(buf_str(&out), "@hosts4"));
}

static void lan_keeps_metadata_out(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX);
	struct network net = example(CONF_NETWORK_LAN);
	struct rules rules = { .net = &net, .slots = 1 };

	(void)state;
	assert_int_equal(rules_print(&rules, &out), 0);
	assert_null(strstr(buf_str(&out), "192.168.0.0/16"));
	assert_null(strstr(buf_str(&out), "fc00::/7"));
	(void)at(buf_str(&out), "169.254.0.0/16");
	(void)at(buf_str(&out), "fd00:ec2::254");
	(void)at(buf_str(&out), "10.213.4.0/29 }"); /* not the sandboxes' own addresses */
}

static void allow_ends_with_refusal(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX);
	struct network net = example(CONF_NETWORK_ALLOW);
	struct address host;
	struct rules rules = { .net = &net, .slots = 1, .hosts = &host, .n_hosts = 1 };
	const char *from;

	(void)state;
	assert_int_equal(address_parse(VIEW("8.8.4.4"), &host), 0);
	assert_int_equal(rules_print(&rules, &out), 0);
	(void)at(buf_str(&out), "elements = { 8.8.4.4 }");
	from = at(buf_str(&out), "chain from_sandbox");
	assert_order(from, "@refused4 goto refuse", "@hosts4 goto reached");
	(void)at(from, "@hosts6 goto reached\n\t\tgoto refuse\n\t}");

	buf_truncate(&out, 0);
	assert_int_equal(rules_print_hosts(&rules, &out), 0);
	assert_string_equal(buf_str(&out), "add element inet berth_1a2b hosts4 { 8.8.4.4 }\n"
					   "delete element inet berth_1a2b hosts4 { 8.8.4.4 }\n"
					   "add element inet berth_1a2b hosts4 { 8.8.4.4 }\n");
}

static void local_resolver(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX);
	struct network net = example(CONF_NETWORK_INTERNET);
	struct rules rules = { .net = &net, .slots = 1 };

	(void)state;
	net.resolvers.loopback = true;
	assert_int_equal(address_parse(VIEW("127.0.0.1"), &net.resolvers.list[0]), 0);
	assert_int_equal(rules_print(&rules, &out), 0);
	(void)at(buf_str(&out), "ip daddr 10.213.4.1 meta l4proto { tcp, udp } th dport 53 dnat "
				"ip to 127.0.0.1");
	(void)at(buf_str(&out), "ip daddr 127.0.0.0/8 ct status dnat meta l4proto { tcp, udp } "
				"th dport 53 goto granted");
}

static void ipv6_and_bandwidth(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX);
	struct network net = example(CONF_NETWORK_INTERNET);
	struct rules rules = { .net = &net, .slots = 1, .bandwidth_mbit = 8 };

	(void)state;
	net.has_v6 = true;
	assert_int_equal(rules_print(&rules, &out), 0);
	(void)at(buf_str(&out), "\"bv1a2b-0\" . fd42::2 }");
	(void)at(buf_str(&out), "ip6 saddr fd42::/112 masquerade");
	(void)at(buf_str(&out), "nd-neighbor-solicit");
	(void)at(buf_str(&out), "limit rate over 1000 kbytes/second burst 100 kbytes");
}

static void bounded(void **state)
{
	auto_buf struct buf out = BUF_INIT(RULES_MAX), small = BUF_INIT(100);
	struct network net = example(CONF_NETWORK_INTERNET);
	struct rules rules = { .net = &net, .slots = 5000 };

	(void)state;
	net.has_v6 = true;
	assert_int_equal(rules_print(&rules, &out), 0); /* the largest pool fits */
	assert_int_equal(rules_print(&rules, &small), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(internet),
		cmocka_unit_test(lan_keeps_metadata_out),
		cmocka_unit_test(allow_ends_with_refusal),
		cmocka_unit_test(local_resolver),
		cmocka_unit_test(ipv6_and_bandwidth),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
