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
	const char *uid_base;
};

/*
 * Appends the template with each @name@ replaced. ERR_INVALID for an unknown name, or a value that
 * a unit file cannot hold as it is (blanks, quotes, control characters); "%" is doubled.
 */
int units_fill(struct view template, const struct units_values *values, struct buf *out,
	       struct err *err) MUST_CHECK;

/*
 * Appends the state directory of the server that a berth-slots.service is for; nothing if it names
 * none. -ENOSPC.
 */
int units_state(struct view unit, struct buf *out) MUST_CHECK;

/*
 * Whether units_install() may go on. ERR_NOT_FOUND without systemd; ERR_BUSY when the units of this
 * host are those of a server on another state; ERR_INVALID for a folder that they cannot see.
 */
int units_check(const struct conf *conf, const char *config, struct err *err) MUST_CHECK;
/*
 * Writes the units that differ, enables them and starts what is not running; a daemon whose unit
 * changed is restarted. `config` is the file they read. Needs root, and units_check() before.
 */
int units_install(const struct conf *conf, const char *config, struct err *err) MUST_CHECK;
/*
 * Stops and removes them; nothing there, or no systemd, is fine. Those of a server on another state
 * stay, and that is appended to `other`.
 */
int units_remove(const struct conf *conf, struct buf *other, struct err *err) MUST_CHECK;

#endif
