/* SPDX-License-Identifier: Apache-2.0 */
/* Which firewalls drop what they are not told of, by the words of iptables and nft. */
#include "slots/firewalls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_iptables(void **state)
{
	static const struct {
		const char *rules;
		bool drops;
	} rows[] = {
		{ "-P FORWARD ACCEPT\n", false },
		{ "-P FORWARD DROP\n-A FORWARD -j DOCKER-USER\n", true },
		{ "-P INPUT ACCEPT\n-A INPUT -i lo -j ACCEPT\n"
		  "-A INPUT -j REJECT --reject-with icmp-host-prohibited\n",
		  true },
		{ "-P FORWARD ACCEPT\n-A FORWARD -i docker0 -j DROP\n", false },
		{ "-P FORWARD ACCEPT\n-A FORWARD -j DROP", true },
		{ "-P FORWARD ACCEPT\n-A FORWARD -j\n-A FORWARD\n-P\n\n-A\nDROP\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(firewalls_iptables_drops(view_str(rows[i].rules)), rows[i].drops);
}

static void test_nft(void **state)
{
	struct view rest = VIEW("table inet firewall {\n"
				"\tchain in {\n"
				"\t\ttype filter hook input priority filter; policy drop;\n"
				"\t}\n"
				"\tchain fwd {\n"
				"\t\ttype filter hook forward priority filter - 5; policy drop;\n"
				"\t}\n"
				"\tchain out {\n"
				"\t\ttype filter hook output priority filter; policy drop;\n"
				"\t}\n"
				"\tchain plain {\n"
				"\t}\n"
				"}\n"
				"table ip filter {\n"
				"\tchain FORWARD {\n"
				"\t\ttype filter hook forward priority filter; policy accept;\n"
				"\t}\n"
				"\tchain FORWARD2 {\n"
				"\t\ttype filter hook forward priority filter; policy drop;\n"
				"\t}\n"
				"}\n");
	struct firewall_chain chain = { 0 };

	(void)state;
	assert_true(firewalls_next_dropping(&rest, &chain));
	assert_string_equal(chain.family, "inet");
	assert_string_equal(chain.table, "firewall");
	assert_string_equal(chain.name, "in");
	assert_string_equal(chain.hook, "input");
	assert_true(firewalls_next_dropping(&rest, &chain));
	assert_string_equal(chain.name, "fwd");
	assert_string_equal(chain.hook, "forward");
	assert_true(firewalls_next_dropping(&rest, &chain));
	assert_string_equal(chain.family, "ip");
	assert_string_equal(chain.table, "filter");
	assert_string_equal(chain.name, "FORWARD2");
	assert_false(firewalls_next_dropping(&rest, &chain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iptables),
		cmocka_unit_test(test_nft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
