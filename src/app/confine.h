/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What berthd gives up when everything is open and before it serves anybody: system calls, files,
 * the network beyond its listener, starting programs. It cannot be taken back.
 */
#ifndef BERTH_APP_CONFINE_H
#define BERTH_APP_CONFINE_H

#include "base/err.h"

#include <stdbool.h>

struct conf;

/* What is in force. */
struct confinement {
	bool filter;  /* of system calls */
	int landlock; /* version, 0: none */
};

/*
 * Restricts files and network (Landlock), then system calls (seccomp). What the kernel cannot do is
 * an error, ERR_DENIED, unless server.allow_unconfined says to go on without, with a warning. A
 * build with sanitizers needs forbidden calls, and gets no filter.
 */
int confine(const struct conf *conf, struct confinement *ret, struct err *err) MUST_CHECK;

/* Only the filter; for confine() and tests. -errno. */
int confine_filter(void) MUST_CHECK;

#endif
