/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, encodings and UTF-8: the relations that must hold for any bytes. */
#include "base/address.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(struct view v)
{
	uint64_t n = 7, size_n, seconds;
	char text[32];
	bool flag;

	if (parse_u64(v, 0, UINT64_MAX, &n) == 0) {
		while (v.len > 1 && v.p[0] == '0')
			v = view_from(v, 1);
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
		assert(view_is(v, text));
		assert(parse_size(v, 0, UINT64_MAX, &size_n) == 0 && size_n == n);
		assert(parse_seconds(v, 0, UINT64_MAX, &seconds) == 0 && seconds == n);
	} else {
		assert(n == 7);
	}
	(void)!parse_bool(v, &flag);
}

static void check_hex(struct view v)
{
	auto_buf struct buf hex = BUF_INIT(1 << 20);
	char back[1 << 12];

	if (v.len > sizeof(back))
		return;
	assert(hex_encode(&hex, v.p, v.len) == 0);
	assert(hex_decode(buf_view(&hex), back, v.len) == 0);
	assert(v.len == 0 || memcmp(back, v.p, v.len) == 0);
}

static void check_utf8(struct view v)
{
	auto_buf struct buf out = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	size_t chars = utf8_count(v);

	assert(utf8_add_valid(&out, v) == 0);
	assert(utf8_valid(buf_view(&out)));
	assert(utf8_valid(v) == view_eq(v, buf_view(&out)));
	assert(utf8_add_valid(&again, buf_view(&out)) == 0);
	assert(view_eq(buf_view(&out), buf_view(&again)));
	for (size_t n = 0; n <= chars && n < 20; n++) {
		assert(utf8_count(utf8_first(v, n)) == n);
		assert(view_starts(v, utf8_first(v, n)));
		assert(view_ends(v, utf8_last(v, n)));
		if (utf8_valid(v))
			assert(utf8_count(utf8_last(v, n)) == n);
	}
}

static void check_quoting(struct view v)
{
	char out[64];

	assert(strlen(log_quote(v, out, sizeof(out))) < sizeof(out));
	for (const char *p = out; *p; p++)
		assert((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void check_address(struct view v)
{
	if (!address_is_valid(v))
		return;
	assert(v.len <= ADDRESS_MAX && view_find(v, '@') < v.len);
	for (size_t i = 0; i < v.len; i++)
		assert(v.p[i] > ' ' && v.p[i] < 0x7f && !strchr("<>\"(),;:\\[]%!|'`$&", v.p[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view v = view_of(data, size);

	if (size > 1 << 16)
		return 0;
	check_numbers(v);
	check_hex(v);
	check_utf8(v);
	check_quoting(v);
	check_address(v);
	return 0;
}
