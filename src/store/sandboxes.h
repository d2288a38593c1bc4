/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has which slot, and which slots are dirty: what the pool saves and is given back at start.
 * Functions that change two tables are transactions of their own (not inside store_begin()); the
 * others may be part of one. Times are seconds since 1970.
 */
#ifndef BERTH_STORE_SANDBOXES_H
#define BERTH_STORE_SANDBOXES_H

#include "store/store.h"

enum { STORE_NAME_BYTES = 256 }; /* of a key and of a principal, with the NUL */

struct store_sandbox {
	char key[STORE_NAME_BYTES];
	char principal[STORE_NAME_BYTES];
	uint32_t slot;
	uint32_t hold; /* enum pool_hold, opaque here */
	uint64_t created;
	uint64_t last_used;
};

/*
 * The key has the slot, new or in another state; an existing row keeps `created`. `ticket`: the
 * number of the ticket that is used up by this, or 0. ERR_SYSTEM also when the slot is another
 * key's or dirty.
 */
int store_sandbox_save(struct store *store, const struct store_sandbox *sandbox, uint64_t ticket,
		       struct err *err) MUST_CHECK;
/* The key has it no more; the slot is dirty. */
int store_sandbox_release(struct store *store, const char *key, uint32_t slot, uint64_t now,
			  struct err *err) MUST_CHECK;
/* May be part of a transaction over many keys. An unknown key is no error. */
int store_sandbox_touch(struct store *store, const char *key, uint64_t now,
			struct err *err) MUST_CHECK;
/* By slot; stops with fn's result when that is not 0. fn must not write to the store. */
typedef int store_sandbox_fn(void *userdata, const struct store_sandbox *sandbox);
int store_sandbox_each(struct store *store, store_sandbox_fn *fn, void *userdata,
		       struct err *err) MUST_CHECK;

int store_slot_clean(struct store *store, uint32_t slot, struct err *err) MUST_CHECK;
/* `since`: when it became dirty. */
typedef int store_dirty_fn(void *userdata, uint32_t slot, uint64_t since);
int store_dirty_each(struct store *store, store_dirty_fn *fn, void *userdata,
		     struct err *err) MUST_CHECK;

#endif
