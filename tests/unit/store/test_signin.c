/* SPDX-License-Identifier: Apache-2.0 */
/* Clients, token families and static tokens in the store. */
#include "store/bearers.h"
#include "store/families.h"

#include "state_file.h"

static struct store_client make_client(struct store *store, uint8_t id, uint64_t created,
				       uint64_t last_used)
{
	static char uris[] = "https://a/cb\nhttp://127.0.0.1/cb";
	struct store_client c = {
		.name = "An app", .redirect_uris = uris, .created = created, .last_used = last_used
	};
	struct err err;

	memset(c.id, id, sizeof(c.id));
	assert_int_equal(store_client_add(store, &c, &err), 0);
	return c;
}

static struct store_family make_family(struct store *store, const struct store_client *client,
				       uint8_t id)
{
	struct store_family f = {
		.created = 100, .rotated = 100, .expires = 1000, .generation = 1
	};
	struct err err;

	memset(f.id, id, sizeof(f.id));
	memset(f.visitor, id & 1, sizeof(f.visitor));
	memset(f.current, id, sizeof(f.current));
	memcpy(f.client, client->id, sizeof(f.client));
	(void)snprintf(f.principal, sizeof(f.principal), "guest-%u", id);
	assert_int_equal(store_family_add(store, &f, &err), 0);
	return f;
}

static bool has_client(struct store *store, const struct store_client *client)
{
	auto_store_client struct store_client got = { .redirect_uris = NULL };
	struct err err;
	int r = store_client_get(store, client->id, &got, &err);

	assert_true(r >= 0);
	if (r == 1) {
		assert_string_equal(got.name, client->name);
		assert_string_equal(got.redirect_uris, client->redirect_uris);
	}
	return r == 1;
}

static void test_clients_expire(void **state)
{
	struct state_file *f = *state;
	struct store_client never = make_client(f->store, 1, 100, 0);
	struct store_client old = make_client(f->store, 2, 100, 150);
	struct store_client fresh = make_client(f->store, 3, 100, 500);
	struct store_client live = make_client(f->store, 4, 100, 0);
	struct store_client again = make_client(f->store, 5, 100, 0);
	struct store_client used_again = make_client(f->store, 6, 100, 150);
	struct err err;

	(void)make_family(f->store, &live, 1);
	assert_int_equal(store_client_renew(f->store, again.id, 101, &err), 0);
	assert_int_equal(store_client_renew(f->store, used_again.id, 200, &err), 0);
	assert_int_equal(store_client_expire(f->store, 101, 200, &err), 0);
	assert_false(has_client(f->store, &never));
	assert_false(has_client(f->store, &old));
	assert_true(has_client(f->store, &fresh));
	assert_true(has_client(f->store, &again));
	assert_true(has_client(f->store, &used_again));
	assert_true(has_client(f->store, &live));
}

static void test_clients_evict(void **state)
{
	struct state_file *f = *state;
	struct store_client used = make_client(f->store, 1, 100, 900);
	struct store_client idle = make_client(f->store, 2, 200, 0);
	struct store_client live = make_client(f->store, 3, 10, 0);
	struct store_client young = make_client(f->store, 4, 1000, 0);
	uint64_t n = 0;
	struct err err;

	(void)make_family(f->store, &live, 1);
	assert_int_equal(store_client_evict(f->store, 1000, &err), 1);
	assert_false(has_client(f->store, &idle));
	assert_int_equal(store_client_touch(f->store, used.id, 950, &err), 0);
	assert_int_equal(store_client_evict(f->store, 1000, &err), 1);
	assert_false(has_client(f->store, &used));
	assert_int_equal(store_client_evict(f->store, 1000, &err), 0);
	assert_true(has_client(f->store, &live));
	assert_true(has_client(f->store, &young));
	assert_int_equal(store_client_count(f->store, &n, &err), 0);
	assert_int_equal(n, 2);
}

static int note_client(const struct store_client *client, void *userdata)
{
	char *ids = userdata;

	ids[strlen(ids)] = (char)('0' + client->id[0]);
	return 0;
}

