/* SPDX-License-Identifier: Apache-2.0 */
/* Token families in SQLite. */
#include "store/families.h"

/* In the order that read_row() expects. */
#define COLUMNS                                                                                    \
	"id, client, principal, visitor, offline, created, last_call, rotated, expires, "          \
	"generation, successor_used, lost_answers, current, previous, retired"

static void bind_changing(sqlite3_stmt *st, const struct store_family *f)
{
	store_bind_blob(st, 1, f->id, sizeof(f->id));
	store_bind_u64(st, 2, f->rotated);
	store_bind_u64(st, 3, f->expires);
	store_bind_u64(st, 4, f->generation);
	store_bind_u64(st, 5, f->successor_used);
	store_bind_u64(st, 6, f->lost_answers);
	store_bind_blob(st, 7, f->current, sizeof(f->current));
	store_bind_blob(st, 8, f->previous, f->has_previous ? sizeof(f->previous) : 0);
	store_bind_blob(st, 9, f->retired, (size_t)f->n_retired * STORE_HASH_BYTES);
}

int store_family_add(struct store *store, const struct store_family *f, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "INSERT INTO families (id, rotated, expires, generation, "
			    "successor_used, lost_answers, current, previous, retired, "
			    "client, principal, visitor, offline, created, last_call) "
			    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
			    "?15)",
			    &st, err) < 0)
		return -1;
	bind_changing(st, f);
	store_bind_blob(st, 10, f->client, sizeof(f->client));
	store_bind_view(st, 11, view_str(f->principal));
	store_bind_blob(st, 12, f->visitor, sizeof(f->visitor));
	store_bind_u64(st, 13, f->offline);
	store_bind_u64(st, 14, f->created);
	store_bind_u64(st, 15, f->last_call);
	return store_run(store, st, err);
}

int store_family_save(struct store *store, const struct store_family *f, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "UPDATE families SET rotated = ?2, expires = ?3, generation = ?4, "
			    "successor_used = ?5, lost_answers = ?6, current = ?7, previous = ?8, "
			    "retired = ?9 WHERE id = ?1",
			    &st, err) < 0)
		return -1;
	bind_changing(st, f);
	return store_run(store, st, err);
}

/* False when the column does not hold exactly `len` bytes. */
static bool read_blob(sqlite3_stmt *st, int column, void *out, size_t len)
{
	struct view v = store_column_view(st, column);

	if (v.len != len)
		return false;
	memcpy(out, v.p, len);
	return true;
}

static int read_row(sqlite3_stmt *st, struct store_family *ret, struct err *err)
{
	struct store_family f = {
		.offline = store_column_u64(st, 4) != 0,
		.created = store_column_u64(st, 5),
		.last_call = store_column_u64(st, 6),
		.rotated = store_column_u64(st, 7),
		.expires = store_column_u64(st, 8),
		.generation = store_column_u64(st, 9),
		.successor_used = store_column_u64(st, 10) != 0,
		.lost_answers = (uint32_t)store_column_u64(st, 11),
		.has_previous = store_column_view(st, 13).len != 0,
	};
	struct view retired = store_column_view(st, 14);

	f.n_retired = (uint32_t)(retired.len / STORE_HASH_BYTES);
	if (!read_blob(st, 0, f.id, sizeof(f.id)) ||
	    !read_blob(st, 1, f.client, sizeof(f.client)) ||
	    view_copy(store_column_view(st, 2), f.principal, sizeof(f.principal)) < 0 ||
	    !read_blob(st, 3, f.visitor, sizeof(f.visitor)) ||
	    !read_blob(st, 12, f.current, sizeof(f.current)) ||
	    (f.has_previous && !read_blob(st, 13, f.previous, sizeof(f.previous))) ||
	    f.n_retired > STORE_RETIRED_MAX ||
	    !read_blob(st, 14, f.retired, (size_t)f.n_retired * STORE_HASH_BYTES))
		return err_set(err, ERR_BUG, "a sign-in's row in the state is damaged");
	*ret = f;
	return 0;
}

static int get_one(struct store *store, sqlite3_stmt *st, struct store_family *ret, struct err *err)
{
	int r = store_step(store, st, err);

	if (r == 1 && read_row(st, ret, err) < 0)
		r = -1;
	store_done(st);
	return r;
}

int store_family_get(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES],
		     struct store_family *ret, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "SELECT " COLUMNS " FROM families WHERE id = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_FAMILY_ID_BYTES);
	return get_one(store, st, ret, err);
}

int store_family_by_principal(struct store *store, struct view principal, struct store_family *ret,
			      struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "SELECT " COLUMNS " FROM families WHERE principal = ?1", &st,
			    err) < 0)
		return -1;
	store_bind_view(st, 1, principal);
	return get_one(store, st, ret, err);
}

int store_family_used(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES], uint64_t now,
		      bool is_newest, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "UPDATE families SET last_call = ?2, "
			    "successor_used = max(successor_used, ?3), "
			    "lost_answers = iif(?3, 0, lost_answers) WHERE id = ?1",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_FAMILY_ID_BYTES);
	store_bind_u64(st, 2, now);
	store_bind_u64(st, 3, is_newest);
	return store_run(store, st, err);
}

int store_family_remove(struct store *store, const uint8_t id[STORE_FAMILY_ID_BYTES],
			struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM families WHERE id = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, id, STORE_FAMILY_ID_BYTES);
	return store_run(store, st, err);
}

