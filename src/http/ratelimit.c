/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets by key. A bucket is one number: the time at which it will be full again. */
#include "http/ratelimit.h"

#include "base/list.h"
#include "base/map.h"

#include <assert.h>

struct ratelimit {
	struct map *buckets;
	struct list by_use; /* the one quiet for the longest first */
	uint32_t burst;
	usec period;
	size_t max_keys;
};

struct bucket {
	struct list by_use;
	usec full_at;
	char *key; /* owned */
	size_t key_len;
};

struct ratelimit *ratelimit_new(uint32_t burst, usec period, size_t max_keys)
{
	struct ratelimit *l = calloc(1, sizeof(*l));

	assert(burst && period && max_keys && period <= UINT64_MAX / burst);
	if (!l)
		return NULL;
	*l = (struct ratelimit){ .burst = burst, .period = period, .max_keys = max_keys };
	list_init(&l->by_use);
	l->buckets = map_new();
	if (!l->buckets) {
		free(l);
		return NULL;
	}
	return l;
}

static void bucket_free(struct ratelimit *l, struct bucket *b)
{
	(void)map_remove(l->buckets, view_of(b->key, b->key_len));
	list_remove(&b->by_use);
	free(b->key);
	free(b);
}

void ratelimit_free(struct ratelimit *limit)
{
	struct list *it, *tmp;

	if (!limit)
		return;
	list_each(it, tmp, &limit->by_use)
		bucket_free(limit, container_of(it, struct bucket, by_use));
	map_free(limit->buckets);
	free(limit);
}

static struct bucket *bucket_new(struct ratelimit *l, struct view key)
{
	struct bucket *b = calloc(1, sizeof(*b));
	void *old;

	if (!b)
		return NULL;
	list_init(&b->by_use);
	b->key = view_dup(key);
	b->key_len = key.len;
	if (!b->key || map_put(l->buckets, key, b, &old) < 0) {
		free(b->key);
		free(b);
		return NULL;
	}
	return b;
}

static struct bucket *bucket_get(struct ratelimit *l, struct view key)
{
	struct bucket *b = map_get(l->buckets, key);

	if (b)
		return b;
	if (map_count(l->buckets) >= l->max_keys)
		bucket_free(l, container_of(l->by_use.next, struct bucket, by_use));
	return bucket_new(l, key);
}

bool ratelimit_take(struct ratelimit *limit, struct view key, usec now, usec *ret_wait)
{
	struct bucket *b = bucket_get(limit, key);
	usec capacity = limit->period * limit->burst;
	usec missing;

	if (!b) {
		if (ret_wait)
			*ret_wait = limit->period;
		return false;
	}
	list_remove(&b->by_use);
	list_add_tail(&limit->by_use, &b->by_use);

	missing = b->full_at > now ? b->full_at - now : 0;
	if (missing + limit->period > capacity) {
		if (ret_wait)
			*ret_wait = missing + limit->period - capacity;
		return false;
	}
	b->full_at = now + missing + limit->period;
	return true;
}

size_t ratelimit_count(const struct ratelimit *limit)
{
	return map_count(limit->buckets);
}
