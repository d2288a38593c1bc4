/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the running server, over its administration socket; without one, the state itself. */
#ifndef BERTH_CLI_ADMIN_CLIENT_H
#define BERTH_CLI_ADMIN_CLIENT_H

#include "cli/options.h"
#include "json/json.h"

enum admin_need {
	ADMIN_RUNNING, /* only a running server can answer */
	ADMIN_EITHER,  /* without one, berthd works on the state (as its owner) and ends */
};

/*
 * Sends `request` (taken) and gives the answer, an object to json_decref(). An answer that says no
 * is an error with its sentence.
 */
int admin_ask(const struct options *o, enum admin_need need, json_t *request, json_t **ret,
	      struct err *err) MUST_CHECK;

/* Whether a server runs on the state of `conf`. */
int admin_is_running(const struct conf *conf, bool *ret, struct err *err) MUST_CHECK;

/* The whole of a subcommand that asks one thing and prints `said` (or the answer with --json). */
int admin_simple(const char *name, const struct options *o, enum admin_need need, json_t *request,
		 const char *said);

#endif
