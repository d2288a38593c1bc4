/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: a process gives up reaching files, TCP ports, signals and abstract sockets, for itself
 * and its children, for good. No privileges are needed but no_new_privs.
 */
#ifndef BERTH_SYS_LANDLOCK_H
#define BERTH_SYS_LANDLOCK_H

#include "base/attr.h"

#include <stdint.h>

/* What is left below one folder, or of one file. */
enum landlock_access {
	LANDLOCK_READ = 1 << 0,  /* files and listings */
	LANDLOCK_WRITE = 1 << 1, /* existing and new regular files, removing them, sockets */
};

struct landlock_rule {
	const char *path;
	unsigned access; /* enum landlock_access */
};

/* Version of the kernel's interface; 0: it has none, or it is switched off. */
int landlock_version(void);

enum landlock_network { LANDLOCK_NO_TCP, LANDLOCK_ANY_TCP };

/*
 * Leaves the process the files of `rules` (up to { NULL, 0 }; a path that is not there is skipped),
 * and no program to execute; where the kernel's version has it, also no signal to and no abstract
 * socket of anybody outside (6), and with LANDLOCK_NO_TCP no new connection or port (4).
 * Descriptors that are open already keep working. -ENOSYS or -EOPNOTSUPP without Landlock.
 */
int landlock_restrict(const struct landlock_rule *rules, enum landlock_network network) MUST_CHECK;

#endif
