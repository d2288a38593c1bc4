/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event sources that sleep until they are woken, run once, and sleep again. Inline: the programs
 * without an event loop do not link its library.
 */
#ifndef BERTH_SYS_LOOP_H
#define BERTH_SYS_LOOP_H

#include "base/usec.h"

#include <systemd/sd-event.h>
#include <time.h>

/* Runs `fn` from the loop once it was woken. 0 or more, or -errno; so for all of these. */
static inline int loop_add_deferred(sd_event *event, sd_event_source **ret, sd_event_handler_t fn,
				    void *userdata)
{
	int r = sd_event_add_defer(event, ret, fn, userdata);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

/* The same for a time of CLOCK_BOOTTIME, which is set before it is woken. */
static inline int loop_add_timer(sd_event *event, sd_event_source **ret, sd_event_time_handler_t fn,
				 void *userdata)
{
	int r = sd_event_add_time(event, ret, CLOCK_BOOTTIME, 0, 0, fn, userdata);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

/* Lets it run once. */
static inline void loop_wake(sd_event_source *source)
{
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static inline void loop_wake_at(sd_event_source *timer, usec since_boot)
{
	(void)sd_event_source_set_time(timer, since_boot);
	loop_wake(timer);
}

static inline void loop_wake_after(sd_event_source *timer, usec after)
{
	(void)sd_event_source_set_time_relative(timer, after);
	loop_wake(timer);
}

#endif
