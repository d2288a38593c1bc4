/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between berthd and berth-spawner: what decodes, and what must not. */
#include "wire/spawner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct spawner_request start_request(void)
{
	struct spawner_request m;

	spawner_request_init(&m, SPAWNER_START, 7);
	m.slot = 3;
	m.flags = SPAWNER_FRESH_LAYER | SPAWNER_NETWORK;
	m.limits = (struct spawner_limits){ .memory_bytes = 1 << 30,
					    .shm_bytes = 1 << 20,
					    .tmp_bytes = 1 << 20,
					    .disk_bytes = 64 << 20,
					    .disk_operations = 2000,
					    .cpu_permille = 2000,
					    .pids = 256 };
	return m;
}

static void test_request_round_trip(void **state)
{
	struct spawner_request in = start_request(), out;

	(void)state;
	assert_int_equal(spawner_request_decode(&in, sizeof(in), &out), 0);
	assert_memory_equal(&in, &out, sizeof(in));

	spawner_request_init(&in, SPAWNER_USAGE, 9);
	in.tag = 44;
	assert_int_equal(spawner_request_decode(&in, sizeof(in), &out), 0);
	assert_int_equal(out.tag, 44);

	spawner_request_init(&in, SPAWNER_ROLL_BACK, 10);
	in.slot = 3;
	assert_int_equal(spawner_request_decode(&in, sizeof(in), &out), 0);
	assert_int_equal(out.slot, 3);
}

static void refuse(const struct spawner_request *m, size_t len)
{
	struct spawner_request out;

	memset(&out, 0xaa, sizeof(out));
	assert_int_equal(spawner_request_decode(m, len, &out), -EPROTO);
	for (size_t i = 0; i < sizeof(out); i++)
		assert_int_equal(((unsigned char *)&out)[i], 0xaa);
}

static void test_request_refused(void **state)
{
	struct spawner_request m;

	(void)state;
	m = start_request();
	refuse(&m, 0);
	refuse(&m, sizeof(m) - 1);
#define REFUSE_WITH(field, value)                                                                  \
	do {                                                                                       \
		m = start_request();                                                               \
		m.field = (value);                                                                 \
		refuse(&m, sizeof(m));                                                             \
	} while (0)
	REFUSE_WITH(version, SPAWNER_VERSION + 1);
	REFUSE_WITH(type, 0);
	REFUSE_WITH(type, SPAWNER_ROLL_BACK + 1);
	REFUSE_WITH(type, SPAWNER_STOP); /* with a start's limits */
	REFUSE_WITH(id, 0);
	REFUSE_WITH(tag, 1);
	REFUSE_WITH(slot, SPAWNER_MAX_SLOTS);
	REFUSE_WITH(flags, SPAWNER_ALL_FLAGS + 1);
	REFUSE_WITH(limits.memory_bytes, 4096);
	REFUSE_WITH(limits.memory_bytes, UINT64_MAX);
	REFUSE_WITH(limits.shm_bytes, 0);
	REFUSE_WITH(limits.tmp_bytes, UINT64_MAX);
	REFUSE_WITH(limits.cpu_permille, 0);
	REFUSE_WITH(limits.disk_bytes, (UINT64_C(1) << 50) + 1);
	REFUSE_WITH(limits.disk_operations, UINT64_C(1) << 32);
	REFUSE_WITH(limits.pids, 0);
	REFUSE_WITH(limits.pids, UINT32_MAX);
#undef REFUSE_WITH
}

static void test_events(void **state)
{
	struct spawner_event m, out;

	(void)state;
	spawner_event_init(&m, SPAWNER_STARTED, 5);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 1, &out), 0);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);
	m.counters = 1U << SPAWNER_PIDS_REFUSED;
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 1, &out), -EPROTO);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 2, &out), 0);
	m.counters = 1U << SPAWNER_NUM_COUNTERS;
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 2, &out), -EPROTO);
	m.counters = 0;
	m.error = EPERM;
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 1, &out), -EPROTO);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), 0);
	m.counters = 1U << SPAWNER_OOM_KILLS; /* nothing runs */
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 1, &out), -EPROTO);
	m.counters = 0;
	m.id = 0;
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);

	spawner_event_init(&m, SPAWNER_ROLLED_BACK, 6);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), 0);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 1, &out), -EPROTO);

	spawner_event_init(&m, SPAWNER_HELLO, 0);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), 0);
	m.facts.limiter = SPAWNER_NUM_LIMITERS;
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);
}

static void test_text(void **state)
{
	struct spawner_event m, out;
	char longest[2 * SPAWNER_MAX_TEXT];

	(void)state;
	spawner_event_init(&m, SPAWNER_ENDED, 5);
	spawner_event_text(&m, "a\033b\xff");
	assert_string_equal(m.text, "a?b?");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	spawner_event_text(&m, longest);
	assert_int_equal(strlen(m.text), SPAWNER_MAX_TEXT - 1);
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), 0);
	memset(m.text, 'x', sizeof(m.text));
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);
	m.text[0] = '\n';
	m.text[1] = '\0';
	assert_int_equal(spawner_event_decode(&m, sizeof(m), 0, &out), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_round_trip),
		cmocka_unit_test(test_request_refused),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
