/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which slot, in SQLite. */
#include "store/sandboxes.h"

#include "store/tickets.h"

/* A clean slot only: the WHERE makes a dirty one change nothing. */
static int put_row(struct store *store, const struct store_sandbox *sandbox, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(
		    store,
		    "INSERT INTO sandboxes (key, principal, slot, hold, created, last_used) "
		    "SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
		    "WHERE NOT EXISTS (SELECT 1 FROM dirty_slots WHERE slot = ?3) "
		    "ON CONFLICT (key) DO UPDATE SET slot = excluded.slot, "
		    "hold = excluded.hold, last_used = excluded.last_used",
		    &st, err) < 0)
		return -1;
	store_bind_view(st, 1, view_str(sandbox->key));
	store_bind_view(st, 2, view_str(sandbox->principal));
	store_bind_u64(st, 3, sandbox->slot);
	store_bind_u64(st, 4, sandbox->hold);
	store_bind_u64(st, 5, sandbox->created);
	store_bind_u64(st, 6, sandbox->last_used);
	if (store_run(store, st, err) < 0)
		return -1;
	if (store_changes(store) == 0)
		return err_set(err, ERR_BUG, "slot %u is dirty and was granted", sandbox->slot);
	return 0;
}

int store_sandbox_save(struct store *store, const struct store_sandbox *sandbox, uint64_t ticket,
		       struct err *err)
{
	if (ticket == 0)
		return put_row(store, sandbox, err);
	if (store_begin(store, err) < 0)
		return -1;
	if (put_row(store, sandbox, err) < 0 || store_ticket_remove(store, ticket, err) < 0) {
		store_rollback(store);
		return -1;
	}
	return store_commit(store, err);
}

static int delete_row(struct store *store, const char *key, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM sandboxes WHERE key = ?1", &st, err) < 0)
		return -1;
	store_bind_view(st, 1, view_str(key));
	return store_run(store, st, err);
}

static int mark_dirty(struct store *store, uint32_t slot, uint64_t now, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "INSERT INTO dirty_slots (slot, since) VALUES (?1, ?2) "
			    "ON CONFLICT (slot) DO NOTHING",
			    &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, slot);
	store_bind_u64(st, 2, now);
	return store_run(store, st, err);
}

int store_sandbox_release(struct store *store, const char *key, uint32_t slot, uint64_t now,
			  struct err *err)
{
	if (store_begin(store, err) < 0)
		return -1;
	if (delete_row(store, key, err) < 0 || mark_dirty(store, slot, now, err) < 0) {
		store_rollback(store);
		return -1;
	}
	return store_commit(store, err);
}

int store_sandbox_touch(struct store *store, const char *key, uint64_t now, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "UPDATE sandboxes SET last_used = ?2 WHERE key = ?1", &st, err) <
	    0)
		return -1;
	store_bind_view(st, 1, view_str(key));
	store_bind_u64(st, 2, now);
	return store_run(store, st, err);
}

static int read_row(sqlite3_stmt *st, struct store_sandbox *ret, struct err *err)
{
	ret->slot = (uint32_t)store_column_u64(st, 2);
	ret->hold = (uint32_t)store_column_u64(st, 3);
	ret->created = store_column_u64(st, 4);
	ret->last_used = store_column_u64(st, 5);
	if (view_copy(store_column_view(st, 0), ret->key, sizeof(ret->key)) < 0 ||
	    view_copy(store_column_view(st, 1), ret->principal, sizeof(ret->principal)) < 0)
		return err_set(err, ERR_BUG, "a sandbox's row in the state is damaged");
	return 0;
}

int store_sandbox_each(struct store *store, store_sandbox_fn *fn, void *userdata, struct err *err)
{
	struct store_sandbox sandbox;
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT key, principal, slot, hold, created, last_used FROM sandboxes "
			    "ORDER BY slot",
			    &st, err) < 0)
		return -1;
	while ((r = store_step(store, st, err)) == 1) {
		r = read_row(st, &sandbox, err);
		if (r == 0)
			r = fn(userdata, &sandbox);
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}

int store_slot_clean(struct store *store, uint32_t slot, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM dirty_slots WHERE slot = ?1", &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, slot);
	return store_run(store, st, err);
}

int store_dirty_each(struct store *store, store_dirty_fn *fn, void *userdata, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store, "SELECT slot, since FROM dirty_slots ORDER BY slot", &st, err) <
	    0)
		return -1;
	while ((r = store_step(store, st, err)) == 1) {
		r = fn(userdata, (uint32_t)store_column_u64(st, 0), store_column_u64(st, 1));
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}
