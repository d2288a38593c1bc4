/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with linear probing; a removed entry leaves a tombstone until the next rehash. */
#include "base/map.h"

#include <assert.h>
#include <sys/random.h>

struct entry {
	char *key; /* owned; NULL: never used */
	size_t key_len;
	uint64_t hash;
	void *value; /* NULL with a key: tombstone */
};

struct map {
	struct entry *entries;
	size_t cap;   /* a power of two */
	size_t used;  /* live entries and tombstones */
	size_t count; /* live entries */
	uint64_t seed[2];
};

#define ROTL(x, b) (uint64_t)(((x) << (b)) | ((x) >> (64 - (b))))
#define SIPROUND                                                                                   \
	do {                                                                                       \
		v0 += v1;                                                                          \
		v1 = ROTL(v1, 13) ^ v0;                                                            \
		v0 = ROTL(v0, 32);                                                                 \
		v2 += v3;                                                                          \
		v3 = ROTL(v3, 16) ^ v2;                                                            \
		v0 += v3;                                                                          \
		v3 = ROTL(v3, 21) ^ v0;                                                            \
		v2 += v1;                                                                          \
		v1 = ROTL(v1, 17) ^ v2;                                                            \
		v2 = ROTL(v2, 32);                                                                 \
	} while (0)

/* SipHash-1-3 (Aumasson, Bernstein 2012). */
static uint64_t siphash(const uint64_t seed[2], struct view key)
{
	uint64_t v0 = seed[0] ^ 0x736f6d6570736575ULL, v1 = seed[1] ^ 0x646f72616e646f6dULL;
	uint64_t v2 = seed[0] ^ 0x6c7967656e657261ULL, v3 = seed[1] ^ 0x7465646279746573ULL;
	uint64_t tail = (uint64_t)key.len << 56, word;
	size_t whole = key.len & ~(size_t)7;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, key.p + i, 8);
		v3 ^= word;
		SIPROUND;
		v0 ^= word;
	}
	for (size_t i = whole; i < key.len; i++)
		tail |= (uint64_t)(unsigned char)key.p[i] << 8 * (i - whole);
	v3 ^= tail;
	SIPROUND;
	v0 ^= tail;
	v2 ^= 0xff;
	SIPROUND;
	SIPROUND;
	SIPROUND;
	return v0 ^ v1 ^ v2 ^ v3;
}

struct map *map_new(void)
{
	struct map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->cap = 16;
	m->entries = calloc(m->cap, sizeof(*m->entries));
	if (!m->entries || getrandom(m->seed, sizeof(m->seed), 0) != sizeof(m->seed)) {
		free(m->entries);
		free(m);
		return NULL;
	}
	return m;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->cap; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m);
}

size_t map_count(const struct map *m)
{
	return m->count;
}

static struct entry *lookup(const struct map *m, struct view key, uint64_t hash)
{
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct entry *e = &m->entries[i];

		if (!e->key)
			return NULL;
		if (e->value && e->hash == hash && view_eq(view_of(e->key, e->key_len), key))
			return e;
	}
}

void *map_get(const struct map *m, struct view key)
{
	struct entry *e = lookup(m, key, siphash(m->seed, key));

	return e ? e->value : NULL;
}

static struct entry *free_place(struct entry *entries, size_t cap, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (entries[i].key)
		i = (i + 1) & (cap - 1);
	return &entries[i];
}

/* Room for one more at a load of at most 3/4; drops tombstones. */
static int make_room(struct map *m)
{
	size_t cap = m->cap;
	struct entry *entries;

	if (m->used + 1 <= m->cap / 4 * 3)
		return 0;
	if (m->count + 1 > m->cap / 2)
		cap *= 2;
	entries = calloc(cap, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++) {
		struct entry *e = &m->entries[i];

		if (e->value)
			*free_place(entries, cap, e->hash) = *e;
		else
			free(e->key);
	}
	free(m->entries);
	m->entries = entries;
	m->cap = cap;
	m->used = m->count;
	return 0;
}

int map_put(struct map *m, struct view key, void *value, void **ret_old)
{
	uint64_t hash = siphash(m->seed, key);
	struct entry *e = lookup(m, key, hash);
	char *copy;

	assert(value);
	if (e) {
		if (ret_old)
			*ret_old = e->value;
		e->value = value;
		return 0;
	}
	copy = view_dup(key);
	if (!copy || make_room(m) < 0) {
		free(copy);
		return -ENOMEM;
	}
	*free_place(m->entries, m->cap, hash) =
		(struct entry){ .key = copy, .key_len = key.len, .hash = hash, .value = value };
	m->used++;
	m->count++;
	if (ret_old)
		*ret_old = NULL;
	return 0;
}

void *map_remove(struct map *m, struct view key)
{
	struct entry *e = lookup(m, key, siphash(m->seed, key));
	void *value;

	if (!e)
		return NULL;
	value = take_ptr(e->value);
	m->count--;
	return value;
}

void *map_next(const struct map *m, size_t *at, struct view *ret_key)
{
	while (*at < m->cap) {
		struct entry *e = &m->entries[(*at)++];

		if (!e->value)
			continue;
		if (ret_key)
			*ret_key = view_of(e->key, e->key_len);
		return e->value;
	}
	return NULL;
}
