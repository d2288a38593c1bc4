/* SPDX-License-Identifier: Apache-2.0 */
/* Refresh answers in memory. */
#include "oauth/replays.h"

#include "base/list.h"
#include "base/map.h"
#include "oauth/limits.h"

struct replays {
	struct map *by_hash;
	struct list by_age; /* oldest first */
};

struct replay {
	uint8_t presented[SECRET_HASH_BYTES];
	struct token_pair answer;
	usec made;
	struct list by_age;
};

struct replays *replays_new(void)
{
	struct replays *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	list_init(&r->by_age);
	r->by_hash = map_new();
	if (!r->by_hash) {
		free(r);
		return NULL;
	}
	return r;
}

static void forget(struct replays *r, struct replay *replay)
{
	(void)map_remove(r->by_hash, view_of(replay->presented, sizeof(replay->presented)));
	list_remove(&replay->by_age);
	secret_wipe(replay, sizeof(*replay));
	free(replay);
}

void replays_free(struct replays *r)
{
	struct list *it, *tmp;

	if (!r)
		return;
	list_each(it, tmp, &r->by_age) forget(r, container_of(it, struct replay, by_age));
	map_free(r->by_hash);
	free(r);
}

static bool is_over(const struct replay *replay, usec now)
{
	return now - replay->made > OAUTH_REPLAY_TTL_S * USEC_PER_SEC;
}

void replays_put(struct replays *r, const uint8_t presented[SECRET_HASH_BYTES],
		 const struct token_pair *answer, usec now)
{
	struct view key = view_of(presented, SECRET_HASH_BYTES);
	struct replay *replay = map_get(r->by_hash, key);
	void *old = NULL;

	if (replay)
		forget(r, replay);
	if (map_count(r->by_hash) >= OAUTH_MAX_REPLAYS)
		forget(r, container_of(r->by_age.next, struct replay, by_age));
	replay = calloc(1, sizeof(*replay));
	if (!replay)
		return;
	list_init(&replay->by_age);
	memcpy(replay->presented, presented, sizeof(replay->presented));
	replay->answer = *answer;
	replay->made = now;
	if (map_put(r->by_hash, key, replay, &old) < 0) {
		secret_wipe(replay, sizeof(*replay));
		free(replay);
		return;
	}
	list_add_tail(&r->by_age, &replay->by_age);
}

const struct token_pair *replays_get(struct replays *r, const uint8_t presented[SECRET_HASH_BYTES],
				     usec now, usec *ret_age)
{
	struct replay *replay = map_get(r->by_hash, view_of(presented, SECRET_HASH_BYTES));

	if (!replay)
		return NULL;
	if (is_over(replay, now)) {
		forget(r, replay);
		return NULL;
	}
	*ret_age = now - replay->made;
	return &replay->answer;
}

void replays_sweep(struct replays *r, usec now)
{
	struct list *it, *tmp;

	list_each(it, tmp, &r->by_age)
	{
		struct replay *replay = container_of(it, struct replay, by_age);

		if (!is_over(replay, now))
			break;
		forget(r, replay);
	}
}
