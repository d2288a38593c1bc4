/* SPDX-License-Identifier: Apache-2.0 */
/* Slots and tickets in the store. Each check reads the state as the next server would. */
#include "state_file.h"
#include "store/tickets.h"

struct dump {
	struct buf text;
};

static int dump_sandbox(void *userdata, const struct store_sandbox *s)
{
	struct dump *d = userdata;

	return buf_addf(&d->text, "%s/%s@%u:%u,%llu,%llu ", s->principal, s->key, s->slot, s->hold,
			(unsigned long long)s->created, (unsigned long long)s->last_used);
}

static int dump_dirty(void *userdata, uint32_t slot, uint64_t since)
{
	struct dump *d = userdata;

	return buf_addf(&d->text, "dirty %u since %llu ", slot, (unsigned long long)since);
}

static int dump_ticket(void *userdata, const struct store_ticket *t)
{
	struct dump *d = userdata;

	return buf_addf(&d->text, "#%llu %s/%s%s,%llu ", (unsigned long long)t->number,
			t->principal, t->key, t->has_mail ? "+mail" : "",
			(unsigned long long)t->created);
}

static void holds(struct state_file *f, const char *want)
{
	struct dump d = { BUF_INIT(4096) };
	struct err err;

	state_file_reopen(f);
	assert_int_equal(store_sandbox_each(f->store, dump_sandbox, &d, &err), 0);
	assert_int_equal(store_dirty_each(f->store, dump_dirty, &d, &err), 0);
	assert_int_equal(store_ticket_each(f->store, dump_ticket, &d, &err), 0);
	assert_string_equal(buf_str(&d.text), want);
	buf_done(&d.text);
}

static int save(struct state_file *f, const char *key, uint32_t slot, uint32_t hold,
		uint64_t ticket, struct err *err)
{
	struct store_sandbox s = {
		.slot = slot, .hold = hold, .created = 100 + hold, .last_used = 200 + hold
	};

	assert_int_equal(view_copy(view_str(key), s.key, sizeof(s.key)), 0);
	assert_int_equal(view_copy(view_first(view_str(key), 1), s.principal, sizeof(s.principal)),
			 0);
	return store_sandbox_save(f->store, &s, ticket, err);
}

static void wait_for(struct state_file *f, uint64_t number, const char *key, bool has_mail)
{
	struct store_ticket t = { .number = number, .has_mail = has_mail, .created = number + 10 };
	struct err err;

	assert_int_equal(view_copy(view_str(key), t.key, sizeof(t.key)), 0);
	assert_int_equal(view_copy(view_first(view_str(key), 1), t.principal, sizeof(t.principal)),
			 0);
	if (store_ticket_save(f->store, &t, &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_a_slot_goes_round(void **state)
{
	struct state_file *f = *state;
	struct err err;

	holds(f, "");
	assert_int_equal(save(f, "a1", 3, 0, 0, &err), 0);
	assert_int_equal(save(f, "b1", 1, 0, 0, &err), 0);
	holds(f, "b/b1@1:0,100,200 a/a1@3:0,100,200 ");
	assert_int_equal(save(f, "a1", 3, 2, 0, &err), 0); /* another state; `created` stays */
	holds(f, "b/b1@1:0,100,200 a/a1@3:2,100,202 ");
	assert_int_equal(store_sandbox_release(f->store, "a1", 3, 300, &err), 0);
	holds(f, "b/b1@1:0,100,200 dirty 3 since 300 ");
	assert_int_equal(store_slot_clean(f->store, 3, &err), 0);
	holds(f, "b/b1@1:0,100,200 ");
	assert_int_equal(save(f, "c1", 3, 0, 0, &err), 0);
	assert_int_equal(store_sandbox_touch(f->store, "c1", 999, &err), 0);
	assert_int_equal(store_sandbox_touch(f->store, "unknown", 999, &err), 0);
	holds(f, "b/b1@1:0,100,200 c/c1@3:0,100,999 ");
}

static void test_what_the_database_refuses(void **state)
{
	struct state_file *f = *state;
	struct err err;

	assert_int_equal(save(f, "a1", 3, 0, 0, &err), 0);
	wait_for(f, 7, "b1", false);
	assert_int_equal(save(f, "b1", 3, 1, 7, &err), -1); /* somebody's */
	assert_int_equal(err.code, ERR_SYSTEM);
	holds(f, "a/a1@3:0,100,200 #7 b/b1,17 "); /* all or nothing: the ticket is still there */
	assert_int_equal(store_sandbox_release(f->store, "a1", 3, 300, &err), 0);
	assert_int_equal(save(f, "b1", 3, 1, 7, &err), -1); /* dirty */
	assert_int_equal(err.code, ERR_BUG);
	holds(f, "dirty 3 since 300 #7 b/b1,17 ");
	assert_int_equal(store_slot_clean(f->store, 3, &err), 0);
	assert_int_equal(save(f, "b1", 3, 1, 7, &err), 0);
	holds(f, "b/b1@3:1,101,201 ");
}

static void test_the_queue_keeps_its_order(void **state)
{
	struct state_file *f = *state;
	struct err err;

	wait_for(f, 1099511627777, "b1", false);
	wait_for(f, 1099511627776, "a1", true);
	wait_for(f, 1099511627778, "c1", false);
	wait_for(f, 1099511627777, "b2", true); /* rekeyed */
	holds(f, "#1099511627776 a/a1+mail,1099511627786 #1099511627777 b/b2+mail,1099511627787 "
		 "#1099511627778 c/c1,1099511627788 ");
	assert_int_equal(store_ticket_remove(f->store, 1099511627777, &err), 0);
	assert_int_equal(store_ticket_remove(f->store, 5, &err), 0);
	holds(f, "#1099511627776 a/a1+mail,1099511627786 #1099511627778 c/c1,1099511627788 ");
}

static int stop_at_once(void *userdata, const struct store_ticket *t)
{
	(void)t;
	++*(int *)userdata;
	return 42;
}

static void test_iteration_stops(void **state)
{
	struct state_file *f = *state;
	struct err err;
	int seen = 0;

	wait_for(f, 1, "a1", false);
	wait_for(f, 2, "b1", false);
	assert_int_equal(store_ticket_each(f->store, stop_at_once, &seen, &err), 42);
	assert_int_equal(seen, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, state_file_set_up, state_file_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_a_slot_goes_round),
		TEST(test_what_the_database_refuses),
		TEST(test_the_queue_keeps_its_order),
		TEST(test_iteration_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
