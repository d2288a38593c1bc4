/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings and line ends: from a file's bytes to what the model sees, and back. */
#include "keeper/text.h"

#include "base/utf8.h"

/* Windows-1252 from 0x80 to 0x9f; the five it leaves open stand for themselves. */
static const uint16_t upper_controls[32] = {
	0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
	0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178,
};

enum {
	REPLACEMENT = 0xfffd,
	UNIT_MAX = 4,
	ENDING_REACH = 64 * 1024, /* how far the line ends around a span are looked for */
};

/* Generalised UTF-8: surrogates are written as if they were characters. */
static size_t put_utf8(char out[UNIT_MAX], uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t byte_at(struct view raw, size_t at)
{
	return (unsigned char)raw.p[at];
}

static uint32_t unit16(enum text_encoding encoding, struct view raw, size_t at)
{
	uint32_t first = byte_at(raw, at), second = byte_at(raw, at + 1);

	return encoding == TEXT_UTF16LE ? first | second << 8 : first << 8 | second;
}

static size_t decode_unit16(enum text_encoding encoding, struct view raw, size_t at,
			    char out[UNIT_MAX], size_t *ret_len)
{
	uint32_t c, next = 0;

	if (raw.len - at < 2) { /* half a unit at the end of the file */
		*ret_len = put_utf8(out, REPLACEMENT);
		return 1;
	}
	c = unit16(encoding, raw, at);
	if (raw.len - at >= 4)
		next = unit16(encoding, raw, at + 2);
	if (c == '\r' && next == '\n') {
		*ret_len = put_utf8(out, '\n');
		return 4;
	}
	if (c >= 0xd800 && c < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
		*ret_len = put_utf8(out, 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00));
		return 4;
	}
	*ret_len = put_utf8(out, c);
	return 2;
}

/* One step of raw bytes and the body bytes they stand for; returns the raw length. */
static size_t decode_unit(enum text_encoding encoding, struct view raw, size_t at,
			  char out[UNIT_MAX], size_t *ret_len)
{
	uint32_t c;

	if (encoding == TEXT_UTF16LE || encoding == TEXT_UTF16BE)
		return decode_unit16(encoding, raw, at, out, ret_len);
	c = byte_at(raw, at);
	if (c == '\r' && at + 1 < raw.len && raw.p[at + 1] == '\n') {
		*ret_len = put_utf8(out, '\n');
		return 2;
	}
	if (encoding == TEXT_LATIN1) {
		*ret_len = put_utf8(out, c >= 0x80 && c < 0xa0 ? upper_controls[c - 0x80] : c);
	} else {
		out[0] = (char)c;
		*ret_len = 1;
	}
	return 1;
}

int text_decode(struct buf *out, enum text_encoding encoding, struct view raw)
{
	size_t mark = out->len;

	for (size_t at = 0; at < raw.len;) {
		char unit[UNIT_MAX];
		size_t len;
		int r;

		at += decode_unit(encoding, raw, at, unit, &len);
		r = buf_add(out, unit, len);
		if (r < 0) {
			buf_truncate(out, mark);
			return r;
		}
	}
	return 0;
}

bool text_is_plain(enum text_encoding encoding, struct view raw)
{
	return encoding == TEXT_UTF8 && !memmem(raw.p, raw.len, "\r\n", 2);
}

size_t text_walk_to(struct text_walk *w, size_t body)
{
	while (w->body_at < body && w->raw_at < w->raw.len) {
		char unit[UNIT_MAX];
		size_t len;

		w->raw_at += decode_unit(w->encoding, w->raw, w->raw_at, unit, &len);
		w->body_at += len;
	}
	return w->raw_at;
}

int text_fold(struct buf *out, struct view text)
{
	return text_decode(out, TEXT_UTF8, text);
}

/* ---- line ends of a replacement ---- */

/* Finds the line end at or after *at (before `end`); false if there is none. */
static bool next_ending(enum text_encoding encoding, struct view raw, size_t *at, size_t end,
			enum text_ending *ret)
{
	while (*at < end) {
		char unit[UNIT_MAX];
		size_t len, step = decode_unit(encoding, raw, *at, unit, &len);
		size_t one = encoding == TEXT_UTF16LE || encoding == TEXT_UTF16BE ? 2 : 1;

		*at += step;
		if (len == 1 && unit[0] == '\n') {
			*ret = step == 2 * one ? TEXT_CRLF : TEXT_LF;
			return true;
		}
	}
	return false;
}

