/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-spawner: starts and kills containers and keepers for berthd. Unprivileged, one thread, no
 * network; what it can do comes from owning the slots' user namespaces. It serves one connection
 * at a time (wire/spawner.h); when that ends, all it had started is killed, and only when nothing
 * of it is left is the next one served. When the spawner dies, the kernel kills all of it.
 */
#ifndef BERTH_SPAWNER_SPAWNER_H
#define BERTH_SPAWNER_SPAWNER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct spawner_config {
	const char *runtime_dir; /* slots' namespaces and disks, resolv.conf, spawner.sock */
	const char *state_dir;   /* slots' folders */
	const char *cgroup2;     /* a delegated folder of version 2; "": our own group */
	const char *cgroup1;     /* name below each controller; "": berth-TAG (base/instance.h) */
	const char *engine;      /* "native", or "oci:" and the name or path of a runtime */
	uint32_t uid_base;       /* of slot 0, for the newuidmap fallback */
	bool may_gain_privs;     /* sandboxes without no_new_privs are asked for */
	int listen_fd;           /* a listening socket from the service manager, or -1 */
};

/* Serves until SIGTERM or SIGINT, then kills what runs and returns. */
int spawner_run(const struct spawner_config *config, struct err *err) MUST_CHECK;

#endif
