/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of version 2 for `berth serve`. An unprivileged server can divide a group among
 * sandboxes, but only one that was given to it, and that its processes were started in.
 */
#ifndef BERTH_CLI_DELEGATION_H
#define BERTH_CLI_DELEGATION_H

#include "cli/options.h"

/*
 * Moves this process, while it is root, into a group that then belongs to the server's user: the
 * one that setup made where there is no systemd, else a scope of systemd with Delegate=yes, for
 * which the program is executed anew with the options. Does nothing without root, and where version
 * 1 limits (setup made those groups). If none is to be had it says so on stderr and returns: what
 * then is not limited, the server says and decides.
 */
void delegation_enter(const struct options *o, const struct conf *conf);

#endif
