/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, behind a struct so that tests replace it. Policies never read a clock themselves: they get
 * `now` from their caller or a struct clock from their owner.
 */
#ifndef BERTH_SYS_CLOCK_H
#define BERTH_SYS_CLOCK_H

#include "base/usec.h"

/* Since boot for the monotonic clock, since 1970 for the wall clock. */
struct clock {
	usec (*monotonic)(void *userdata);
	usec (*wall)(void *userdata);
	void *userdata;
};

/* CLOCK_BOOTTIME (idle time counts while the machine sleeps) and CLOCK_REALTIME. */
extern const struct clock clock_system;

static inline usec clock_monotonic(const struct clock *c)
{
	return c->monotonic(c->userdata);
}

static inline usec clock_wall(const struct clock *c)
{
	return c->wall(c->userdata);
}

/* Whole seconds since 1970. */
static inline uint64_t clock_wall_seconds(const struct clock *c)
{
	return clock_wall(c) / USEC_PER_SEC;
}

/* What the calling thread has used of the CPU. */
usec clock_thread_cpu(void);

#endif
