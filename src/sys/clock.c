/* SPDX-License-Identifier: Apache-2.0 */
/* The system's clocks. */
#include "sys/clock.h"

#include <time.h>

static usec read_clock(clockid_t id)
{
	struct timespec t;

	/* Cannot fail for these ids. */
	(void)clock_gettime(id, &t);
	return (usec)t.tv_sec * USEC_PER_SEC + (usec)t.tv_nsec / 1000;
}

static usec system_monotonic(void *userdata)
{
	(void)userdata;
	return read_clock(CLOCK_BOOTTIME);
}

static usec system_wall(void *userdata)
{
	(void)userdata;
	return read_clock(CLOCK_REALTIME);
}

const struct clock clock_system = { .monotonic = system_monotonic, .wall = system_wall };

usec clock_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
