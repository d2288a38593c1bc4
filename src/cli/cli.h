/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line `berth`: one file a subcommand, one table of them in cli.c.
 *
 * A subcommand gets its own argv (argv[0] is its name), parses it with getopt_long(3) and returns
 * the exit status: 0 done, 1 failed, 2 wrong usage. Results go to stdout, everything else to
 * stderr.
 */
#ifndef BERTH_CLI_CLI_H
#define BERTH_CLI_CLI_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

#define CLI_DEFAULT_CONFIG "/etc/berth/berth.conf"
/* What `berth setup --state` writes for the default state directory. */
#define CLI_DEFAULT_STATE_CONFIG "/var/lib/berth/berth.conf"

typedef int cli_command_fn(int argc, char **argv);

/* Runs the subcommand that argv[1] names. */
int cli_main(int argc, char **argv);

/* Prints "berth NAME: message" to stderr and returns CLI_FAILED. */
int cli_fail(const char *name, const struct err *err);
/* Prints the subcommand's help: to stdout when asked for (CLI_OK), else to stderr (CLI_USAGE). */
int cli_help(const char *text, int status);

/* CLI_DEFAULT_STATE_CONFIG if that exists and CLI_DEFAULT_CONFIG does not, else the latter. */
const char *cli_default_config(void);

/* The path of another program of berth. ERR_NOT_FOUND says where it was looked for. */
int cli_program(const char *name, char *out, size_t size, struct err *err) MUST_CHECK;

/*
 * In a child: what is written into the state must belong to the server's user. Ends it where that
 * cannot be; without root, or without such a user, nothing changes.
 */
void cli_become_user(const char *name);

/* ---- progress on the terminal ---- */

/* A line that is drawn again and again on a terminal, and once a stage anywhere else. */
struct cli_progress {
	bool terminal;
	const char *what; /* the stage shown last; borrowed */
	uint32_t shown;   /* permille of it */
};
void cli_progress_init(struct cli_progress *p);
/* `userdata` is the struct cli_progress. */
void cli_progress_show(void *userdata, const char *what, uint32_t done, uint32_t total);
/* Ends the line. */
void cli_progress_end(struct cli_progress *p);

/* ---- subcommands ---- */

cli_command_fn cmd_clients;
cli_command_fn cmd_doctor;
cli_command_fn cmd_drain;
cli_command_fn cmd_empty;
cli_command_fn cmd_gc;
cli_command_fn cmd_image;
cli_command_fn cmd_recycle;
cli_command_fn cmd_resume;
cli_command_fn cmd_revoke;
cli_command_fn cmd_selftest;
cli_command_fn cmd_serve;
cli_command_fn cmd_setup;
cli_command_fn cmd_status;
cli_command_fn cmd_token;

#endif
