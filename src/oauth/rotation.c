/* SPDX-License-Identifier: Apache-2.0 */
/* Refresh token rotation. */
#include "oauth/rotation.h"

#include "oauth/limits.h"
#include "oauth/secret.h"

static bool is(const uint8_t a[STORE_HASH_BYTES], const uint8_t b[STORE_HASH_BYTES])
{
	return secret_equal(a, b, STORE_HASH_BYTES);
}

static bool is_retired(const struct store_family *family, const uint8_t hash[STORE_HASH_BYTES])
{
	for (uint32_t i = 0; i < family->n_retired; i++)
		if (is(family->retired[i], hash))
			return true;
	return false;
}

/* The successor was never seen: its answer was lost on the way. */
static enum rotation judge_lost(const struct store_family *family)
{
	return family->lost_answers < OAUTH_MAX_LOST_ANSWERS ? ROTATION_REPLACE : ROTATION_DENY;
}

enum rotation rotation_without_answer(const struct store_family *family)
{
	return family->successor_used ? ROTATION_LATER : judge_lost(family);
}

enum rotation rotation_judge(const struct store_family *family,
			     const uint8_t presented[STORE_HASH_BYTES], uint64_t now)
{
	if (family->expires <= now)
		return ROTATION_DENY;
	if (is(family->current, presented))
		return ROTATION_ROTATE;
	if (family->has_previous && is(family->previous, presented)) {
		/* A clock that was set back counts as no time at all. */
		if (now < family->rotated || now - family->rotated <= OAUTH_REPLAY_TTL_S)
			return ROTATION_REPLAY;
		return family->successor_used ? ROTATION_REUSE : judge_lost(family);
	}
	return is_retired(family, presented) ? ROTATION_REUSE : ROTATION_DENY;
}

/* The oldest falls out of the ring. */
static void retire(struct store_family *family, const uint8_t hash[STORE_HASH_BYTES])
{
	if (family->n_retired < STORE_RETIRED_MAX)
		family->n_retired++;
	memmove(family->retired[1], family->retired[0],
		(size_t)(family->n_retired - 1) * STORE_HASH_BYTES);
	memcpy(family->retired[0], hash, STORE_HASH_BYTES);
}

static void renew(struct store_family *family, const uint8_t next[STORE_HASH_BYTES], uint64_t now)
{
	memcpy(family->current, next, STORE_HASH_BYTES);
	family->generation++;
	family->successor_used = false;
	family->rotated = now;
	family->expires = now + OAUTH_REFRESH_TTL_S;
}

void rotation_rotate(struct store_family *family, const uint8_t next[STORE_HASH_BYTES],
		     uint64_t now)
{
	if (family->has_previous)
		retire(family, family->previous);
	memcpy(family->previous, family->current, STORE_HASH_BYTES);
	family->has_previous = true;
	family->lost_answers = 0;
	renew(family, next, now);
}

void rotation_replace(struct store_family *family, const uint8_t next[STORE_HASH_BYTES],
		      uint64_t now)
{
	retire(family, family->current);
	family->lost_answers++;
	renew(family, next, now);
}
