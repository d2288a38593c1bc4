/* SPDX-License-Identifier: Apache-2.0 */
/* Host and Origin. */
#include "mcp/guard.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct guard local = { 0 };
static const struct guard named = {
	.public_url = "https://box.example.org",
	.allowed_hosts = "inner.example.org, other.example.org:8443",
	.allowed_origins = "https://chat.example.org,null",
};
static const struct guard open = { .allowed_origins = "*", .allowed_hosts = "*" };

static void test_rows(void **state)
{
	static const struct {
		const struct guard *guard;
		const char *host, *origin;
		const char *refusal; /* NULL: may pass */
	} rows[] = {
		{ &local, "127.0.0.1:3000", NULL, NULL },
		{ &local, "localhost", NULL, NULL },
		{ &local, "LOCALHOST:1", NULL, NULL },
		{ &local, "[::1]:3000", NULL, NULL },
		{ &local, "192.168.1.5:8080", NULL, NULL },
		{ &local, "[fe80::1]", NULL, NULL },
		{ &local, "evil.example.com", NULL, "Host not allowed" },
		{ &local, "localhost.evil.example.com", NULL, "Host not allowed" },
		{ &local, "127.0.0.1.evil.example.com", NULL, "Host not allowed" },
		{ &local, "127.evil.example.com", NULL, "Host not allowed" },
		{ &local, "[evil]", NULL, "Host not allowed" },
		{ &local, "", NULL, "Host not allowed" },
		{ &local, NULL, NULL, "Host not allowed" },
		{ &local, "127.0.0.1:3000", "http://127.0.0.1:3000", NULL },
		{ &local, "127.0.0.1:3000", "http://localhost:6274", NULL },
		{ &local, "127.0.0.1:3000", "http://evil.example.com", "Origin not allowed" },
		{ &local, "127.0.0.1:3000", "null", "Origin not allowed" },
		{ &local, "127.0.0.1:3000", "", "Origin not allowed" },
		{ &local, "127.0.0.1:3000", "http://127.0.0.1.evil.example.com",
		  "Origin not allowed" },
		/* A page on the visitor's own machine is no friend of another machine. */
		{ &local, "192.168.1.5:8080", "http://localhost:6274", "Origin not allowed" },
		{ &local, "192.168.1.5:8080", "http://192.168.1.5:8080", NULL },
		{ &named, "box.example.org", NULL, NULL },
		{ &named, "Box.Example.Org:443", NULL, NULL },
		{ &named, "inner.example.org:1", NULL, NULL },
		{ &named, "other.example.org", NULL, NULL },
		{ &named, "xbox.example.org", NULL, "Host not allowed" },
		{ &named, "box.example.org", "https://box.example.org", NULL },
		{ &named, "127.0.0.1", "https://box.example.org", NULL },
		{ &named, "box.example.org", "https://chat.example.org", NULL },
		{ &named, "box.example.org", "null", NULL },
		{ &named, "box.example.org", "https://chat.example.org.evil.example.com",
		  "Origin not allowed" },
		{ &named, "box.example.org", "https://localhost:6274", "Origin not allowed" },
		{ &open, "anything.example.com", "https://anybody.example.com", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view host = view_str(rows[i].host), origin = view_str(rows[i].origin);
		const char *got;

		if (!rows[i].host)
			host.p = NULL;
		if (!rows[i].origin)
			origin.p = NULL;
		got = guard_refuse(rows[i].guard, host, origin);
		if (!got != !rows[i].refusal)
			fail_msg("row %zu: %s", i, got ? got : "passed");
		if (got)
			assert_true(view_starts(view_str(got), view_str(rows[i].refusal)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
