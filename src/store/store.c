/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite: opening, locking, migrating, statements. */
#include "store/store.h"

#include "store/schema.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { MAX_STATEMENTS = 128 };

struct store {
	sqlite3 *db;
	int lock_fd;
	struct {
		const char *sql; /* borrowed: a literal */
		sqlite3_stmt *st;
	} statements[MAX_STATEMENTS];
	size_t n_statements;
};

static int fail(struct store *store, struct err *err, const char *what)
{
	return err_set(err, ERR_SYSTEM, "%s: %s", what, sqlite3_errmsg(store->db));
}

static int run_sql(struct store *store, const char *sql, struct err *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(store, err, sql);
	return 0;
}

static int take_lock(const char *path, int *ret_fd, struct err *err)
{
	char lock[4096];

	if ((size_t)snprintf(lock, sizeof(lock), "%s.lock", path) >= sizeof(lock))
		return err_set(err, ERR_INVALID, "the path of the state file is too long");
	auto_fd int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, errno, "open %s", lock);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_set(err, ERR_BUSY,
				       "another server is running on this state (%s is locked)",
				       lock);
		return err_sys(err, errno, "lock %s", lock);
	}
	*ret_fd = take_fd(fd);
	return 0;
}

static int schema_version(struct store *store, int *ret, struct err *err)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW) {
		sqlite3_finalize(st);
		return fail(store, err, "read the schema's version");
	}
	*ret = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return 0;
}

static int migrate(struct store *store, struct err *err)
{
	int version;

	if (schema_version(store, &version, err) < 0)
		return -1;
	if (version < 0 || (size_t)version > store_schema_steps)
		return err_set(
			err, ERR_INVALID,
			"the state was written by a newer version of berth (schema %d, this one "
			"knows %zu): install that version again",
			version, store_schema_steps);
	for (size_t i = (size_t)version; i < store_schema_steps; i++) {
		char mark[64];

		(void)snprintf(mark, sizeof(mark), "PRAGMA user_version = %zu", i + 1);
		if (store_begin(store, err) < 0)
			return -1;
		if (run_sql(store, store_schema[i], err) < 0 || run_sql(store, mark, err) < 0) {
			store_rollback(store);
			return err_wrap(err, "bring the state to schema %zu", i + 1);
		}
		if (store_commit(store, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * SQLite would create the file with the umask's mode. Closed before SQLite opens it, and nothing in
 * this process may open it again: closing any descriptor of a file drops all POSIX locks that the
 * process has on it, SQLite's too. Whoever looked at the state then (`sqlite3 berth.db .backup`)
 * would believe to be alone, and would delete the log that the server goes on writing to.
 */
static int create_file(const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, errno, "open %s", path);
	return 0;
}

static int open_database(struct store *store, const char *path, struct err *err)
{
	if (create_file(path, err) < 0)
		return -1;
	if (sqlite3_open_v2(path, &store->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK)
		return fail(store, err, "open the state file");
	return run_sql(store,
		       "PRAGMA journal_mode = WAL;"
		       "PRAGMA synchronous = FULL;"
		       "PRAGMA foreign_keys = ON;"
		       /* Files beside the state are all that a confined server may make. */
		       "PRAGMA temp_store = MEMORY;"
		       "PRAGMA trusted_schema = OFF;"
		       "PRAGMA secure_delete = ON;",
		       err);
}

int store_open(const char *path, struct store **ret, struct err *err)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return err_sys(err, ENOMEM, "open the state");
	store->lock_fd = -1;
	if (take_lock(path, &store->lock_fd, err) < 0 || open_database(store, path, err) < 0 ||
	    migrate(store, err) < 0) {
		store_close(store);
		return -1;
	}
	*ret = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->n_statements; i++)
		sqlite3_finalize(store->statements[i].st);
	sqlite3_close(store->db);
	if (store->lock_fd >= 0)
		(void)close(store->lock_fd);
	free(store);
}

int store_begin(struct store *store, struct err *err)
{
	return run_sql(store, "BEGIN IMMEDIATE", err);
}

int store_commit(struct store *store, struct err *err)
{
	if (run_sql(store, "COMMIT", err) < 0) {
		store_rollback(store);
		return -1;
	}
	return 0;
}

void store_rollback(struct store *store)
{
	(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_statement(struct store *store, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_stmt *st;

	for (size_t i = 0; i < store->n_statements; i++)
		if (store->statements[i].sql == sql) {
			store_done(store->statements[i].st);
			*ret = store->statements[i].st;
			return 0;
		}
	if (store->n_statements == MAX_STATEMENTS)
		return err_set(err, ERR_BUG, "more than %d prepared statements", MAX_STATEMENTS);
	if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) !=
	    SQLITE_OK)
		return fail(store, err, sql);
	store->statements[store->n_statements].sql = sql;
	store->statements[store->n_statements++].st = st;
	*ret = st;
	return 0;
}

int store_step(struct store *store, sqlite3_stmt *st, struct err *err)
{
	int r = sqlite3_step(st);

	if (r == SQLITE_ROW)
		return 1;
	if (r == SQLITE_DONE)
		return 0;
	(void)fail(store, err, "write or read the state");
	store_done(st);
	return -1;
}

int store_run(struct store *store, sqlite3_stmt *st, struct err *err)
{
	int r = store_step(store, st, err);

	store_done(st);
	return r < 0 ? -1 : 0;
}

void store_done(sqlite3_stmt *st)
{
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
}

uint64_t store_changes(const struct store *store)
{
	return (uint64_t)sqlite3_changes(store->db);
}

struct view store_column_view(sqlite3_stmt *st, int column)
{
	const void *p = sqlite3_column_blob(st, column);

	return view_of(p ? p : "", (size_t)sqlite3_column_bytes(st, column));
}

uint64_t store_column_u64(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

void store_bind_view(sqlite3_stmt *st, int parameter, struct view v)
{
	(void)sqlite3_bind_text64(st, parameter, v.p, v.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void store_bind_blob(sqlite3_stmt *st, int parameter, const void *p, size_t len)
{
	(void)sqlite3_bind_blob64(st, parameter, p, len, SQLITE_TRANSIENT);
}

void store_bind_u64(sqlite3_stmt *st, int parameter, uint64_t v)
{
	(void)sqlite3_bind_int64(st, parameter, (sqlite3_int64)v);
}
