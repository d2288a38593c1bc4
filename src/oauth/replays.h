/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to refresh requests, kept for OAUTH_REPLAY_TTL_S: clients send the same refresh token
 * several times at once, and each must get the same pair. The only place where tokens stay in
 * memory as text; they are wiped when their time is over. Each answer passes through the HTTP layer
 * besides, which wipes what it has sent, while the library's own copies are only freed.
 */
#ifndef BERTH_OAUTH_REPLAYS_H
#define BERTH_OAUTH_REPLAYS_H

#include "oauth/secret.h"
#include "sys/clock.h"

struct token_pair {
	char access[SECRET_ACCESS_TEXT];
	char refresh[SECRET_REFRESH_TEXT];
};

struct replays;

/* NULL when out of memory. */
struct replays *replays_new(void) MUST_CHECK;
void replays_free(struct replays *r);

/* What was answered to the refresh token with this hash. Lost when out of memory: the state
 * machine then treats it as a lost answer. */
void replays_put(struct replays *r, const uint8_t presented[SECRET_HASH_BYTES],
		 const struct token_pair *answer, usec now);
/* NULL when there is none, or its time is over; *ret_age is how old it is. */
const struct token_pair *replays_get(struct replays *r, const uint8_t presented[SECRET_HASH_BYTES],
				     usec now, usec *ret_age);
/* Forgets what is over. */
void replays_sweep(struct replays *r, usec now);

#endif
