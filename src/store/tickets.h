/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue: one ticket a principal, in the order of their numbers. Whether its owner left an
 * e-mail address is stored, the address never is. Times are seconds since 1970.
 */
#ifndef BERTH_STORE_TICKETS_H
#define BERTH_STORE_TICKETS_H

#include "store/sandboxes.h"

struct store_ticket {
	uint64_t number; /* 1..INT64_MAX */
	char principal[STORE_NAME_BYTES];
	char key[STORE_NAME_BYTES];
	bool has_mail;
	uint64_t created;
};

/* New, or the key or has_mail changed; an existing row keeps `created`. */
int store_ticket_save(struct store *store, const struct store_ticket *ticket,
		      struct err *err) MUST_CHECK;
/* An unknown number is no error. */
int store_ticket_remove(struct store *store, uint64_t number, struct err *err) MUST_CHECK;
/* In the order of the queue; stops with fn's result when that is not 0. fn must not write. */
typedef int store_ticket_fn(void *userdata, const struct store_ticket *ticket);
int store_ticket_each(struct store *store, store_ticket_fn *fn, void *userdata,
		      struct err *err) MUST_CHECK;

#endif