/* What line ends look like around raw offset `at`: the next one, else the last one before it. */
static enum text_ending ending_near(enum text_encoding encoding, struct view raw, size_t at)
{
	size_t end = raw.len - at > ENDING_REACH ? at + ENDING_REACH : raw.len, from = at;
	enum text_ending found = TEXT_LF;

	if (next_ending(encoding, raw, &from, end, &found))
		return found;
	/* An even distance, so that UTF-16 stays in step; else from the first byte. */
	if (at > ENDING_REACH)
		from = at - ENDING_REACH;
	else
		from = encoding == TEXT_UTF16LE || encoding == TEXT_UTF16BE ? at % 2 : 0;
	while (next_ending(encoding, raw, &from, at, &found))
		;
	return found;
}

static int put_unit16(struct buf *out, enum text_encoding encoding, uint32_t unit)
{
	char le[2] = { (char)(unit & 0xff), (char)(unit >> 8) };
	char be[2] = { (char)(unit >> 8), (char)(unit & 0xff) };

	return buf_add(out, encoding == TEXT_UTF16LE ? le : be, 2);
}

static int put_latin1(struct buf *out, uint32_t c)
{
	if (c < 0x80 || (c >= 0xa0 && c < 0x100))
		return buf_add_char(out, (char)c);
	for (size_t i = 0; i < ARRAY_SIZE(upper_controls); i++)
		if (upper_controls[i] == c)
			return buf_add_char(out, (char)(0x80 + i));
	return -EILSEQ;
}

static int put_char(struct buf *out, enum text_encoding encoding, uint32_t c)
{
	char utf8[UNIT_MAX];
	int r;

	switch (encoding) {
	case TEXT_UTF16LE:
	case TEXT_UTF16BE:
		if (c < 0x10000)
			return put_unit16(out, encoding, c);
		r = put_unit16(out, encoding, 0xd800 + ((c - 0x10000) >> 10));
		return r < 0 ? r : put_unit16(out, encoding, 0xdc00 + ((c - 0x10000) & 0x3ff));
	case TEXT_LATIN1:
		return put_latin1(out, c);
	case TEXT_UTF8:
	case TEXT_BINARY:
		break;
	}
	return buf_add(out, utf8, put_utf8(utf8, c));
}

int text_encode(struct buf *out, enum text_encoding encoding, const struct text_span *span,
		struct view replacement, uint32_t *ret_bad)
{
	bool has_lines = memchr(replacement.p, '\n', replacement.len);
	enum text_ending ending = has_lines ? ending_near(encoding, span->raw, span->to) : TEXT_LF;
	enum text_ending found;
	size_t from = span->from;
	size_t mark = out->len;
	int r = 0;

	while (r == 0 && replacement.len) {
		uint32_t c = REPLACEMENT;
		size_t len = utf8_char(replacement, &c);

		if (len == 1 && c == '\n') {
			if (next_ending(encoding, span->raw, &from, span->to, &found))
				ending = found;
			r = ending == TEXT_CRLF ? put_char(out, encoding, '\r') : 0;
		}
		if (r == 0 && !len)
			r = buf_add_char(out, *replacement.p);
		else if (r == 0)
			r = put_char(out, encoding, c);
		if (r == -EILSEQ)
			*ret_bad = c;
		replacement = view_from(replacement, len ? len : 1);
	}
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

/* ---- lines ---- */

uint64_t text_line_of(struct view body, size_t at)
{
	struct view before = view_first(body, at);
	uint64_t line = 1;

	for (size_t i = view_find(before, '\n'); i < before.len; i = view_find(before, '\n')) {
		before = view_from(before, i + 1);
		line++;
	}
	return line;
}

size_t text_line_start(struct view body, uint64_t line)
{
	size_t at = 0;

	while (line > 1) {
		size_t n = view_find(view_from(body, at), '\n');

		if (at + n >= body.len)
			return body.len;
		at += n + 1;
		line--;
	}
	return at;
}