static void test_clients_are_listed_and_found(void **state)
{
	struct state_file *f = *state;
	char ids[8] = "";
	uint8_t id[STORE_HASH_BYTES];
	sqlite3_stmt *st;
	struct err err;

	(void)make_client(f->store, 1, 100, 0);
	(void)make_client(f->store, 2, 100, 900);
	(void)make_client(f->store, 4, 200, 0);
	assert_int_equal(store_client_each(f->store, 2, note_client, ids, &err), 0);
	assert_string_equal(ids, "24");
	assert_int_equal(store_client_find(f->store, VIEW("\2\2"), id, &err), 1);
	assert_int_equal(id[STORE_HASH_BYTES - 1], 2);
	assert_int_equal(store_client_find(f->store, VIEW("\2\1"), id, &err), 0);
	assert_int_equal(store_client_find(f->store, VIEW("\3"), id, &err), 0);
	assert_int_equal(store_client_find(f->store, VIEW("\5"), id, &err), 0);
	/* However long the list: what is sorted stays in memory, where a confined server has room.
	 */
	assert_int_equal(store_statement(f->store, "PRAGMA temp_store", &st, &err), 0);
	assert_int_equal(store_step(f->store, st, &err), 1);
	assert_int_equal(store_column_u64(st, 0), 2);
	store_done(st);
}

static void test_family_round_trip(void **state)
{
	struct state_file *f = *state;
	struct store_client client = make_client(f->store, 1, 100, 0);
	struct store_family family = make_family(f->store, &client, 7), got;
	struct err err;

	family.has_previous = true;
	memset(family.previous, 0x55, sizeof(family.previous));
	family.n_retired = 2;
	memset(family.retired, 0x66, 2 * STORE_HASH_BYTES);
	family.generation = 4;
	family.lost_answers = 2;
	family.rotated = 300;
	family.expires = 2000;
	assert_int_equal(store_family_save(f->store, &family, &err), 0);
	assert_int_equal(store_family_get(f->store, family.id, &got, &err), 1);
	assert_memory_equal(&got, &family, sizeof(got));

	assert_int_equal(store_family_used(f->store, family.id, 400, false, &err), 0);
	assert_int_equal(store_family_get(f->store, family.id, &got, &err), 1);
	assert_false(got.successor_used);
	assert_int_equal(got.lost_answers, 2);
	assert_int_equal(store_family_used(f->store, family.id, 444, true, &err), 0);
	assert_int_equal(store_family_by_principal(f->store, VIEW("guest-7"), &got, &err), 1);
	assert_true(got.successor_used);
	assert_int_equal(got.last_call, 444);
	assert_int_equal(got.lost_answers, 0);
	assert_int_equal(store_family_by_principal(f->store, VIEW("guest-"), &got, &err), 0);
}

static int count_family(const struct store_family *family, void *userdata)
{
	uint32_t *n = userdata;

	(void)family;
	(*n)++;
	return 0;
}

static uint32_t count(struct store *store, struct store_family_query query)
{
	uint32_t n = 0;
	struct err err;

	query.limit = 100;
	assert_int_equal(store_family_each(store, &query, count_family, &n, &err), 0);
	return n;
}

static void test_family_queries(void **state)
{
	struct state_file *f = *state;
	struct store_client a = make_client(f->store, 1, 100, 0);
	struct store_client b = make_client(f->store, 2, 100, 0);
	struct store_family f1 = make_family(f->store, &a, 1);
	struct err err;

	(void)make_family(f->store, &a, 2);
	(void)make_family(f->store, &b, 3);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_ALL }),
			 3);
	assert_int_equal(
		count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_OF_CLIENT,
							     .key = view_of(a.id, sizeof(a.id)) }),
		2);
	assert_int_equal(
		count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_OF_VISITOR,
							     .key = view_of(f1.visitor,
									    sizeof(f1.visitor)) }),
		2);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_ENDED,
								      .before = 999 }),
			 0);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_ENDED,
								      .before = 1000 }),
			 3);
	assert_int_equal(store_family_used(f->store, f1.id, 5000, false, &err), 0);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_UNUSED,
								      .before = 101 }),
			 2);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_ASLEEP,
								      .before = 101 }),
			 2);
	/* A client takes its sign-ins along. */
	assert_int_equal(store_client_remove(f->store, a.id, &err), 0);
	assert_int_equal(count(f->store, (struct store_family_query){ .filter = STORE_FAMILY_ALL }),
			 1);
}

static int get_access(struct store *store, uint8_t hash, struct store_access *ret)
{
	uint8_t h[STORE_HASH_BYTES];
	struct err err;
	int r;

	memset(h, hash, sizeof(h));
	r = store_access_get(store, h, ret, &err);
	assert_true(r >= 0);
	return r;
}

