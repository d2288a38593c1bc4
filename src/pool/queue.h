/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tickets in order of arrival, at most one a principal. An array sorted by order number: a rank
 * is a binary search, the front is index 0, and removing moves pointers only. Only the pool uses
 * it.
 */
#ifndef BERTH_POOL_QUEUE_H
#define BERTH_POOL_QUEUE_H

#include "base/map.h"
#include "base/usec.h"

/* Owned by the queue. */
struct ticket {
	uint64_t order;
	char *key;
	char *principal;
	bool has_mail;
	usec last_call;
};

struct queue {
	struct ticket **tickets; /* ascending order */
	size_t n, cap;
	struct map *by_principal;
	uint64_t next_order;
};

int queue_init(struct queue *q) MUST_CHECK;
void queue_done(struct queue *q);

/* NULL when the principal has none. */
struct ticket *queue_find(const struct queue *q, const char *principal);
/* NULL when empty. */
struct ticket *queue_front(const struct queue *q);
/* 1 is the front. */
uint32_t queue_rank(const struct queue *q, const struct ticket *t);

/* Numbers for a new last and a new first ticket. */
uint64_t queue_order_last(const struct queue *q);
uint64_t queue_order_first(const struct queue *q);

/*
 * Adds a ticket at the place of its order number; the principal has none, the order is unused (a
 * restored queue that says otherwise is refused). -ENOMEM, -EEXIST.
 */
int queue_add(struct queue *q, uint64_t order, const char *key, const char *principal,
	      struct ticket **ret) MUST_CHECK;
/* -ENOMEM. */
int queue_rekey(struct ticket *t, const char *key) MUST_CHECK;
/* Frees it. */
void queue_remove(struct queue *q, struct ticket *t);

#endif
