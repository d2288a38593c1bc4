/* SPDX-License-Identifier: Apache-2.0 */
/* berth gc: workspaces that nobody has touched for long. */
#include "cli/admin_client.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: berth gc [--delete] [--age SECONDS] [--json] [--state DIR] [--config FILE]\n"
	"Shows which workspaces were untouched for gc.age (a week): neither used, by the server's\n"
	"record, nor changed, by the newest time in the tree. Nothing is deleted without "
	"--delete.\n"
	"What is in use or cannot be looked at is kept; its age is not shown.\n";

static void show(const json_t *answer, bool may_delete)
{
	size_t i, n_old = 0;
	const json_t *item;

	json_array_foreach(json_object_get(answer, "sandboxes"), i, item)
	{
		const char *verdict = json_string_value(json_object_get(item, "verdict"));
		const json_t *age_s = json_object_get(item, "age_s");
		char age[32] = "-";

		if (json_is_integer(age_s))
			(void)snprintf(age, sizeof(age), "%.1f h",
				       (double)json_integer_value(age_s) / 3600);
		(void)printf("%-40s %12s  %s\n", json_string_value(json_object_get(item, "key")),
			     age, verdict);
		n_old += !strcmp(verdict, "would be deleted");
	}
	if (!may_delete)
		(void)printf("nothing was deleted; --delete would delete %zu of %zu\n", n_old, i);
}

int cmd_gc(int argc, char **argv)
{
	bool may_delete = false;
	const char *age = NULL;
	const struct options_extra extra[] = { { .name = "delete", .flag = &may_delete },
					       { .name = "age", .argument = &age },
					       { 0 } };
	auto_json json_t *answer = NULL;
	struct options o;
	json_t *request;
	struct err err;

	if (options_read(&o, argc, argv, extra) < 0 || optind != argc)
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	request = json_pack("{s:s, s:b}", "command", "gc", "delete", may_delete ? 1 : 0);
	if (request && age && json_object_set_new(request, "age", json_string(age)) < 0) {
		json_decref(request);
		request = NULL;
	}
	if (admin_ask(&o, ADMIN_RUNNING, request, &answer, &err) < 0)
		return cli_fail("gc", &err);
	if (o.json) {
		(void)json_dumpf(answer, stdout, JSON_INDENT(2));
		(void)puts("");
	} else {
		show(answer, may_delete);
	}
	return CLI_OK;
}
