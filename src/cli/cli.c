/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands, and what they share. */
#include "cli/cli.h"

#include "sys/programs.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	cli_command_fn *run;
	const char *summary;
} commands[] = {
	{ "setup", cmd_setup, "prepare this host: user, storage, slots, network (root)" },
	{ "image", cmd_image, "build or import the file system that sandboxes start from (root)" },
	{ "serve", cmd_serve, "serve, as the unprivileged user" },
	{ "token", cmd_token, "make, list and remove bearer tokens" },
	{ "status", cmd_status, "what the running server is doing" },
	{ "doctor", cmd_doctor, "check this host: what is enforced, what not, and what to do" },
	{ "recycle", cmd_recycle, "end the container of a sandbox, keep its files" },
	{ "empty", cmd_empty, "delete a sandbox's files and free its slot" },
	{ "gc", cmd_gc, "which workspaces nobody has touched for long; deletes on request" },
	{ "selftest", cmd_selftest, "check a running server from outside, through its proxy" },
	{ "drain", cmd_drain, "no new grants of slots, for maintenance" },
	{ "resume", cmd_resume, "grant slots again" },
	{ "clients", cmd_clients, "list the clients that registered for sign-in" },
	{ "revoke", cmd_revoke, "end sign-ins at once" },
};

static int print_overview(FILE *out)
{
	(void)fputs("usage: berth COMMAND [OPTION...]\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	(void)fputs("\n`berth COMMAND --help` tells more. berth " BERTH_VERSION "\n", out);
	return out == stdout ? CLI_OK : CLI_USAGE;
}

int cli_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return print_overview(stdout);
	if (!strcmp(name, "--version")) {
		(void)puts("berth " BERTH_VERSION);
		return CLI_OK;
	}
	if (name[0])
		(void)fprintf(stderr, "berth: there is no command %s\n", name);
	return print_overview(stderr);
}

int cli_fail(const char *name, const struct err *err)
{
	(void)fprintf(stderr, "berth %s: %s\n", name, err->msg);
	return CLI_FAILED;
}

int cli_help(const char *text, int status)
{
	(void)fputs(text, status == CLI_OK ? stdout : stderr);
	return status;
}

const char *cli_default_config(void)
{
	return access(CLI_DEFAULT_CONFIG, F_OK) < 0 && access(CLI_DEFAULT_STATE_CONFIG, F_OK) == 0
		       ? CLI_DEFAULT_STATE_CONFIG
		       : CLI_DEFAULT_CONFIG;
}

int cli_program(const char *name, char *out, size_t size, struct err *err)
{
	if (program_path(name, out, size) == 0)
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "the program %s is neither beside berth nor in " BERTH_LIBEXECDIR, name);
}

void cli_become_user(const char *name)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(name) : NULL;

	if (user && (initgroups(name, user->pw_gid) < 0 ||
		     setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
		     setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0))
		_exit(CLI_FAILED);
}
