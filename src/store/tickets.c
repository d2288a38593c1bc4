/* SPDX-License-Identifier: Apache-2.0 */
/* The queue, in SQLite. */
#include "store/tickets.h"

int store_ticket_save(struct store *store, const struct store_ticket *ticket, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "INSERT INTO tickets (number, principal, key, has_mail, created) "
			    "VALUES (?1, ?2, ?3, ?4, ?5) "
			    "ON CONFLICT (number) DO UPDATE SET key = excluded.key, "
			    "has_mail = excluded.has_mail",
			    &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, ticket->number);
	store_bind_view(st, 2, view_str(ticket->principal));
	store_bind_view(st, 3, view_str(ticket->key));
	store_bind_u64(st, 4, ticket->has_mail);
	store_bind_u64(st, 5, ticket->created);
	return store_run(store, st, err);
}

int store_ticket_remove(struct store *store, uint64_t number, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM tickets WHERE number = ?1", &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, number);
	return store_run(store, st, err);
}

static int read_row(sqlite3_stmt *st, struct store_ticket *ret, struct err *err)
{
	ret->number = store_column_u64(st, 0);
	ret->has_mail = store_column_u64(st, 3) != 0;
	ret->created = store_column_u64(st, 4);
	if (view_copy(store_column_view(st, 1), ret->principal, sizeof(ret->principal)) < 0 ||
	    view_copy(store_column_view(st, 2), ret->key, sizeof(ret->key)) < 0)
		return err_set(err, ERR_BUG, "a ticket's row in the state is damaged");
	return 0;
}

int store_ticket_each(struct store *store, store_ticket_fn *fn, void *userdata, struct err *err)
{
	struct store_ticket ticket;
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT number, principal, key, has_mail, created FROM tickets "
			    "ORDER BY number",
			    &st, err) < 0)
		return -1;
	while ((r = store_step(store, st, err)) == 1) {
		r = read_row(st, &ticket, err);
		if (r == 0)
			r = fn(userdata, &ticket);
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}
