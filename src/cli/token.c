/* SPDX-License-Identifier: Apache-2.0 */
/* berth token: static bearer tokens. */
#include "cli/admin_client.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: berth token create [--name NAME] [--owner OWNER] [--state DIR] [--config FILE]\n"
	"       berth token list | berth token remove NAME\n"
	"Makes a token and prints it, the only time that it can be seen; lists tokens without "
	"their\n"
	"secrets; removes one at once. Sandboxes belong to the owner: another token with the same\n"
	"--owner (default: owner) reaches the same sandboxes.\n";

static void warn_if_refused(const struct options *o)
{
	auto_conf struct conf conf = { 0 };
	struct err ignored;

	if (options_conf(o, &conf, &ignored) == 0 && !(conf.auth & CONF_AUTH_TOKEN))
		(void)fprintf(stderr,
			      "berth token: this server refuses tokens until auth.methods has "
			      "token (auth.methods = oauth,token) and it is started again\n");
}

static int create(const struct options *o, const char *name, const char *owner)
{
	auto_json json_t *answer = NULL;
	json_t *request = json_pack("{s:s, s:s, s:s}", "command", "token-create", "name", name,
				    "owner", owner);
	struct err err;

	if (admin_ask(o, ADMIN_EITHER, request, &answer, &err) < 0)
		return cli_fail("token", &err);
	(void)puts(json_string_value(json_object_get(answer, "token")));
	warn_if_refused(o);
	return CLI_OK;
}

static int list(const struct options *o)
{
	auto_json json_t *answer = NULL;
	json_t *request = json_pack("{s:s}", "command", "token-list");
	json_t *item;
	size_t i;
	struct err err;

	if (admin_ask(o, ADMIN_EITHER, request, &answer, &err) < 0)
		return cli_fail("token", &err);
	if (o->json) {
		(void)json_dumpf(json_object_get(answer, "tokens"), stdout, JSON_INDENT(2));
		(void)puts("");
		return CLI_OK;
	}
	json_array_foreach(json_object_get(answer, "tokens"), i, item)(void)
		printf("%-32s owner %s\n", json_string_value(json_object_get(item, "name")),
		       json_string_value(json_object_get(item, "owner")));
	return CLI_OK;
}

int cmd_token(int argc, char **argv)
{
	const char *name = "default", *owner = "owner", *action;
	const struct options_extra extra[] = { { .name = "name", .argument = &name },
					       { .name = "owner", .argument = &owner },
					       { 0 } };
	struct options o;

	if (options_read(&o, argc, argv, extra) < 0)
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	action = optind < argc ? argv[optind] : "";
	if (!strcmp(action, "create") && optind + 1 == argc)
		return create(&o, name, owner);
	if (!strcmp(action, "list") && optind + 1 == argc)
		return list(&o);
	if (!strcmp(action, "remove") && optind + 2 == argc)
		return admin_simple("token", &o, ADMIN_EITHER,
				    json_pack("{s:s, s:s}", "command", "token-remove", "name",
					      argv[optind + 1]),
				    "done");
	return cli_help(help, CLI_USAGE);
}
