/* SPDX-License-Identifier: Apache-2.0 */
/* What the model is told about the server as a whole. */
#include "tools/core_tools.h"

#include "conf/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

static void told(const char *profile, enum tool_audience audience, const char *words, bool want)
{
	const struct conf_override overrides[] = { { "server.profile", profile }, { 0 } };
	auto_buf struct buf text = BUF_INIT(8192);
	struct conf conf;
	struct err err;

	if (conf_load(&conf, NULL, NULL, overrides, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(core_tools_instructions(&conf, audience, &text), 0);
	if (!strstr(buf_str(&text), words) == want)
		fail_msg("\"%s\" is %s in: %s", words, want ? "not" : "", buf_str(&text));
	conf_done(&conf);
}

/* Where everything is emptied, no sentence promises that files stay. */
static void what_survives(void **state)
{
	(void)state;
	told("personal", TOOL_AUDIENCE_LABELS, "Files under /workspace survive;", true);
	told("personal", TOOL_AUDIENCE_LABELS, "after 300 s without a call.", true);
	told("personal", TOOL_AUDIENCE_LABELS, "emptied", false);
	told("public", TOOL_AUDIENCE_SINGLE, "survive", false);
	told("public", TOOL_AUDIENCE_SINGLE, "After 600 s without a call it is emptied", true);
}

static void labels(void **state)
{
	(void)state;
	told("personal", TOOL_AUDIENCE_LABELS, "Pass a sandbox label with every call", true);
	told("public", TOOL_AUDIENCE_SINGLE, "label", false);
}

/* A host may count only some: a Raspberry Pi's firmware turns the memory controller off. */
static void usage(void **state)
{
	static const struct {
		struct engine_usage usage;
		const char *want;
	} rows[] = {
		{ { .memory_bytes = 3 << 20, .pids = 2, .cpu_usec = 1999999 },
		  "Use now: memory 3 MiB, processes 2, CPU time 1 s\n" },
		{ { .memory_bytes = UINT64_MAX, .pids = 1, .cpu_usec = 0 },
		  "Use now: processes 1, CPU time 0 s\n" },
		{ { .memory_bytes = UINT64_MAX, .pids = UINT64_MAX, .cpu_usec = UINT64_MAX }, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf text = BUF_INIT(256);

		assert_int_equal(core_tools_usage(&rows[i].usage, &text), 0);
		assert_string_equal(buf_str(&text), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_survives),
		cmocka_unit_test(labels),
		cmocka_unit_test(usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
