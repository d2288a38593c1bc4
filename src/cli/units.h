/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service units (packaging/systemd), filled in for this installation and put into
 * /etc/systemd/system.
 */
#ifndef BERTH_CLI_UNITS_H
#define BERTH_CLI_UNITS_H

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"

/* What a template's @name@ stands for. */
struct units_values {
	const char *libexecdir; /* of the daemons */
	const char *bindir;     /* of this program */
	const char *config;
	const char *state_dir, *runtime_dir;
	const char *user;
	const char *spawner_options; /* "" or one word */
	const char *engine;          /* conf_engine() */
};

/*
 * Appends the template with each @name@ replaced. ERR_INVALID for an unknown name, or a value that
 * a unit file cannot hold as it is (blanks, quotes, control characters); "%" is doubled.
 */
int units_fill(struct view template, const struct units_values *values, struct buf *out,
	       struct err *err) MUST_CHECK;

/*
 * Writes the units that differ, enables them and starts what is not running; a daemon whose unit
 * changed is restarted. `config` is the file they read. Needs root and systemd.
 */
int units_install(const struct conf *conf, const char *config, struct err *err) MUST_CHECK;
/* Stops and removes them; nothing there, or no systemd, is fine. */
int units_remove(struct err *err) MUST_CHECK;

#endif
