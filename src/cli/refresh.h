/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the network of sandboxes right where no timer of systemd does it: a process that
 * remains root, serves nobody and only runs `berth-slots --refresh` from time to time.
 */
#ifndef BERTH_CLI_REFRESH_H
#define BERTH_CLI_REFRESH_H

#include "cli/options.h"

/*
 * Forks it, before the caller gives root up; it ends with the caller. Does nothing where sandboxes
 * have no network, and without root, where a warning says what follows from that.
 */
int refresh_start(const struct options *o, const struct conf *conf, struct err *err) MUST_CHECK;

#endif
