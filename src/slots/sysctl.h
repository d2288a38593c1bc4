/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel settings of the host and of the slots' links. */
#ifndef BERTH_SLOTS_SYSCTL_H
#define BERTH_SLOTS_SYSCTL_H

#include "base/err.h"

#include <stdbool.h>

/* net/<family>/conf/<interface>/<key> */
struct sysctl {
	const char *family, *key, *value; /* family NULL ends a list */
};

/* Sets all of them, in the present network namespace; a kernel without IPv6 lacks those of it. */
int sysctl_interface(const char *interface, const struct sysctl *settings) MUST_CHECK;

/*
 * Makes the host forward packets, and remembers in the directory if that was off before.
 * forwarding_off() sets it back in that case, unless links of another server need it.
 */
int forwarding_on(int dir, bool v6, struct err *err) MUST_CHECK;
int forwarding_off(int dir, struct err *err) MUST_CHECK;

/*
 * Raises the kernel tables that all sandboxes draw from to where each one's own memory limit ends
 * it first. What cannot be raised is logged, and `berth doctor` says it.
 */
void tables_up(void);

#endif
