/* SPDX-License-Identifier: Apache-2.0 */
/* Range and entity tags. */
#include "http/range.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_ranges(void **state)
{
	static const struct {
		const char *header;
		uint64_t size;
		enum range_answer answer;
		uint64_t first, last;
	} rows[] = {
		{ "bytes=0-0", 10, RANGE_PART, 0, 0 },
		{ "bytes=2-5", 10, RANGE_PART, 2, 5 },
		{ "Bytes=2-", 10, RANGE_PART, 2, 9 },
		{ "bytes=2-100", 10, RANGE_PART, 2, 9 },
		{ "bytes=-3", 10, RANGE_PART, 7, 9 },
		{ "bytes=-30", 10, RANGE_PART, 0, 9 },
		{ "bytes=9-9", 10, RANGE_PART, 9, 9 },
		{ "bytes=0-99999999999999999999", 10, RANGE_PART, 0, 9 },
		{ "bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "bytes=99999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "bytes=5-2", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=0-1,3-4", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=-", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=a-b", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=0x1-2", 10, RANGE_WHOLE, 0, 0 },
		{ "items=0-1", 10, RANGE_WHOLE, 0, 0 },
		{ "", 10, RANGE_WHOLE, 0, 0 },
		{ "bytes=0-", 0, RANGE_WHOLE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t first = 0, last = 0;

		assert_int_equal(range_parse(view_str(rows[i].header), rows[i].size, &first, &last),
				 rows[i].answer);
		assert_int_equal(first, rows[i].first);
		assert_int_equal(last, rows[i].last);
	}
}

static void test_etags(void **state)
{
	struct view tag = VIEW("\"abc\"");

	(void)state;
	assert_true(etag_list_has(VIEW("\"abc\""), tag));
	assert_true(etag_list_has(VIEW("*"), tag));
	assert_true(etag_list_has(VIEW("\"x\" , W/\"abc\""), tag));
	assert_false(etag_list_has(VIEW("\"ab\", abc"), tag));
	assert_false(etag_list_has(VIEW(""), tag));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_etags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
