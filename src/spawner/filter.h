/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a tenant may make: an allow-list, everything else ENOSYS so that programs
 * fall back, and EPERM for what is known and privileged. Built once, for the machine it runs on;
 * loading it is one system call.
 */
#ifndef BERTH_SPAWNER_FILTER_H
#define BERTH_SPAWNER_FILTER_H

#include "base/err.h"
#include "wire/init.h"

#include <linux/filter.h>
#include <stdint.h>

struct filter {
	uint32_t arch; /* SCMP_ARCH_…, which are the kernel's AUDIT_ARCH_… */
	struct sock_filter code[INIT_MAX_FILTER];
	unsigned short len;
};

int filter_build(struct filter *ret, struct err *err) MUST_CHECK;
/* For another machine: its tests. */
int filter_build_for(uint32_t arch, struct filter *ret, struct err *err) MUST_CHECK;
/* Loads it for this process and all its children; -errno. Only a system call. */
int filter_load(const struct filter *filter) MUST_CHECK;

#endif