static void add_access(struct store *store, const struct store_family *family, uint8_t hash)
{
	uint8_t h[STORE_HASH_BYTES];
	struct err err;

	memset(h, hash, sizeof(h));
	assert_int_equal(store_access_add(store, family, h, 500, &err), 0);
}

static void test_access_tokens(void **state)
{
	struct state_file *f = *state;
	struct store_client client = make_client(f->store, 1, 100, 0);
	struct store_family family = make_family(f->store, &client, 1);
	struct store_family other = make_family(f->store, &client, 2);
	struct store_access got;
	struct err err;

	add_access(f->store, &other, 0x90);
	for (uint8_t i = 1; i <= STORE_ACCESS_MAX + 2; i++)
		add_access(f->store, &family, i);
	assert_int_equal(get_access(f->store, 1, &got), 0);
	assert_int_equal(get_access(f->store, 2, &got), 0);
	assert_int_equal(get_access(f->store, 3, &got), 1);
	assert_string_equal(got.principal, "guest-1");
	assert_memory_equal(got.family, family.id, sizeof(got.family));
	assert_true(got.is_newest);
	assert_false(got.successor_used);
	/* Another family's tokens are not counted in. */
	assert_int_equal(get_access(f->store, 0x90, &got), 1);
	assert_string_equal(got.principal, "guest-2");

	family.generation = 2;
	assert_int_equal(store_family_save(f->store, &family, &err), 0);
	assert_int_equal(get_access(f->store, 6, &got), 1);
	assert_false(got.is_newest);
	add_access(f->store, &family, 7);
	assert_int_equal(store_access_remove_generation(f->store, &family, &err), 0);
	assert_int_equal(get_access(f->store, 7, &got), 0);
	assert_int_equal(get_access(f->store, 6, &got), 1);
	assert_int_equal(store_family_remove(f->store, family.id, &err), 0);
	assert_int_equal(get_access(f->store, 6, &got), 0);
	assert_int_equal(store_access_expire(f->store, 499, &err), 0);
	assert_int_equal(get_access(f->store, 0x90, &got), 1);
	assert_int_equal(store_access_expire(f->store, 500, &err), 0);
	assert_int_equal(get_access(f->store, 0x90, &got), 0);
}

static int count_bearer(const struct store_bearer *bearer, void *userdata)
{
	uint32_t *n = userdata;

	assert_string_equal(bearer->owner, "owner");
	(*n)++;
	return 0;
}

static void test_bearers(void **state)
{
	struct state_file *f = *state;
	struct store_bearer b = { .name = "laptop", .owner = "owner", .created = 5 }, got;
	uint32_t n = 0;
	struct err err;

	memset(b.hash, 1, sizeof(b.hash));
	assert_int_equal(store_bearer_add(f->store, &b, &err), 0);
	b.hash[0] = 2;
	assert_int_equal(store_bearer_add(f->store, &b, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(store_bearer_get(f->store, b.hash, &got, &err), 0);
	b.hash[0] = 1;
	assert_int_equal(store_bearer_touch(f->store, b.hash, 77, &err), 0);
	assert_int_equal(store_bearer_get(f->store, b.hash, &got, &err), 1);
	assert_string_equal(got.name, "laptop");
	assert_int_equal(got.last_used, 77);
	assert_int_equal(store_bearer_each(f->store, count_bearer, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(store_bearer_remove(f->store, VIEW("laptop"), &err), 0);
	assert_int_equal(store_bearer_remove(f->store, VIEW("laptop"), &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* What a write promised is there after the process died without closing. */
static void test_survives(void **state)
{
	struct state_file *f = *state;
	struct store_client client = make_client(f->store, 1, 100, 0);
	struct store_family family = make_family(f->store, &client, 1), got;
	struct store *second;
	struct err err;

	assert_int_equal(store_open(f->path, &second, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	store_close(f->store);
	assert_int_equal(store_open(f->path, &f->store, &err), 0);
	assert_true(has_client(f->store, &client));
	assert_int_equal(store_family_get(f->store, family.id, &got, &err), 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, state_file_set_up, state_file_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clients_expire),
		TEST(test_clients_evict),
		TEST(test_clients_are_listed_and_found),
		TEST(test_family_round_trip),
		TEST(test_family_queries),
		TEST(test_access_tokens),
		TEST(test_bearers),
		TEST(test_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
