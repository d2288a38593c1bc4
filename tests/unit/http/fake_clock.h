/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that the test sets. */
#ifndef BERTH_TESTS_HTTP_FAKE_CLOCK_H
#define BERTH_TESTS_HTTP_FAKE_CLOCK_H

#include "sys/clock.h"

static usec now;

static usec fake_now(void *userdata)
{
	(void)userdata;
	return now;
}

static const struct clock fake = { .monotonic = fake_now, .wall = fake_now };

#endif
