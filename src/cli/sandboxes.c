/* SPDX-License-Identifier: Apache-2.0 */
/* berth recycle, empty, drain, resume: what an operator does to a running server. */
#include "cli/admin_client.h"
#include "cli/cli.h"

#include <unistd.h>

static const char key_help[] =
	"usage: berth recycle KEY | berth empty KEY   [--state DIR] [--config FILE] [--json]\n"
	"recycle ends the container of a sandbox: packages and processes go, files stay.\n"
	"empty deletes its files too and frees its slot.\n";

static const char pool_help[] =
	"usage: berth drain | berth resume   [--state DIR] [--config FILE] [--json]\n"
	"drain stops new grants of slots, for maintenance: who has a sandbox keeps it, who is in "
	"the\n"
	"queue keeps waiting, newcomers are refused.\n"
	"resume goes on.\n";

/* `said`: the server has begun when it answers, and may need a while. */
static int with_key(int argc, char **argv, const char *said)
{
	struct options o;

	if (options_read(&o, argc, argv, NULL) < 0)
		return cli_help(key_help, CLI_USAGE);
	if (o.help)
		return cli_help(key_help, CLI_OK);
	if (optind + 1 != argc)
		return cli_help(key_help, CLI_USAGE);
	return admin_simple(argv[0], &o, ADMIN_RUNNING,
			    json_pack("{s:s, s:s}", "command", argv[0], "key", argv[optind]), said);
}

static int without_key(int argc, char **argv)
{
	struct options o;

	if (options_read(&o, argc, argv, NULL) < 0 || optind != argc)
		return cli_help(pool_help, CLI_USAGE);
	if (o.help)
		return cli_help(pool_help, CLI_OK);
	return admin_simple(argv[0], &o, ADMIN_RUNNING, json_pack("{s:s}", "command", argv[0]),
			    "done");
}

int cmd_recycle(int argc, char **argv)
{
	return with_key(argc, argv, "begun: its container is ended, its files stay");
}

int cmd_empty(int argc, char **argv)
{
	return with_key(argc, argv, "begun: its files are deleted, then its slot is free");
}

int cmd_drain(int argc, char **argv)
{
	return without_key(argc, argv);
}

int cmd_resume(int argc, char **argv)
{
	return without_key(argc, argv);
}
