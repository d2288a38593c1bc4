/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets by key (an address prefix, a token's hash). Each key may take `burst` at once and
 * then one more every `period`. The table is bounded: when it is full, the key that was quiet for
 * the longest makes room, so that a flood of new keys cannot lock out everybody else.
 */
#ifndef BERTH_HTTP_RATELIMIT_H
#define BERTH_HTTP_RATELIMIT_H

#include "base/buf.h"
#include "sys/clock.h"

struct ratelimit;

/* `burst`, `period` and `max_keys` are at least 1. NULL when out of memory. */
struct ratelimit *ratelimit_new(uint32_t burst, usec period, size_t max_keys) MUST_CHECK;
void ratelimit_free(struct ratelimit *limit);
DEFINE_CLEANUP(ratelimit)

/*
 * Takes one token: true if there was one. Otherwise *ret_wait (may be NULL) is how long until
 * there is. `now` is monotonic. Out of memory refuses.
 */
bool ratelimit_take(struct ratelimit *limit, struct view key, usec now, usec *ret_wait);
/* How many keys are remembered. */
size_t ratelimit_count(const struct ratelimit *limit);

#endif
