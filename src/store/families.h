/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token families: one sign-in each, with the hashes of its refresh tokens and of its access tokens.
 * A family owns one principal and lives until its refresh token expires or it is revoked; then the
 * row is gone. The rules of rotation are oauth/rotation.c's; this file only keeps rows. All times
 * are seconds since 1970.
 */
#ifndef BERTH_STORE_FAMILIES_H
#define BERTH_STORE_FAMILIES_H

#include "store/clients.h"

enum {
	STORE_FAMILY_ID_BYTES = 16,
	STORE_PRINCIPAL_BYTES = 72, /* with the NUL */
	STORE_VISITOR_BYTES = 16,
	STORE_RETIRED_MAX = 16, /* refresh tokens older than the previous one that are known */
	STORE_ACCESS_MAX = 4,   /* access tokens of one family; the oldest goes */
};

struct store_family {
	uint8_t id[STORE_FAMILY_ID_BYTES];
	uint8_t client[STORE_HASH_BYTES];
	char principal[STORE_PRINCIPAL_BYTES];
	uint8_t visitor[STORE_VISITOR_BYTES]; /* keyed hash of the address prefix of the press */
	bool offline; /* offline_access was granted: only changes the scope that is answered */
	uint64_t created;
	uint64_t last_call; /* last use of one of its access tokens; 0: never. Coarse */
	uint64_t rotated;
	uint64_t expires;
	uint64_t generation;   /* of the current refresh token; counts from 1 */
	bool successor_used;   /* the current refresh token, or its access token, was seen in use */
	uint32_t lost_answers; /* successors replaced unseen, in a row */
	uint8_t current[STORE_HASH_BYTES];
	bool has_previous;
	uint8_t previous[STORE_HASH_BYTES];
	uint32_t n_retired; /* 0..STORE_RETIRED_MAX, newest first */
	uint8_t retired[STORE_RETIRED_MAX][STORE_HASH_BYTES];
};

int store_family_add(struct store *store, const struct store_family *family,
		     struct err *err) MUST_CHECK;
/* 1 and *ret, 0 when there is none, -1 with err. */
int store_family_get(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES],
		     struct store_family *ret, struct err *err) MUST_CHECK;
int store_family_by_principal(struct store *store, struct view principal, struct store_family *ret,
			      struct err *err) MUST_CHECK;
/* Writes what changes with a rotation. */
int store_family_save(struct store *store, const struct store_family *family,
		      struct err *err) MUST_CHECK;
/* One of its access tokens was used; with `is_newest` one of the current generation, so that the
 * current refresh token is known to have arrived. */
int store_family_used(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES], uint64_t now,
		      bool is_newest, struct err *err) MUST_CHECK;
/* Its access tokens go with it. */
int store_family_remove(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES],
			struct err *err) MUST_CHECK;
int store_family_count(struct store *store, uint64_t *ret, struct err *err) MUST_CHECK;

/* Stops with fn's result when that is not 0. fn must not write to the store. */
typedef int store_family_fn(const struct store_family *family, void *userdata);
enum store_family_filter {
	STORE_FAMILY_ALL,
	STORE_FAMILY_OF_CLIENT,  /* key: the client's id */
	STORE_FAMILY_OF_VISITOR, /* key: the visitor; never used ones first, then by last use */
	STORE_FAMILY_ENDED,      /* `before`: expired by then */
	STORE_FAMILY_UNUSED,     /* `before`: made before it and never used, oldest first */
	STORE_FAMILY_ASLEEP,     /* `before`: no call since */
};
struct store_family_query {
	enum store_family_filter filter;
	struct view key;
	uint64_t before;
	uint32_t limit;
};
int store_family_each(struct store *store, const struct store_family_query *query,
		      store_family_fn *fn, void *userdata, struct err *err) MUST_CHECK;

struct store_access {
	uint8_t family[STORE_FAMILY_ID_BYTES];
	uint8_t client[STORE_HASH_BYTES];
	char principal[STORE_PRINCIPAL_BYTES];
	uint64_t expires;
	uint64_t last_call;  /* the family's */
	bool is_newest;      /* of the family's current generation */
	bool successor_used; /* the family's */
};

/* Adds an access token's hash and drops the oldest beyond STORE_ACCESS_MAX. */
int store_access_add(struct store *store, const struct store_family *family,
		     const uint8_t hash[STORE_HASH_BYTES], uint64_t expires,
		     struct err *err) MUST_CHECK;
/* 1 and *ret, 0 when there is none, -1 with err. Expiry is the caller's to check. */
int store_access_get(struct store *store, const uint8_t hash[STORE_HASH_BYTES],
		     struct store_access *ret, struct err *err) MUST_CHECK;
int store_access_remove(struct store *store, const uint8_t hash[STORE_HASH_BYTES],
			struct err *err) MUST_CHECK;
/* The access tokens given with one generation of the family. */
int store_access_remove_generation(struct store *store, const struct store_family *family,
				   struct err *err) MUST_CHECK;
int store_access_expire(struct store *store, uint64_t now, struct err *err) MUST_CHECK;

#endif
