/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and encodings from outside. */
#include "base/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_numbers(void **state)
{
	static const struct {
		const char *in;
		uint64_t min, max;
		int want;
		uint64_t value;
	} rows[] = {
		{ "0", 0, UINT64_MAX, 0, 0 },
		{ "007", 0, 10, 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
		{ "18446744073709551616", 0, UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999", 0, UINT64_MAX, -ERANGE, 0 },
		{ "000000000000000000001", 0, UINT64_MAX, -EINVAL, 0 }, /* 21 digits */
		{ "5", 6, 10, -ERANGE, 0 },
		{ "11", 6, 10, -ERANGE, 0 },
		{ "6", 6, 10, 0, 6 },
		{ "10", 6, 10, 0, 10 },
		{ "", 0, 10, -EINVAL, 0 },
		{ "+5", 0, 10, -EINVAL, 0 },
		{ "-5", 0, 10, -EINVAL, 0 },
		{ " 5", 0, 10, -EINVAL, 0 },
		{ "5 ", 0, 10, -EINVAL, 0 },
		{ "0x3", 0, 10, -EINVAL, 0 },
		{ "1e1", 0, 10, -EINVAL, 0 },
		{ "1.0", 0, 10, -EINVAL, 0 },
		{ "\xd9\xa3", 0, 10, -EINVAL, 0 }, /* ARABIC-INDIC DIGIT THREE */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 77;

		assert_int_equal(parse_u64(view_str(rows[i].in), rows[i].min, rows[i].max, &got),
				 rows[i].want);
		assert_true(got == (rows[i].want == 0 ? rows[i].value : 77));
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t got = 77;

		if (rows[i].max > UINT32_MAX)
			continue;
		assert_int_equal(parse_u32(view_str(rows[i].in), (uint32_t)rows[i].min,
					   (uint32_t)rows[i].max, &got),
				 rows[i].want);
		assert_true(got == (rows[i].want == 0 ? rows[i].value : 77));
	}
}

static void test_sizes_and_times(void **state)
{
	static const struct {
		const char *in;
		int size_want;
		uint64_t size;
		int time_want;
		uint64_t time;
	} rows[] = {
		{ "512", 0, 512, 0, 512 },
		{ "64K", 0, 64ULL << 10, -EINVAL, 0 },
		{ "2g", 0, 2ULL << 30, -EINVAL, 0 },
		{ "1T", 0, 1ULL << 40, -EINVAL, 0 },
		{ "3m", 0, 3ULL << 20, 0, 180 },
		{ "1h", -EINVAL, 0, 0, 3600 },
		{ "2d", -EINVAL, 0, 0, 172800 },
		{ "9s", -EINVAL, 0, 0, 9 },
		{ "1.5M", -EINVAL, 0, -EINVAL, 0 },
		{ "K", -EINVAL, 0, -EINVAL, 0 },
		{ "", -EINVAL, 0, -EINVAL, 0 },
		{ "1KK", -EINVAL, 0, -EINVAL, 0 },
		{ "1 K", -EINVAL, 0, -EINVAL, 0 },
		{ "1B", -EINVAL, 0, -EINVAL, 0 },
		{ "16777216T", -ERANGE, 0, -EINVAL, 0 },
		{ "18446744073709551615T", -ERANGE, 0, -EINVAL, 0 },
		{ "18446744073709551615d", -EINVAL, 0, -ERANGE, 0 },
		{ "2T", -ERANGE, 0, -EINVAL, 0 },   /* above the limit */
		{ "366d", -EINVAL, 0, -ERANGE, 0 }, /* above the limit */
	};
	uint64_t got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		got = 77;
		assert_int_equal(parse_size(view_str(rows[i].in), 0, 1ULL << 40, &got),
				 rows[i].size_want);
		assert_true(got == (rows[i].size_want == 0 ? rows[i].size : 77));
		got = 77;
		assert_int_equal(parse_seconds(view_str(rows[i].in), 0, 365 * 86400ULL, &got),
				 rows[i].time_want);
		assert_true(got == (rows[i].time_want == 0 ? rows[i].time : 77));
	}
	/* a NUL at the end is not taken for the end of the list of suffixes */
	assert_int_equal(parse_size(view_of("5\0", 2), 0, 100, &got), -EINVAL);
}

static void test_booleans(void **state)
{
	static const struct {
		const char *in;
		int want; /* -1: refused */
	} rows[] = { { "yes", 1 }, { "NO", 0 },  { "True", 1 },  { "false", 0 },
		     { "on", 1 },  { "off", 0 }, { "1", 1 },     { "0", 0 },
		     { "", -1 },   { "2", -1 },  { "yes ", -1 }, { "ja", -1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool before = i % 2, got = before;

		assert_int_equal(parse_bool(view_str(rows[i].in), &got),
				 rows[i].want < 0 ? -EINVAL : 0);
		assert_int_equal(got, rows[i].want < 0 ? before : rows[i].want);
	}
}

static void test_hex(void **state)
{
	auto_buf struct buf out = BUF_INIT(8);
	unsigned char bytes[3] = { 9, 9, 9 };

	(void)state;
	assert_int_equal(hex_encode(&out, "\x00\xff\x1a", 3), 0);
	assert_string_equal(buf_str(&out), "00ff1a");
	assert_int_equal(hex_encode(&out, "\x01\x02", 2), -ENOSPC);
	assert_string_equal(buf_str(&out), "00ff1a");
	assert_int_equal(hex_decode(VIEW("00fF1A"), bytes, 3), 0);
	assert_memory_equal(bytes, "\x00\xff\x1a", 3);
	assert_int_equal(hex_decode(VIEW("00ff1"), bytes, 3), -EINVAL);
	assert_int_equal(hex_decode(VIEW("00ff1a00"), bytes, 3), -EINVAL);
	assert_int_equal(hex_decode(VIEW("11221g"), bytes, 3), -EINVAL);
	assert_memory_equal(bytes, "\x00\xff\x1a", 3); /* untouched on failure */
	assert_int_equal(hex_digit('g'), -1);
	assert_int_equal(hex_digit('\0'), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_sizes_and_times),
		cmocka_unit_test(test_booleans),
		cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
