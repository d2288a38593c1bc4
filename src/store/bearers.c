/* SPDX-License-Identifier: Apache-2.0 */
/* Static bearer tokens in SQLite. */
#include "store/bearers.h"

/* How many rows there are, and in *ret_taken whether one has the name. */
static int look(struct store *store, const char *name, uint64_t *ret_count, bool *ret_taken,
		struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "SELECT count(*), coalesce(max(name = ?1), 0) FROM bearers", &st,
			    err) < 0)
		return -1;
	store_bind_view(st, 1, view_str(name));
	if (store_step(store, st, err) < 0)
		return -1;
	*ret_count = store_column_u64(st, 0);
	*ret_taken = store_column_u64(st, 1) != 0;
	store_done(st);
	return 0;
}

int store_bearer_add(struct store *store, const struct store_bearer *bearer, struct err *err)
{
	sqlite3_stmt *st;
	uint64_t count = 0;
	bool taken = false;

	if (look(store, bearer->name, &count, &taken, err) < 0)
		return -1;
	if (taken)
		return err_set(err, ERR_EXISTS, "there is a token named %s already", bearer->name);
	if (count >= STORE_BEARERS_MAX)
		return err_set(err, ERR_FULL, "there are %d tokens already: remove some",
			       STORE_BEARERS_MAX);
	if (store_statement(store,
			    "INSERT INTO bearers (name, owner, hash, created, last_used) "
			    "VALUES (?1, ?2, ?3, ?4, ?5)",
			    &st, err) < 0)
		return -1;
	store_bind_view(st, 1, view_str(bearer->name));
	store_bind_view(st, 2, view_str(bearer->owner));
	store_bind_blob(st, 3, bearer->hash, sizeof(bearer->hash));
	store_bind_u64(st, 4, bearer->created);
	store_bind_u64(st, 5, bearer->last_used);
	return store_run(store, st, err);
}

static int read_row(sqlite3_stmt *st, struct store_bearer *ret, struct err *err)
{
	struct store_bearer b = { .created = store_column_u64(st, 3),
				  .last_used = store_column_u64(st, 4) };
	struct view hash = store_column_view(st, 2);

	if (view_copy(store_column_view(st, 0), b.name, sizeof(b.name)) < 0 ||
	    view_copy(store_column_view(st, 1), b.owner, sizeof(b.owner)) < 0 ||
	    hash.len != sizeof(b.hash))
		return err_set(err, ERR_BUG, "a token's row in the state is damaged");
	memcpy(b.hash, hash.p, sizeof(b.hash));
	*ret = b;
	return 0;
}

int store_bearer_get(struct store *store, const uint8_t hash[STORE_HASH_BYTES],
		     struct store_bearer *ret, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT name, owner, hash, created, last_used FROM bearers "
			    "WHERE hash = ?1",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, hash, STORE_HASH_BYTES);
	r = store_step(store, st, err);
	if (r == 1 && read_row(st, ret, err) < 0)
		r = -1;
	store_done(st);
	return r;
}

int store_bearer_touch(struct store *store, const uint8_t hash[STORE_HASH_BYTES], uint64_t now,
		       struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "UPDATE bearers SET last_used = ?2 WHERE hash = ?1", &st, err) <
	    0)
		return -1;
	store_bind_blob(st, 1, hash, STORE_HASH_BYTES);
	store_bind_u64(st, 2, now);
	return store_run(store, st, err);
}

int store_bearer_remove(struct store *store, struct view name, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM bearers WHERE name = ?1", &st, err) < 0)
		return -1;
	store_bind_view(st, 1, name);
	if (store_run(store, st, err) < 0)
		return -1;
	if (store_changes(store) == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no token of that name");
	return 0;
}

int store_bearer_each(struct store *store, store_bearer_fn *fn, void *userdata, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT name, owner, hash, created, last_used FROM bearers "
			    "ORDER BY name",
			    &st, err) < 0)
		return -1;
	while ((r = store_step(store, st, err)) == 1) {
		struct store_bearer b;

		r = read_row(st, &b, err);
		if (r < 0)
			break;
		r = fn(&b, userdata);
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}
