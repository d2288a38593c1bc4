/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which containers run: whether one more may start, whom it replaces, whose time is up, how many to
 * keep waiting. Pure decisions over a table that the owner keeps; nothing is remembered here.
 *
 * A container is busy (a call or a job under way: never touched), idle, warm (waiting in a free
 * slot: nobody loses anything), or ending (still there, counts, but on its way out).
 */
#ifndef BERTH_POOL_RUNNING_H
#define BERTH_POOL_RUNNING_H

#include "base/err.h"
#include "base/usec.h"

#include <stdbool.h>
#include <stdint.h>

struct running_policy {
	uint32_t max_running; /* 0: no limit */
	uint32_t warm;        /* containers wanted in free slots */
	usec idle;            /* an idle one is recycled after this; USEC_INFINITY: never */
};

enum running_state {
	RUNNING_IDLE,
	RUNNING_BUSY, /* also while it starts */
	RUNNING_WARM,
	RUNNING_ENDING,
	RUNNING_NUM_STATES,
};

struct running_box {
	uint32_t slot;
	enum running_state state;
	usec last_used; /* IDLE */
};

enum running_verdict {
	RUNNING_START,   /* go on */
	RUNNING_RECYCLE, /* end the box at *ret_victim, then go on */
	RUNNING_WAIT,    /* one is ending: ask again when it has ended */
	RUNNING_REFUSED, /* every one is busy; err says so for the caller */
};

/*
 * May one more start? Warm ones give way first, then the idle one that was used least recently.
 * *ret_victim is an index into `boxes`.
 */
enum running_verdict running_admit(const struct running_policy *policy,
				   const struct running_box *boxes, size_t n, size_t *ret_victim,
				   struct err *err);

/* An idle box whose time is up; false when there is none. */
bool running_due(const struct running_policy *policy, const struct running_box *boxes, size_t n,
		 usec now, size_t *ret_victim);
/* When running_due() will next find one; USEC_INFINITY: never as things are. */
usec running_next_deadline(const struct running_policy *policy, const struct running_box *boxes,
			   size_t n);

/*
 * How many more containers to start in free slots (`n_cold`: free slots without one). Never pushes
 * out another container, and leaves idle ones their place.
 */
uint32_t running_warm_wanted(const struct running_policy *policy, const struct running_box *boxes,
			     size_t n, uint32_t n_cold);

#endif
