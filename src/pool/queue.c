/* SPDX-License-Identifier: Apache-2.0 */
/* The tickets in order of arrival. */
#include "pool/queue.h"

#include <assert.h>

/* Far from both ends: tickets are also put in front of all others. */
#define FIRST_ORDER (UINT64_C(1) << 40)

int queue_init(struct queue *q)
{
	*q = (struct queue){ .next_order = FIRST_ORDER, .by_principal = map_new() };
	return q->by_principal ? 0 : -ENOMEM;
}

static void ticket_free(struct ticket *t)
{
	if (!t)
		return;
	free(t->key);
	free(t->principal);
	free(t);
}

void queue_done(struct queue *q)
{
	for (size_t i = 0; i < q->n; i++)
		ticket_free(q->tickets[i]);
	free(q->tickets);
	map_free(q->by_principal);
	*q = (struct queue){ 0 };
}

struct ticket *queue_find(const struct queue *q, const char *principal)
{
	return map_get(q->by_principal, view_str(principal));
}

struct ticket *queue_front(const struct queue *q)
{
	return q->n ? q->tickets[0] : NULL;
}

/* Index of the first ticket with at least that order number. */
static size_t lower_bound(const struct queue *q, uint64_t order)
{
	size_t lo = 0, hi = q->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (q->tickets[mid]->order < order)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t queue_rank(const struct queue *q, const struct ticket *t)
{
	size_t i = lower_bound(q, t->order);

	assert(i < q->n && q->tickets[i] == t);
	return (uint32_t)i + 1;
}

uint64_t queue_order_last(const struct queue *q)
{
	return q->next_order;
}

uint64_t queue_order_first(const struct queue *q)
{
	return q->n ? q->tickets[0]->order - 1 : q->next_order;
}

static int make_room(struct queue *q)
{
	size_t cap = q->cap ? q->cap * 2 : 64;
	struct ticket **p;

	if (q->n < q->cap)
		return 0;
	p = realloc(q->tickets, cap * sizeof(struct ticket *));
	if (!p)
		return -ENOMEM;
	q->tickets = p;
	q->cap = cap;
	return 0;
}

int queue_add(struct queue *q, uint64_t order, const char *key, const char *principal,
	      struct ticket **ret)
{
	size_t at = lower_bound(q, order);
	struct ticket *t;

	if (order == 0 || order == UINT64_MAX || queue_find(q, principal) ||
	    (at < q->n && q->tickets[at]->order == order))
		return -EEXIST;
	t = calloc(1, sizeof(*t));
	if (!t || make_room(q) < 0)
		goto fail;
	t->order = order;
	t->key = view_dup(view_str(key));
	t->principal = view_dup(view_str(principal));
	if (!t->key || !t->principal || map_put(q->by_principal, view_str(principal), t, NULL) < 0)
		goto fail;

	memmove(q->tickets + at + 1, q->tickets + at, (q->n - at) * sizeof(struct ticket *));
	q->tickets[at] = t;
	q->n++;
	if (order >= q->next_order)
		q->next_order = order + 1;
	*ret = t;
	return 0;

fail:
	ticket_free(t);
	return -ENOMEM;
}

int queue_rekey(struct ticket *t, const char *key)
{
	char *copy = view_dup(view_str(key));

	if (!copy)
		return -ENOMEM;
	free(t->key);
	t->key = copy;
	return 0;
}

void queue_remove(struct queue *q, struct ticket *t)
{
	size_t at = queue_rank(q, t) - 1;

	(void)map_remove(q->by_principal, view_str(t->principal));
	q->n--;
	memmove(q->tickets + at, q->tickets + at + 1, (q->n - at) * sizeof(struct ticket *));
	ticket_free(t);
}
