/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked list with a head: no allocation, O(1) removal.
 */
#ifndef BERTH_BASE_LIST_H
#define BERTH_BASE_LIST_H

#include "base/attr.h"

#include <stdbool.h>

struct list {
	struct list *next, *prev;
};

/* A head, or an item that is in no list. */
static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void list_add_head(struct list *head, struct list *item)
{
	list_add_tail(head->next, item);
}

/* Harmless on an item that is in no list. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* Iterates; the current item may be removed, others not. `it` and `tmp` are struct list pointers.
 */
#define list_each(it, tmp, head)                                                                   \
	for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head);                              \
	     (it) = (tmp), (tmp) = (it)->next)

#endif
