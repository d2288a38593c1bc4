/* SPDX-License-Identifier: Apache-2.0 */
/* berth setup in its parts. Each says on stdout what it changes on the host, and nothing else. */
#ifndef BERTH_CLI_SETUP_H
#define BERTH_CLI_SETUP_H

#include "cli/options.h"

enum { SETUP_MAX_TEXT = 256 * 1024 }; /* of a configuration file */

/* One line: "  made the user berth". */
void setup_say(const char *fmt, ...) PRINTF(1, 2);

/* ---- setup_user.c ---- */

/* The server's user, and the ids of its sandboxes in /etc/subuid and /etc/subgid. */
int setup_user(const struct conf *conf, struct err *err) MUST_CHECK;

/* ---- setup_config.c ---- */

/*
 * Takes the settings that an env file (NAME=value lines, as for mcp-linux-sandbox) makes, as
 * overrides; their strings are kept in `kept`. Those that are given already stay. *ret_sign_key is
 * its MCP_SIGN_KEY, untouched if it has none. Says what is not taken.
 */
int setup_read_env_file(const char *path, struct options *o, struct options_argv *kept,
			const char **ret_sign_key, struct err *err) MUST_CHECK;
/* Makes it the key that signs links (server/link.key), in place of one that is there. */
int setup_link_key(const struct conf *conf, const char *sign_key, struct err *err) MUST_CHECK;
/* Writes the example to `path` if there is no file, then sets what the overrides say in it. */
int setup_write_config(const char *path, const struct conf_override *overrides,
		       struct err *err) MUST_CHECK;

/* ---- setup_shrink.c ---- */

/*
 * Whether `conf` has fewer slots than are prepared. ERR_BUSY when one of those that would go is
 * occupied, or may be before they are gone.
 */
int setup_check_shrink(const struct options *o, const struct conf *conf, bool *ret_shrinks,
		       struct err *err) MUST_CHECK;

/* ---- setup_mirrors.c ---- */

/*
 * Looks where this host's own package mirrors are. Those in ranges that sandboxes may not reach
 * are appended to network.allow_ranges' value in `ranges` as ADDRESS:PORT. *ret_found: how many
 * were not covered yet.
 */
int setup_find_mirrors(const struct conf *conf, struct buf *ranges, size_t *ret_found,
		       struct err *err) MUST_CHECK;

#endif
