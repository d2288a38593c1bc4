/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that every subcommand about an installation takes: which configuration, which state.
 */
#ifndef BERTH_CLI_OPTIONS_H
#define BERTH_CLI_OPTIONS_H

#include "conf/conf.h"

#include <limits.h>

enum { OPTIONS_MAX_OVERRIDES = 64 };

struct options {
	char config[PATH_MAX]; /* absolute; "": built-in defaults only */
	char state[PATH_MAX];  /* of --state, made absolute */
	struct conf_override overrides[OPTIONS_MAX_OVERRIDES + 1];
	size_t n_overrides;
	bool json;
	bool help;
};

/* A subcommand's own option: a flag when `argument` is NULL. */
struct options_extra {
	const char *name;      /* without the dashes; NULL ends the table */
	bool *flag;            /* set when given */
	const char **argument; /* its argument, borrowed from argv */
};

/*
 * Reads --config FILE, --state DIR, --listen ADDRESS:PORT, --profile NAME, --set KEY=VALUE, --json,
 * --help and those of `extra` (may be NULL). What is left over is in argv[optind]…. 0, or -1 for
 * wrong usage (said on stderr). Without --config the file is DIR/berth.conf with --state, else
 * cli_default_config(), if it exists. Strings are borrowed from argv.
 */
int options_read(struct options *o, int argc, char **argv,
		 const struct options_extra *extra) MUST_CHECK;
/* Adds one override; strings are borrowed. -1 when there are too many (said on stderr). */
int options_set(struct options *o, const char *name, const char *value) MUST_CHECK;
/* Where the configuration file of this installation is, or would be. */
void options_config_path(const struct options *o, char ret[PATH_MAX]);
/* The configuration they give, with the environment. */
int options_conf(const struct options *o, struct conf *ret, struct err *err) MUST_CHECK;

/* The same as arguments for another program of berth: --config and --set, after what is there. */
struct options_argv {
	char *argv[2 * OPTIONS_MAX_OVERRIDES + 16]; /* NULL-terminated; owned */
	size_t n;
};
int options_forward(const struct options *o, const char *program,
		    struct options_argv *ret) MUST_CHECK;
/* Adds one more; -ENOMEM, -ENOSPC. */
int options_argv_add(struct options_argv *a, const char *argument) MUST_CHECK;
void options_argv_done(struct options_argv *a);
#define auto_argv CLEANUP(options_argv_done)

#endif
