/* SPDX-License-Identifier: Apache-2.0 */
/* The registered tools. */
#include "mcp/catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void no_tool(struct mcp_call *call, void *userdata)
{
	(void)call;
	(void)userdata;
}

static const struct mcp_tool run = {
	.name = "run_command",
	.title = "Run",
	.description = "Runs \"it\".",
	.properties = "{\"command\":{\"type\":\"string\"}, \"cwd\":{\"type\":\"string\"}}",
	.required = "[\"command\"]",
	.takes_sandbox = true,
	.open_world = true,
	.fn = no_tool,
};
static const struct mcp_tool info = {
	.name = "sandbox_info",
	.title = "Info",
	.description = "Says it.",
	.properties = "{}",
	.read_only = true,
	.fn = no_tool,
};

static struct catalog *new_catalog(void)
{
	struct err err = { 0 };
	struct catalog *c = NULL;

	assert_int_equal(catalog_new("{\"type\":\"string\",\"description\":\"label\"}", &c, &err),
			 0);
	assert_int_equal(catalog_add(c, &run, &err), 0);
	assert_int_equal(catalog_add(c, &info, &err), 0);
	return c;
}

static void test_text(void **state)
{
	auto_of(catalog) struct catalog *c = new_catalog();
	struct view plain = catalog_text(c, CATALOG_PLAIN),
		    labels = catalog_text(c, CATALOG_LABELS);

	(void)state;
	assert_true(view_starts(
		plain,
		VIEW("{\"name\":\"run_command\",\"title\":\"Run\",\"description\":\"Runs "
		     "\\\"it\\\".\","
		     "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
		     "\"string\"},\"cwd\":{\"type\":\"string\"}},\"required\":[\"command\"],"
		     "\"additionalProperties\":false},\"annotations\":{\"title\":\"Run\","
		     "\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":false,"
		     "\"openWorldHint\":true},\"_meta\":{\"anthropic/maxResultSizeChars\":")));
	assert_non_null(strstr(plain.p, "},{\"name\":\"sandbox_info\""));
	/* No empty "required", and the label only where it may be used and the tool takes it. */
	assert_non_null(strstr(plain.p, "\"properties\":{},\"additionalProperties\":false"));
	assert_null(strstr(plain.p, "\"sandbox\""));
	assert_non_null(strstr(labels.p, "\"sandbox\":{\"type\":\"string\",\"description\":"));
	assert_null(strstr(strstr(labels.p, "sandbox_info"), "\"sandbox\""));
}

static void test_bad_tools(void **state)
{
	static const struct {
		struct mcp_tool tool;
		enum err_code code;
	} rows[] = {
		{ { .name = "", .properties = "{}" }, ERR_INVALID },
		{ { .name = "a.b", .properties = "{}" }, ERR_INVALID },
		{ { .name = "a b", .properties = "{}" }, ERR_INVALID },
		{ { .name = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		    .properties = "{}" },
		  ERR_INVALID },
		{ { .name = "run_command", .properties = "{}" }, ERR_EXISTS },
		{ { .name = "a", .properties = "{" }, ERR_INVALID },
		{ { .name = "a", .properties = "[]" }, ERR_INVALID },
		{ { .name = "a", .properties = "{}", .required = "{}" }, ERR_INVALID },
		{ { .name = "a", .properties = "{}", .required = "[" }, ERR_INVALID },
		{ { .name = "a", .input_schema = "{}" }, ERR_INVALID },
		{ { .name = "a", .input_schema = "nonsense" }, ERR_INVALID },
		{ { .name = "a", .properties = "{}", .title = "t", .description = "\xff" },
		  ERR_INVALID },
	};
	auto_of(catalog) struct catalog *c = new_catalog();
	size_t before = catalog_text(c, CATALOG_LABELS).len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		assert_int_equal(catalog_add(c, &rows[i].tool, &err), -1);
		if (err.code != rows[i].code)
			fail_msg("row %zu: %s", i, err.msg);
	}
	assert_int_equal(catalog_text(c, CATALOG_LABELS).len, before);
	assert_null(catalog_find(c, VIEW("a")));
}

static void test_arguments(void **state)
{
	static const struct {
		const char *tool, *arguments;
		enum catalog_view view;
		const char *message; /* NULL: good */
	} rows[] = {
		{ "run_command", "{\"command\":\"ls\"}", CATALOG_PLAIN, NULL },
		{ "run_command", "{\"command\":\"\",\"cwd\":\"\"}", CATALOG_PLAIN, NULL },
		{ "run_command", "{\"command\":\"ls\",\"sandbox\":\"a\"}", CATALOG_LABELS, NULL },
		{ "run_command", "{\"command\":\"ls\",\"sandbox\":\"a\"}", CATALOG_PLAIN,
		  "no argument \"sandbox\". run_command takes: command, cwd. Nothing was done." },
		{ "run_command", "{\"command\":\"ls\",\"cmd\":1,\"x\":null}", CATALOG_LABELS,
		  "no argument \"cmd\", \"x\". run_command takes: command, cwd, sandbox. "
		  "Nothing was done." },
		{ "run_command", "{}", CATALOG_PLAIN,
		  "the argument \"command\" is missing. run_command takes: command, cwd. "
		  "Nothing was done." },
		{ "run_command", "{\"command\":null}", CATALOG_PLAIN,
		  "the argument \"command\" is missing. run_command takes: command, cwd. "
		  "Nothing was done." },
		{ "sandbox_info", "{}", CATALOG_LABELS, NULL },
		{ "sandbox_info", "{\"sandbox\":\"a\"}", CATALOG_LABELS,
		  "no argument \"sandbox\". sandbox_info takes: no arguments. Nothing was done." },
		{ "sandbox_info", "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1}",
		  CATALOG_PLAIN,
		  "no argument \"a\", \"b\", \"c\", \"d\", \"e\" and 2 more. sandbox_info takes: "
		  "no arguments. Nothing was done." },
	};
	auto_of(catalog) struct catalog *c = new_catalog();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		const struct catalog_tool *tool = catalog_find(c, view_str(rows[i].tool));
		auto_json json_t *arguments = json_parse(view_str(rows[i].arguments), &err);
		int r = catalog_check_arguments(tool, rows[i].view, arguments, &err);

		assert_int_equal(r, rows[i].message ? -1 : 0);
		if (rows[i].message)
			assert_string_equal(err.msg, rows[i].message);
	}
}

/* Names of arguments come from outside: many and long ones make no long sentence. */
static void test_arguments_are_bounded(void **state)
{
	auto_of(catalog) struct catalog *c = new_catalog();
	auto_json json_t *arguments = json_object();
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char name[300];

		(void)snprintf(name, sizeof(name), "%0250d", i);
		assert_int_equal(json_object_set_new(arguments, name, json_null()), 0);
	}
	assert_int_equal(catalog_check_arguments(catalog_find(c, VIEW("run_command")),
						 CATALOG_PLAIN, arguments, &err),
			 -1);
	assert_non_null(strstr(err.msg, "run_command takes: command, cwd."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bad_tools),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_arguments_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
