/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of refresh tokens. Pure.
 *
 * Clients send one refresh token several times at once, lose answers, and race themselves from
 * several processes; thieves send old ones. In a family each token is the current one, its
 * predecessor, or one of a bounded ring of retired ones:
 *
 *   current                                  → ROTATE: a new pair
 *   previous, young                          → REPLAY: the answer that was given already; if it
 *                                              is gone from memory (a restart) and its successor
 *                                              is in use, LATER: the client has what it needs
 *   previous, its successor never seen       → REPLACE: that answer was lost; a few times in a row
 *   previous, its successor was used         → REUSE
 *   retired                                  → REUSE
 *   anything else                            → DENY, and nothing changes: who only knows the
 *                                              family's id must not be able to end it
 */
#ifndef BERTH_OAUTH_ROTATION_H
#define BERTH_OAUTH_ROTATION_H

#include "store/families.h"

enum rotation {
	ROTATION_ROTATE,
	ROTATION_REPLAY,
	ROTATION_REPLACE,
	ROTATION_LATER,
	ROTATION_REUSE,
	ROTATION_DENY,
};

/* `presented` is the hash of the token, `now` seconds since 1970. */
enum rotation rotation_judge(const struct store_family *family,
			     const uint8_t presented[STORE_HASH_BYTES], uint64_t now);

/* What becomes of a REPLAY whose answer is not in memory any more. */
enum rotation rotation_without_answer(const struct store_family *family);

/* The current token becomes the previous one, `next` the current one. */
void rotation_rotate(struct store_family *family, const uint8_t next[STORE_HASH_BYTES],
		     uint64_t now);

/* The current token, never seen, is retired and `next` takes its place. */
void rotation_replace(struct store_family *family, const uint8_t next[STORE_HASH_BYTES],
		      uint64_t now);

#endif
