/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, one step a version. Times are seconds since 1970. */
#include "store/schema.h"

#include "base/attr.h"

const char *const store_schema[] = {
	/* 1: who has which slot, who waits. A slot in neither of the first two tables is free and
	 * clean. */
	"CREATE TABLE sandboxes ("
	"  key TEXT PRIMARY KEY,"
	"  principal TEXT NOT NULL,"
	"  slot INTEGER NOT NULL UNIQUE,"
	"  hold INTEGER NOT NULL," /* enum pool_hold */
	"  created INTEGER NOT NULL,"
	"  last_used INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE dirty_slots ("
	"  slot INTEGER PRIMARY KEY,"
	"  since INTEGER NOT NULL"
	") STRICT;"
	"CREATE TABLE tickets ("
	"  number INTEGER PRIMARY KEY," /* ascending: the order of the queue */
	"  principal TEXT NOT NULL UNIQUE,"
	"  key TEXT NOT NULL,"
	"  has_mail INTEGER NOT NULL," /* the address itself is never stored */
	"  created INTEGER NOT NULL"
	") STRICT;",

	/* 2: anonymous sign-in. Secrets are SHA-256 hashes; codes and pages are never stored. */
	"CREATE TABLE clients ("
	"  id BLOB PRIMARY KEY," /* hash of the client id */
	"  name TEXT NOT NULL,"
	"  redirect_uris TEXT NOT NULL," /* separated by newlines */
	"  created INTEGER NOT NULL,"
	"  last_used INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE families ("
	"  id BLOB PRIMARY KEY,"
	"  client BLOB NOT NULL REFERENCES clients (id) ON DELETE CASCADE,"
	"  principal TEXT NOT NULL UNIQUE,"
	"  visitor BLOB NOT NULL,"
	"  offline INTEGER NOT NULL,"
	"  created INTEGER NOT NULL,"
	"  last_call INTEGER NOT NULL,"
	"  rotated INTEGER NOT NULL,"
	"  expires INTEGER NOT NULL,"
	"  generation INTEGER NOT NULL,"
	"  successor_used INTEGER NOT NULL,"
	"  lost_answers INTEGER NOT NULL,"
	"  current BLOB NOT NULL,"
	"  previous BLOB NOT NULL," /* empty: none */
	"  retired BLOB NOT NULL"   /* hashes, newest first */
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX families_client ON families (client);"
	"CREATE INDEX families_visitor ON families (visitor);"
	"CREATE INDEX families_expires ON families (expires);"
	"CREATE TABLE access_tokens ("
	"  number INTEGER PRIMARY KEY,"
	"  hash BLOB NOT NULL UNIQUE,"
	"  family BLOB NOT NULL REFERENCES families (id) ON DELETE CASCADE,"
	"  generation INTEGER NOT NULL,"
	"  expires INTEGER NOT NULL"
	") STRICT;"
	"CREATE INDEX access_tokens_family ON access_tokens (family);"
	"CREATE INDEX access_tokens_expires ON access_tokens (expires);"
	"CREATE TABLE bearers ("
	"  name TEXT PRIMARY KEY,"
	"  owner TEXT NOT NULL,"
	"  hash BLOB NOT NULL UNIQUE,"
	"  created INTEGER NOT NULL,"
	"  last_used INTEGER NOT NULL"
	") STRICT;",
};
const size_t store_schema_steps = ARRAY_SIZE(store_schema);
