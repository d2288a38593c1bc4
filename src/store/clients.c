/* SPDX-License-Identifier: Apache-2.0 */
/* Registered OAuth clients in SQLite. */
#include "store/clients.h"

#include <stdlib.h>

void store_client_done(struct store_client *client)
{
	free(client->redirect_uris);
	client->redirect_uris = NULL;
}

int store_client_add(struct store *store, const struct store_client *client, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "INSERT INTO clients (id, name, redirect_uris, created, last_used) "
			    "VALUES (?1, ?2, ?3, ?4, ?5)",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, client->id, sizeof(client->id));
	store_bind_view(st, 2, view_str(client->name));
	store_bind_view(st, 3, view_str(client->redirect_uris));
	store_bind_u64(st, 4, client->created);
	store_bind_u64(st, 5, client->last_used);
	return store_run(store, st, err);
}

/* The columns id, name, redirect_uris, created, last_used of the row `st` stands on. */
static int read_row(sqlite3_stmt *st, struct store_client *ret, struct err *err)
{
	struct store_client c = { .created = store_column_u64(st, 3),
				  .last_used = store_column_u64(st, 4) };
	struct view id = store_column_view(st, 0);

	if (id.len != sizeof(c.id) ||
	    view_copy(store_column_view(st, 1), c.name, sizeof(c.name)) < 0)
		return err_set(err, ERR_BUG, "a client's row in the state is damaged");
	memcpy(c.id, id.p, sizeof(c.id));
	c.redirect_uris = view_dup(store_column_view(st, 2));
	if (!c.redirect_uris)
		return err_sys(err, ENOMEM, "read a client");
	*ret = c;
	return 0;
}

int store_client_get(struct store *store, const uint8_t id[STORE_HASH_BYTES],
		     struct store_client *ret, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT id, name, redirect_uris, created, last_used FROM clients "
			    "WHERE id = ?1",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_HASH_BYTES);
	r = store_step(store, st, err);
	if (r == 1 && read_row(st, ret, err) < 0)
		r = -1;
	store_done(st);
	return r;
}

int store_client_touch(struct store *store, const uint8_t id[STORE_HASH_BYTES], uint64_t now,
		       struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "UPDATE clients SET last_used = ?2 WHERE id = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_HASH_BYTES);
	store_bind_u64(st, 2, now);
	return store_run(store, st, err);
}

int store_client_renew(struct store *store, const uint8_t id[STORE_HASH_BYTES], uint64_t now,
		       struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "UPDATE clients SET created = ?2 WHERE id = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_HASH_BYTES);
	store_bind_u64(st, 2, now);
	return store_run(store, st, err);
}

int store_client_remove(struct store *store, const uint8_t id[STORE_HASH_BYTES], struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM clients WHERE id = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_HASH_BYTES);
	return store_run(store, st, err);
}

int store_client_count(struct store *store, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "SELECT count(*) FROM clients", &st, err) < 0 ||
	    store_step(store, st, err) < 0)
		return -1;
	*ret = store_column_u64(st, 0);
	store_done(st);
	return 0;
}

int store_client_evict(struct store *store, uint64_t created_before, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "DELETE FROM clients WHERE id = (SELECT id FROM clients AS c "
			    "WHERE created < ?1 AND NOT EXISTS "
			    "(SELECT 1 FROM families WHERE client = c.id) "
			    "ORDER BY max(created, last_used) LIMIT 1)",
			    &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, created_before);
	if (store_run(store, st, err) < 0)
		return -1;
	return store_changes(store) ? 1 : 0;
}

int store_client_expire(struct store *store, uint64_t unused_before, uint64_t used_before,
			struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "DELETE FROM clients WHERE "
			    "(CASE last_used WHEN 0 THEN created < ?1 "
			    "ELSE max(created, last_used) < ?2 END) AND "
			    "NOT EXISTS (SELECT 1 FROM families WHERE client = clients.id)",
			    &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, unused_before);
	store_bind_u64(st, 2, used_before);
	return store_run(store, st, err);
}

int store_client_each(struct store *store, uint32_t limit, store_client_fn *fn, void *userdata,
		      struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT id, name, redirect_uris, created, last_used, "
			    "(SELECT count(*) FROM families WHERE client = clients.id) "
			    "FROM clients ORDER BY last_used DESC, created DESC LIMIT ?1",
			    &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, limit);
	while ((r = store_step(store, st, err)) == 1) {
		auto_store_client struct store_client c = { .redirect_uris = NULL };

		r = read_row(st, &c, err);
		if (r < 0)
			break;
		c.families = (uint32_t)store_column_u64(st, 5);
		r = fn(&c, userdata);
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}

int store_client_find(struct store *store, struct view prefix, uint8_t ret_id[STORE_HASH_BYTES],
		      struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store, "SELECT id FROM clients WHERE id >= ?1 ORDER BY id LIMIT 1", &st,
			    err) < 0)
		return -1;
	store_bind_blob(st, 1, prefix.p, prefix.len);
	r = store_step(store, st, err);
	if (r == 1) {
		struct view id = store_column_view(st, 0);

		r = id.len == STORE_HASH_BYTES && view_starts(id, prefix);
		if (r == 1)
			memcpy(ret_id, id.p, STORE_HASH_BYTES);
	}
	store_done(st);
	return r;
}
