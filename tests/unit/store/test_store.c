/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, locking, migrating, transactions. */
#include "state_file.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void test_only_for_its_user(void **state)
{
	struct state_file *f = *state;
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_one_server_a_state(void **state)
{
	struct state_file *f = *state;
	struct store *second = NULL;
	struct err err;

	assert_int_equal(store_open(f->path, &second, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_non_null(strstr(err.msg, "another server"));
	assert_null(second);
	state_file_reopen(f); /* the lock went with the first */
}

static void run(struct state_file *f, const char *sql)
{
	sqlite3 *db;

	store_close(f->store);
	f->store = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_a_newer_state_is_left_alone(void **state)
{
	static const char *const versions[] = { "PRAGMA user_version = 9999",
						"PRAGMA user_version = -1" };
	struct state_file *f = *state;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		run(f, versions[i]);
		assert_int_equal(store_open(f->path, &f->store, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, "newer version"));
	}
}

static void test_not_a_database(void **state)
{
	struct state_file *f = *state;
	struct err err;
	FILE *file;

	store_close(f->store);
	f->store = NULL;
	file = fopen(f->path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("no database ", file);
	(void)fclose(file);
	assert_int_equal(store_open(f->path, &f->store, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(store_open("/nowhere/state.db", &f->store, &err), -1);
	assert_null(f->store);
}

static void test_a_link_is_not_followed(void **state)
{
	struct state_file *f = *state;
	struct store *store = NULL;
	char link[128];
	struct err err;

	(void)snprintf(link, sizeof(link), "%s/link", f->dir);
	assert_int_equal(symlink(f->path, link), 0);
	assert_int_equal(store_open(link, &store, &err), -1);
	assert_null(store);
	(void)unlink(link);
	(void)snprintf(link, sizeof(link), "%s/link.lock", f->dir);
	(void)unlink(link);
}

static uint64_t count_dirty(struct state_file *f)
{
	sqlite3_stmt *st;
	struct err err;
	uint64_t n;

	assert_int_equal(store_statement(f->store, "SELECT count(*) FROM dirty_slots", &st, &err),
			 0);
	assert_int_equal(store_step(f->store, st, &err), 1);
	n = store_column_u64(st, 0);
	store_done(st);
	return n;
}

static void add_dirty(struct state_file *f, uint64_t slot, int want)
{
	sqlite3_stmt *st;
	struct err err;

	assert_int_equal(store_statement(f->store,
					 "INSERT INTO dirty_slots (slot, since) VALUES (?1, 0)",
					 &st, &err),
			 0);
	store_bind_u64(st, 1, slot);
	assert_int_equal(store_run(f->store, st, &err), want);
	if (want < 0)
		assert_int_equal(err.code, ERR_SYSTEM);
	else
		assert_true(store_changes(f->store) == 1);
}

static void test_transactions(void **state)
{
	struct state_file *f = *state;
	struct err err;

	assert_int_equal(store_begin(f->store, &err), 0);
	add_dirty(f, 1, 0);
	assert_int_equal(store_begin(f->store, &err), -1); /* they do not nest */
	store_rollback(f->store);
	assert_true(count_dirty(f) == 0);
	assert_int_equal(store_commit(f->store, &err), -1); /* nothing to commit */

	assert_int_equal(store_begin(f->store, &err), 0);
	add_dirty(f, 1, 0);
	assert_int_equal(store_commit(f->store, &err), 0);
	add_dirty(f, 1, -1); /* there already; the statement can be used again */
	add_dirty(f, 2, 0);
	state_file_reopen(f);
	assert_true(count_dirty(f) == 2);
}

/* A server that is started on a state that exists, works when it is told to, and is killed. */
static void serve_and_be_killed(const char *path, int fd)
{
	static const char *const work[] = { "INSERT INTO dirty_slots (slot, since) VALUES (1, 0)",
					    "INSERT INTO dirty_slots (slot, since) VALUES (2, 0)" };
	struct store *store;
	sqlite3_stmt *st;
	struct err err;
	char word;

	for (size_t i = 0; i < ARRAY_SIZE(work); i++)
		if ((i == 0 && store_open(path, &store, &err) < 0) ||
		    store_statement(store, work[i], &st, &err) < 0 ||
		    store_run(store, st, &err) < 0 || write(fd, "x", 1) != 1 ||
		    read(fd, &word, 1) != 1)
			_exit(1);
	(void)raise(SIGKILL);
}

/* `sqlite3 berth.db ".backup copy.db"`, as the documentation says. */
static void look_from_outside(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM dirty_slots", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_who_looks_from_outside_leaves_the_log(void **state)
{
	struct state_file *f = *state;
	int pair[2], status;
	struct err err;
	char word;
	pid_t pid;

	store_close(f->store);
	f->store = NULL;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(pair[0]);
		serve_and_be_killed(f->path, pair[1]);
	}
	(void)close(pair[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read(pair[0], &word, 1), 1);
		look_from_outside(f->path);
		assert_int_equal(write(pair[0], "x", 1), 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	(void)close(pair[0]);
	assert_int_equal(store_open(f->path, &f->store, &err), 0);
	assert_true(count_dirty(f) == 2);
}

static void test_large_numbers_and_odd_bytes(void **state)
{
	static const char bytes[] = "\0\xff'\"--", sql[] = "SELECT ?1, ?2, ?3, ?4";
	struct state_file *f = *state;
	sqlite3_stmt *st;
	struct view v;
	struct err err;

	assert_int_equal(store_statement(f->store, sql, &st, &err), 0);
	store_bind_u64(st, 1, INT64_MAX);
	store_bind_blob(st, 2, bytes, sizeof(bytes));
	store_bind_view(st, 3, VIEW("'; DROP TABLE sandboxes; --"));
	assert_int_equal(store_step(f->store, st, &err), 1);
	assert_true(store_column_u64(st, 0) == INT64_MAX);
	v = store_column_view(st, 1);
	assert_true(view_eq(v, view_of(bytes, sizeof(bytes))));
	assert_true(view_is(store_column_view(st, 2), "'; DROP TABLE sandboxes; --"));
	assert_true(view_is(store_column_view(st, 3), "")); /* unbound: NULL */
	store_done(st);
	/* when it is asked for again: reset and without bindings */
	assert_int_equal(store_statement(f->store, sql, &st, &err), 0);
	assert_int_equal(store_step(f->store, st, &err), 1);
	assert_int_equal(store_column_u64(st, 0), 0);
	store_done(st);
	assert_int_equal(store_statement(f->store, "SELECT nonsense FROM nowhere", &st, &err), -1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, state_file_set_up, state_file_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_only_for_its_user),
		TEST(test_one_server_a_state),
		TEST(test_a_newer_state_is_left_alone),
		TEST(test_not_a_database),
		TEST(test_a_link_is_not_followed),
		TEST(test_transactions),
		TEST(test_large_numbers_and_odd_bytes),
		TEST(test_who_looks_from_outside_leaves_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
