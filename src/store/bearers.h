/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static bearer tokens: made by the operator, valid until removed, stored as SHA-256. Several
 * tokens may belong to one owner, who keeps his sandboxes when a token is replaced.
 */
#ifndef BERTH_STORE_BEARERS_H
#define BERTH_STORE_BEARERS_H

#include "store/clients.h"

enum {
	STORE_BEARER_NAME_BYTES = 33, /* with the NUL; for name and owner */
	STORE_BEARERS_MAX = 1000,
};

struct store_bearer {
	char name[STORE_BEARER_NAME_BYTES];
	char owner[STORE_BEARER_NAME_BYTES];
	uint8_t hash[STORE_HASH_BYTES];
	uint64_t created;
	uint64_t last_used; /* 0: never; coarse */
};

/* ERR_EXISTS if the name is taken, ERR_FULL past STORE_BEARERS_MAX. */
int store_bearer_add(struct store *store, const struct store_bearer *bearer,
		     struct err *err) MUST_CHECK;
/* 1 and *ret, 0 when there is none, -1 with err. */
int store_bearer_get(struct store *store, const uint8_t hash[STORE_HASH_BYTES],
		     struct store_bearer *ret, struct err *err) MUST_CHECK;
int store_bearer_touch(struct store *store, const uint8_t hash[STORE_HASH_BYTES], uint64_t now,
		       struct err *err) MUST_CHECK;
/* ERR_NOT_FOUND. */
int store_bearer_remove(struct store *store, struct view name, struct err *err) MUST_CHECK;
/* By name; stops with fn's result when that is not 0. */
typedef int store_bearer_fn(const struct store_bearer *bearer, void *userdata);
int store_bearer_each(struct store *store, store_bearer_fn *fn, void *userdata,
		      struct err *err) MUST_CHECK;

#endif
