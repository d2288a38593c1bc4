/* SPDX-License-Identifier: Apache-2.0 */
/* berth clients, revoke: registered clients and sign-ins. */
#include "cli/admin_client.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char clients_help[] = "usage: berth clients [--json] [--state DIR] [--config FILE]\n"
				   "Lists the clients that registered for sign-in: the last used, "
				   "if they are many.\n";

static const char revoke_help[] =
	"usage: berth revoke principal ID | berth revoke client ID | berth revoke all\n"
	"Ends sign-ins, and what runs in their sandboxes, at once. Where idle sandboxes are "
	"emptied\n"
	"(pool.empty_when_idle), theirs are emptied too.\n";

/* JSON's escapes, for names are the clients' own words and a terminal might obey them. */
static void show_escaped(const json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	(void)fputs(text ? text : "(out of memory)", stdout);
}

static void show_client(const json_t *client)
{
	time_t used = json_integer_value(json_object_get(client, "last_used"));
	char when[32] = "never";
	struct tm tm;

	if (used && gmtime_r(&used, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	(void)printf("%-14s %8lld  %-18s", json_string_value(json_object_get(client, "id")),
		     (long long)json_integer_value(json_object_get(client, "sign_ins")), when);
	show_escaped(json_object_get(client, "name"));
	(void)fputs("  ", stdout);
	show_escaped(json_object_get(client, "redirect_uris"));
	(void)puts("");
}

static void show_table(const json_t *clients)
{
	json_t *item;
	size_t i;

	(void)printf("%-14s %8s  %-18s%s\n", "id", "sign-ins", "last used (UTC)",
		     "name, redirects");
	json_array_foreach(clients, i, item) show_client(item);
}

int cmd_clients(int argc, char **argv)
{
	auto_json json_t *answer = NULL;
	json_int_t left_out;
	struct options o;
	struct err err;

	if (options_read(&o, argc, argv, NULL) < 0 || optind != argc)
		return cli_help(clients_help, CLI_USAGE);
	if (o.help)
		return cli_help(clients_help, CLI_OK);
	if (admin_ask(&o, ADMIN_EITHER, json_pack("{s:s}", "command", "clients"), &answer, &err) <
	    0)
		return cli_fail("clients", &err);
	if (o.json) {
		(void)json_dumpf(json_object_get(answer, "clients"), stdout, JSON_INDENT(2));
		(void)puts("");
	} else {
		show_table(json_object_get(answer, "clients"));
	}
	left_out = json_integer_value(json_object_get(answer, "left_out"));
	if (left_out > 0)
		(void)fprintf(o.json ? stderr : stdout,
			      "and %lld more that were not used so lately\n", (long long)left_out);
	return CLI_OK;
}

int cmd_revoke(int argc, char **argv)
{
	struct options o;
	json_t *request;

	if (options_read(&o, argc, argv, NULL) < 0)
		return cli_help(revoke_help, CLI_USAGE);
	if (o.help)
		return cli_help(revoke_help, CLI_OK);
	if (optind + 1 == argc && !strcmp(argv[optind], "all"))
		request = json_pack("{s:s, s:s}", "command", "revoke", "what", "all");
	else if (optind + 2 == argc)
		request = json_pack("{s:s, s:s, s:s}", "command", "revoke", "what", argv[optind],
				    "key", argv[optind + 1]);
	else
		return cli_help(revoke_help, CLI_USAGE);
	return admin_simple("revoke", &o, ADMIN_EITHER, request, "done");
}
