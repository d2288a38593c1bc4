/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered OAuth clients (apps). A row's key is the SHA-256 of the client id, so that the file
 * alone does not tell the ids. All times are seconds since 1970.
 */
#ifndef BERTH_STORE_CLIENTS_H
#define BERTH_STORE_CLIENTS_H

#include "store/store.h"

enum {
	STORE_HASH_BYTES = 32,         /* a SHA-256 */
	STORE_CLIENT_NAME_BYTES = 104, /* with the NUL */
};

struct store_client {
	uint8_t id[STORE_HASH_BYTES];
	char name[STORE_CLIENT_NAME_BYTES]; /* what the app calls itself; unverified */
	char *redirect_uris;                /* owned; separated by newlines */
	uint64_t created;                   /* or registered again since */
	uint64_t last_used;                 /* last sign-in or token request; 0: never */
	uint32_t families;                  /* live sign-ins; filled by store_client_each() only */
};

void store_client_done(struct store_client *client);
#define auto_store_client CLEANUP(store_client_done)

/* ERR_SYSTEM if the row exists already. */
int store_client_add(struct store *store, const struct store_client *client,
		     struct err *err) MUST_CHECK;
/* 1 and *ret (release it), 0 when there is none, -1 with err. */
int store_client_get(struct store *store, const uint8_t id[STORE_HASH_BYTES],
		     struct store_client *ret, struct err *err) MUST_CHECK;
int store_client_touch(struct store *store, const uint8_t id[STORE_HASH_BYTES], uint64_t now,
		       struct err *err) MUST_CHECK;
/* It was registered again: as good as made `now`. */
int store_client_renew(struct store *store, const uint8_t id[STORE_HASH_BYTES], uint64_t now,
		       struct err *err) MUST_CHECK;
/* Its sign-ins go with it. */
int store_client_remove(struct store *store, const uint8_t id[STORE_HASH_BYTES],
			struct err *err) MUST_CHECK;
int store_client_count(struct store *store, uint64_t *ret, struct err *err) MUST_CHECK;
/*
 * Makes room: removes the row that was least recently used or made, if it was made before
 * `created_before` and has no live sign-in. 1 if one went, 0 if none may go.
 */
int store_client_evict(struct store *store, uint64_t created_before, struct err *err) MUST_CHECK;
/* Removes rows without live sign-ins: never used ones made before `unused_before`, others last used
 * and made before `used_before`. */
int store_client_expire(struct store *store, uint64_t unused_before, uint64_t used_before,
			struct err *err) MUST_CHECK;

/* The `limit` last used, last used first; stops with fn's result when that is not 0. Needs memory
 * for that many rows. */
typedef int store_client_fn(const struct store_client *client, void *userdata);
int store_client_each(struct store *store, uint32_t limit, store_client_fn *fn, void *userdata,
		      struct err *err) MUST_CHECK;
/* The id that begins with these bytes: 1 and *ret_id, 0 when there is none, -1 with err. */
int store_client_find(struct store *store, struct view prefix, uint8_t ret_id[STORE_HASH_BYTES],
		      struct err *err) MUST_CHECK;

#endif
