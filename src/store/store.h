/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite: one connection, used on the loop thread only, WAL with synchronous=FULL: what an answer
 * promised survives a power cut. One file an aggregate beside this one (clients, tokens, sandboxes,
 * tickets), each with functions that speak plain C; no SQL outside this folder.
 */
#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"

#include <sqlite3.h>

struct store;

/*
 * Opens or makes the database (mode 0600), takes an exclusive lock on "<path>.lock" and brings the
 * schema up to date. ERR_BUSY if another server holds the lock; ERR_INVALID if the file was written
 * by a newer version.
 */
int store_open(const char *path, struct store **ret, struct err *err) MUST_CHECK;
void store_close(struct store *store);

/* Everything between begin and commit is one transaction; they do not nest. */
int store_begin(struct store *store, struct err *err) MUST_CHECK;
int store_commit(struct store *store, struct err *err) MUST_CHECK;
void store_rollback(struct store *store);

/*
 * For the aggregates in this folder: a prepared statement for `sql` (a string literal: cached by
 * address), reset and with no bindings. Finish with store_done().
 */
int store_statement(struct store *store, const char *sql, sqlite3_stmt **ret,
		    struct err *err) MUST_CHECK;
/* 1: a row is there; 0: done; -1 with err. */
int store_step(struct store *store, sqlite3_stmt *st, struct err *err) MUST_CHECK;
/* Runs a statement that gives no rows, and resets it. */
int store_run(struct store *store, sqlite3_stmt *st, struct err *err) MUST_CHECK;
void store_done(sqlite3_stmt *st);
/* Rows changed by the last statement. */
uint64_t store_changes(const struct store *store);

/* Column helpers: views are valid until the next step. */
struct view store_column_view(sqlite3_stmt *st, int column);
uint64_t store_column_u64(sqlite3_stmt *st, int column);
/* Binding copies. Parameters are numbered from 1. Failures (out of memory) surface in the step. */
void store_bind_view(sqlite3_stmt *st, int parameter, struct view v);
void store_bind_blob(sqlite3_stmt *st, int parameter, const void *p, size_t len);
void store_bind_u64(sqlite3_stmt *st, int parameter, uint64_t v);

#endif
