/* SPDX-License-Identifier: Apache-2.0 */
/* The strict grammar of e-mail addresses. */
#include "base/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_grammar(void **state)
{
	static const struct {
		const char *in;
		bool want;
	} rows[] = {
		{ "a@b.example", true },
		{ "First.Last+tag_x-y@sub.example-host.org", true },
		{ "1@2.example", true },
		{ "a@xn--bcher-kva.example", true },
		{ "", false },
		{ "a", false },
		{ "@b.example", false },
		{ "a@", false },
		{ "a@b", false },
		{ "a@localhost", false },
		{ "a@@b.example", false },
		{ "a@b@c.example", false },
		{ ".a@b.example", false },
		{ "a.@b.example", false },
		{ "a..b@c.example", false },
		{ "-a@b.example", false },
		{ "a@.b.example", false },
		{ "a@b.example.", false },
		{ "a@b..example", false },
		{ "a@-b.example", false },
		{ "a@b-.example", false },
		{ "a@10.0.0.1", false },
		{ "a@[10.0.0.1]", false },
		{ "a@b.1", false },
		{ "a b@c.example", false },
		{ " a@b.example", false },
		{ "a@b.example\n", false },
		{ "a@b.example\r\nBcc: c@d.example", false },
		{ "a@b.example,c@d.example", false },
		{ "a@b.example;c@d.example", false },
		{ "<a@b.example>", false },
		{ "\"a\"@b.example", false },
		{ "a%b@c.example", false },
		{ "a!b@c.example", false },
		{ "a/b@c.example", false },
		{ "a|b@c.example", false },
		{ "a'b@c.example", false },
		{ "\xc3\xa4@b.example", false },
		{ "a@\xc3\xa4.example", false },
		{ "a@b_c.example", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (address_is_valid(view_str(rows[i].in)) != rows[i].want)
			fail_msg("\"%s\"", rows[i].in);
	assert_false(address_is_valid(view_of("a@b\0.example", 12)));
}

/* Builds "xxx@yyy.example" with parts of the given lengths. */
static bool with_lengths(int local, int label, int labels)
{
	char address[600];
	int n = snprintf(address, sizeof(address), "%0*d@", local, 1);

	for (int i = 0; i < labels; i++)
		n += snprintf(address + n, sizeof(address) - (size_t)n, "%0*d.", label, 1);
	(void)snprintf(address + n, sizeof(address) - (size_t)n, "example");
	return address_is_valid(view_str(address));
}

static void test_lengths(void **state)
{
	(void)state;
	assert_true(with_lengths(64, 1, 1));
	assert_false(with_lengths(65, 1, 1));
	assert_true(with_lengths(1, 63, 1));
	assert_false(with_lengths(1, 64, 1));
	assert_true(with_lengths(1, 60, 4));  /* 253 */
	assert_false(with_lengths(3, 60, 4)); /* 255 */
}

static void test_mailboxes(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a@b.example", "a@b.example" },     { "A.b@C.Example", "ab@c.example" },
		{ "a+tag@b.example", "a@b.example" }, { "a.b+c.d+e@f.g.example", "ab@f.g.example" },
		{ "+tag@b.example", "@b.example" },   { "a-b_c@d-e.example", "a-b_c@d-e.example" },
	};
	char mailbox[ADDRESS_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		address_mailbox(view_str(rows[i].in), mailbox);
		assert_string_equal(mailbox, rows[i].out);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_mailboxes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
