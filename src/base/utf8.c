/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629). */
#include "base/utf8.h"

static bool is_cont(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/*
 * How many bytes at the start of `v` are a valid beginning of a character (at least 1), and whether
 * they are a whole one. The table of well-formed sequences is Unicode's 3-7.
 */
static size_t scan(struct view v, bool *whole, uint32_t *cp)
{
	const unsigned char *b = (const unsigned char *)v.p;
	unsigned char lo = 0x80, hi = 0xbf;
	size_t need;

	*whole = false;
	if (b[0] < 0x80) {
		*whole = true;
		*cp = b[0];
		return 1;
	}
	if (b[0] >= 0xc2 && b[0] <= 0xdf) {
		need = 2;
		*cp = b[0] & 0x1fU;
	} else if (b[0] >= 0xe0 && b[0] <= 0xef) {
		need = 3;
		*cp = b[0] & 0x0fU;
		lo = b[0] == 0xe0 ? 0xa0 : 0x80;
		hi = b[0] == 0xed ? 0x9f : 0xbf;
	} else if (b[0] >= 0xf0 && b[0] <= 0xf4) {
		need = 4;
		*cp = b[0] & 0x07U;
		lo = b[0] == 0xf0 ? 0x90 : 0x80;
		hi = b[0] == 0xf4 ? 0x8f : 0xbf;
	} else {
		return 1;
	}
	for (size_t i = 1; i < need; i++) {
		bool ok = i < v.len && (i == 1 ? b[i] >= lo && b[i] <= hi : is_cont(b[i]));

		if (!ok)
			return i;
		*cp = *cp << 6 | (b[i] & 0x3fU);
	}
	*whole = true;
	return need;
}

size_t utf8_char(struct view v, uint32_t *ret)
{
	uint32_t cp;
	bool whole;
	size_t n;

	if (v.len == 0)
		return 0;
	n = scan(v, &whole, &cp);
	if (!whole)
		return 0;
	if (ret)
		*ret = cp;
	return n;
}

/* Bytes of one character, or 1 for an invalid byte. */
static size_t step(struct view v)
{
	size_t n = utf8_char(v, NULL);

	return n ? n : 1;
}

bool utf8_valid(struct view v)
{
	while (v.len) {
		size_t n = utf8_char(v, NULL);

		if (n == 0)
			return false;
		v = view_from(v, n);
	}
	return true;
}

size_t utf8_count(struct view v)
{
	size_t chars = 0;

	for (; v.len; chars++)
		v = view_from(v, step(v));
	return chars;
}

struct view utf8_first(struct view v, size_t chars)
{
	struct view rest = v;

	for (; rest.len && chars; chars--)
		rest = view_from(rest, step(rest));
	return view_first(v, v.len - rest.len);
}

struct view utf8_last(struct view v, size_t chars)
{
	size_t at = v.len;

	for (; at && chars; chars--) {
		size_t back = 1;

		/* Up to three continuation bytes back to the lead byte, if that makes a whole
		 * character. */
		while (back < 4 && back < at && is_cont((unsigned char)v.p[at - back]))
			back++;
		if (utf8_char(view_of(v.p + at - back, back), NULL) != back)
			back = 1;
		at -= back;
	}
	return view_from(v, at);
}

int utf8_add_valid(struct buf *out, struct view v)
{
	size_t mark = out->len;

	while (v.len) {
		struct view run = v;
		size_t good = 0, bad = 0;
		uint32_t cp;
		bool whole;
		int r;

		while (run.len) {
			size_t n = scan(run, &whole, &cp);

			if (!whole) {
				bad = n;
				break;
			}
			good += n;
			run = view_from(run, n);
		}
		r = buf_add(out, v.p, good);
		if (r == 0 && bad)
			r = buf_add_str(out, "\xef\xbf\xbd");
		if (r < 0) {
			buf_truncate(out, mark);
			return r;
		}
		v = view_from(v, good + bad);
	}
	return 0;
}