int store_family_count(struct store *store, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "SELECT count(*) FROM families", &st, err) < 0 ||
	    store_step(store, st, err) < 0)
		return -1;
	*ret = store_column_u64(st, 0);
	store_done(st);
	return 0;
}

/* ?1 is the key, ?2 `before`, ?3 the limit. */
static const char *const filter_sql[] = {
	[STORE_FAMILY_ALL] = "SELECT " COLUMNS " FROM families LIMIT ?3",
	[STORE_FAMILY_OF_CLIENT] = "SELECT " COLUMNS " FROM families WHERE client = ?1 LIMIT ?3",
	[STORE_FAMILY_OF_VISITOR] = "SELECT " COLUMNS " FROM families WHERE visitor = ?1 "
				    "ORDER BY last_call <> 0, max(last_call, rotated) LIMIT ?3",
	[STORE_FAMILY_ENDED] = "SELECT " COLUMNS " FROM families WHERE expires <= ?2 LIMIT ?3",
	[STORE_FAMILY_UNUSED] = "SELECT " COLUMNS " FROM families WHERE last_call = 0 AND "
				"created < ?2 ORDER BY created LIMIT ?3",
	[STORE_FAMILY_ASLEEP] = "SELECT " COLUMNS " FROM families WHERE "
				"max(last_call, created) < ?2 LIMIT ?3",
};

int store_family_each(struct store *store, const struct store_family_query *query,
		      store_family_fn *fn, void *userdata, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store, filter_sql[query->filter], &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, query->key.p, query->key.len);
	store_bind_u64(st, 2, query->before);
	store_bind_u64(st, 3, query->limit);
	while ((r = store_step(store, st, err)) == 1) {
		struct store_family f;

		r = read_row(st, &f, err);
		if (r < 0)
			break;
		r = fn(&f, userdata);
		if (r != 0)
			break;
	}
	store_done(st);
	return r;
}

static int trim_access(struct store *store, const struct store_family *family, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "DELETE FROM access_tokens WHERE family = ?1 AND number NOT IN "
			    "(SELECT number FROM access_tokens WHERE family = ?1 "
			    "ORDER BY number DESC LIMIT ?2)",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, family->id, sizeof(family->id));
	store_bind_u64(st, 2, STORE_ACCESS_MAX);
	return store_run(store, st, err);
}

int store_access_add(struct store *store, const struct store_family *family,
		     const uint8_t hash[STORE_HASH_BYTES], uint64_t expires, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "INSERT INTO access_tokens (hash, family, generation, expires) "
			    "VALUES (?1, ?2, ?3, ?4)",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, hash, STORE_HASH_BYTES);
	store_bind_blob(st, 2, family->id, sizeof(family->id));
	store_bind_u64(st, 3, family->generation);
	store_bind_u64(st, 4, expires);
	if (store_run(store, st, err) < 0)
		return -1;
	return trim_access(store, family, err);
}

static int read_access(sqlite3_stmt *st, struct store_access *ret, struct err *err)
{
	struct store_access a = {
		.expires = store_column_u64(st, 3),
		.last_call = store_column_u64(st, 4),
		.is_newest = store_column_u64(st, 5) != 0,
		.successor_used = store_column_u64(st, 6) != 0,
	};

	if (!read_blob(st, 0, a.family, sizeof(a.family)) ||
	    !read_blob(st, 1, a.client, sizeof(a.client)) ||
	    view_copy(store_column_view(st, 2), a.principal, sizeof(a.principal)) < 0)
		return err_set(err, ERR_BUG, "an access token's row in the state is damaged");
	*ret = a;
	return 0;
}

int store_access_get(struct store *store, const uint8_t hash[STORE_HASH_BYTES],
		     struct store_access *ret, struct err *err)
{
	sqlite3_stmt *st;
	int r;

	if (store_statement(store,
			    "SELECT f.id, f.client, f.principal, a.expires, f.last_call, "
			    "a.generation = f.generation, f.successor_used "
			    "FROM access_tokens AS a JOIN families AS f ON f.id = a.family "
			    "WHERE a.hash = ?1",
			    &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, hash, STORE_HASH_BYTES);
	r = store_step(store, st, err);
	if (r == 1 && read_access(st, ret, err) < 0)
		r = -1;
	store_done(st);
	return r;
}

int store_access_remove(struct store *store, const uint8_t hash[STORE_HASH_BYTES], struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM access_tokens WHERE hash = ?1", &st, err) < 0)
		return -1;
	store_bind_blob(st, 1, hash, STORE_HASH_BYTES);
	return store_run(store, st, err);
}

int store_access_remove_generation(struct store *store, const struct store_family *family,
				   struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store,
			    "DELETE FROM access_tokens WHERE family = ?1 AND generation = ?2", &st,
			    err) < 0)
		return -1;
	store_bind_blob(st, 1, family->id, sizeof(family->id));
	store_bind_u64(st, 2, family->generation);
	return store_run(store, st, err);
}

int store_access_expire(struct store *store, uint64_t now, struct err *err)
{
	sqlite3_stmt *st;

	if (store_statement(store, "DELETE FROM access_tokens WHERE expires <= ?1", &st, err) < 0)
		return -1;
	store_bind_u64(st, 1, now);
	return store_run(store, st, err);
}
