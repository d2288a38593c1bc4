/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container's first process gives up before it becomes berth-init. Only system calls: safe
 * between clone3 and exec.
 */
#ifndef BERTH_SPAWNER_CONFINE_H
#define BERTH_SPAWNER_CONFINE_H

#include "spawner/filter.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

enum { CONFINE_MAX_RLIMITS = 8 };

/* Made by the parent. */
struct confine_plan {
	const struct filter *filter;
	bool no_new_privs;
	struct {
		int resource;
		const char *name; /* "RLIMIT_NOFILE" */
		struct rlimit limit;
	} rlimits[CONFINE_MAX_RLIMITS];
	size_t n_rlimits;
};

/* The capabilities that PID 1 keeps, NULL-terminated: "CAP_CHOWN". */
extern const char *const confine_cap_names[];

/* Fills in the limits, none above what this process has itself. */
void confine_plan_rlimits(struct confine_plan *plan, uint32_t pids);

/* Step by step, in this order; -errno. */
int confine_keyring(void) MUST_CHECK;
int confine_rlimits(const struct confine_plan *plan) MUST_CHECK;
/* Capabilities (the tenant's and SYS_PTRACE, which protects PID 1), no_new_privs, the filter. */
int confine_privileges(const struct confine_plan *plan) MUST_CHECK;

#endif
