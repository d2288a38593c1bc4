/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers run. */
#include "pool/running.h"

static size_t count(const struct running_box *boxes, size_t n, enum running_state state)
{
	size_t hits = 0;

	for (size_t i = 0; i < n; i++)
		hits += boxes[i].state == state;
	return hits;
}

/* The idle box that was used least recently; n when none is idle. */
static size_t least_recent(const struct running_box *boxes, size_t n)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (boxes[i].state == RUNNING_IDLE &&
		    (best == n || boxes[i].last_used < boxes[best].last_used))
			best = i;
	return best;
}

/* Whom to end for a new one; n when nobody can be. */
static size_t victim(const struct running_box *boxes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (boxes[i].state == RUNNING_WARM)
			return i;
	return least_recent(boxes, n);
}

enum running_verdict running_admit(const struct running_policy *policy,
				   const struct running_box *boxes, size_t n, size_t *ret_victim,
				   struct err *err)
{
	size_t i;

	if (policy->max_running == 0 || n < policy->max_running)
		return RUNNING_START;
	if (n - count(boxes, n, RUNNING_ENDING) < policy->max_running)
		return RUNNING_WAIT;
	i = victim(boxes, n);
	if (i < n) {
		*ret_victim = i;
		return RUNNING_RECYCLE;
	}
	(void)err_set(err, ERR_BUSY,
		      "%u sandboxes are running, which is the limit here, and every one is busy "
		      "with a call or a job: wait for one to end, or stop a job",
		      policy->max_running);
	return RUNNING_REFUSED;
}

bool running_due(const struct running_policy *policy, const struct running_box *boxes, size_t n,
		 usec now, size_t *ret_victim)
{
	size_t i = least_recent(boxes, n);

	if (i == n || policy->idle == USEC_INFINITY || boxes[i].last_used + policy->idle > now)
		return false;
	*ret_victim = i;
	return true;
}

usec running_next_deadline(const struct running_policy *policy, const struct running_box *boxes,
			   size_t n)
{
	size_t i = least_recent(boxes, n);

	if (i == n || policy->idle == USEC_INFINITY)
		return USEC_INFINITY;
	return boxes[i].last_used + policy->idle;
}

uint32_t running_warm_wanted(const struct running_policy *policy, const struct running_box *boxes,
			     size_t n, uint32_t n_cold)
{
	size_t warm = count(boxes, n, RUNNING_WARM), more;

	if (warm >= policy->warm)
		return 0;
	more = policy->warm - warm;
	if (more > n_cold)
		more = n_cold;
	if (policy->max_running && n >= policy->max_running)
		return 0;
	if (policy->max_running && more > policy->max_running - n)
		more = policy->max_running - n;
	return (uint32_t)more;
}
