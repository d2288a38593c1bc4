/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and encodings from outside. */
#include "base/parse.h"

#include <assert.h>

int parse_u64(struct view s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	assert(min <= max);
	if (s.len == 0 || s.len > 20)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return -ERANGE;
	}
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_u32(struct view s, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t v;
	int r = parse_u64(s, min, max, &v);

	if (r < 0)
		return r;
	*ret = (uint32_t)v;
	return 0;
}

/* Digits, then one of `suffixes` (each multiplies by the entry of `factors` at its index). */
static int parse_scaled(struct view s, const char *suffixes, const uint64_t *factors, uint64_t *ret)
{
	uint64_t factor = 1, v;
	const char *hit;
	int r;

	if (s.len == 0)
		return -EINVAL;
	hit = s.p[s.len - 1] ? strchr(suffixes, s.p[s.len - 1]) : NULL;
	if (hit) {
		factor = factors[hit - suffixes];
		s.len--;
	}
	r = parse_u64(s, 0, UINT64_MAX, &v);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(v, factor, ret))
		return -ERANGE;
	return 0;
}

int parse_size(struct view s, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const uint64_t factors[] = { 1ULL << 10, 1ULL << 20, 1ULL << 30, 1ULL << 40,
					    1ULL << 10, 1ULL << 20, 1ULL << 30, 1ULL << 40 };
	uint64_t v;
	int r = parse_scaled(s, "KMGTkmgt", factors, &v);

	if (r < 0)
		return r;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_seconds(struct view s, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const uint64_t factors[] = { 1, 60, 3600, 86400 };
	uint64_t v;
	int r = parse_scaled(s, "smhd", factors, &v);

	if (r < 0)
		return r;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_bool(struct view s, bool *ret)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (view_is_nocase(s, yes[i])) {
			*ret = true;
			return 0;
		}
		if (view_is_nocase(s, no[i])) {
			*ret = false;
			return 0;
		}
	}
	return -EINVAL;
}

int hex_encode(struct buf *out, const void *in, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = in;
	char *p = buf_reserve(out, len * 2);

	if (!p)
		return len * 2 > out->max - out->len ? -ENOSPC : -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		*p++ = digits[b[i] >> 4];
		*p++ = digits[b[i] & 15];
	}
	buf_commit(out, len * 2);
	return 0;
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hex_decode(struct view in, void *out, size_t len)
{
	unsigned char *b = out;

	if (in.len != len * 2)
		return -EINVAL;
	for (size_t i = 0; i < in.len; i++)
		if (hex_digit(in.p[i]) < 0)
			return -EINVAL;
	for (size_t i = 0; i < len; i++)
		b[i] = (unsigned char)((unsigned)hex_digit(in.p[2 * i]) << 4 |
				       (unsigned)hex_digit(in.p[2 * i + 1]));
	return 0;
}
