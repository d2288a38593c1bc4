/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text out: always valid UTF-8, always one line. */
#include "json/json.h"

#include "base/utf8.h"

#include <stdio.h>

/*
 * How a character must be written inside a string, or NULL if as it is. U+0085, U+2028 and U+2029
 * are legal as they are, but readers of event streams exist that break lines there.
 */
static const char *escape(uint32_t cp, char scratch[8])
{
	switch (cp) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	case 0:
		return "\xe2\x90\x80";
	default:
		break;
	}
	if (cp >= 0x20 && cp != 0x7f && cp != 0x85 && cp != 0x2028 && cp != 0x2029)
		return NULL;
	(void)snprintf(scratch, 8, "\\u%04x", (unsigned)cp & 0xffffU);
	return scratch;
}

/* Bytes at the start of `v` that need no change: most text is one such run. */
static size_t plain_run(struct view v)
{
	char scratch[8];
	size_t at = 0;

	while (at < v.len) {
		char c = v.p[at];
		uint32_t cp;
		size_t n;

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') {
			at++;
			continue;
		}
		n = utf8_char(view_from(v, at), &cp);
		if (n == 0 || escape(cp, scratch))
			break;
		at += n;
	}
	return at;
}

/* The one character or invalid sequence at the start of `v`; *ret_used is its length. */
static int add_special(struct buf *out, struct view v, size_t *ret_used)
{
	char scratch[8];
	uint32_t cp;

	*ret_used = utf8_char(v, &cp);
	if (*ret_used)
		return buf_add_str(out, escape(cp, scratch));

	/* Up to the next byte that starts a good character, one replacement each maximal part. */
	*ret_used = 1;
	while (*ret_used < v.len && *ret_used < 4 && ((unsigned char)v.p[*ret_used] & 0xc0) == 0x80)
		(*ret_used)++;
	return utf8_add_valid(out, view_first(v, *ret_used));
}

int json_add_string(struct buf *out, struct view v)
{
	size_t mark = out->len;
	int r = buf_add_char(out, '"');

	while (r == 0 && v.len) {
		size_t n = plain_run(v);

		r = buf_add(out, v.p, n);
		v = view_from(v, n);
		if (r == 0 && v.len) {
			r = add_special(out, v, &n);
			v = view_from(v, n);
		}
	}
	if (r == 0)
		r = buf_add_char(out, '"');
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

json_t *json_text(struct view v)
{
	struct view rest = v, part;
	auto_buf struct buf good = BUF_INIT(SIZE_MAX / 2);

	while (view_split(&rest, '\0', &part)) {
		if (utf8_add_valid(&good, part) < 0)
			return NULL;
		/* view_split() consumed a NUL exactly if the part did not reach the end. */
		if (part.p + part.len < v.p + v.len && buf_add_str(&good, "\xe2\x90\x80") < 0)
			return NULL;
	}
	return json_stringn_nocheck(buf_view(&good).p, good.len);
}

struct sink {
	struct buf *out;
	int r;
};

/* jansson calls it with whole tokens or runs of a string, never with part of a character. */
static int print_some(const char *p, size_t len, void *userdata)
{
	static const struct {
		struct view raw;
		const char *escaped;
	} line_ends[] = {
		{ VIEW_INIT("\xc2\x85"), "\\u0085" },
		{ VIEW_INIT("\xe2\x80\xa8"), "\\u2028" },
		{ VIEW_INIT("\xe2\x80\xa9"), "\\u2029" },
	};
	struct sink *sink = userdata;
	struct view v = view_of(p, len);
	size_t at = 0;

	while (sink->r == 0 && at < v.len) {
		struct view here = view_from(v, at);
		const char *instead = NULL;

		for (size_t i = 0; here.p[0] & 0x80 && i < ARRAY_SIZE(line_ends); i++)
			if (view_starts(here, line_ends[i].raw))
				instead = line_ends[i].escaped;
		if (!instead) {
			at++;
			continue;
		}
		sink->r = buf_add(sink->out, v.p, at);
		if (sink->r == 0)
			sink->r = buf_add_str(sink->out, instead);
		v = view_from(here, here.p[0] == '\xc2' ? 2 : 3);
		at = 0;
	}
	if (sink->r == 0)
		sink->r = buf_add_view(sink->out, v);
	return sink->r;
}

int json_print(struct buf *out, const json_t *value, struct err *err)
{
	struct sink sink = { .out = out };
	size_t mark = out->len;

	if (json_dump_callback(value, print_some, &sink, JSON_COMPACT | JSON_ENCODE_ANY) == 0)
		return 0;
	buf_truncate(out, mark);
	if (sink.r == -ENOSPC)
		return err_set(err, ERR_FULL, "JSON text longer than %zu bytes", out->max);
	return err_set(err, ERR_SYSTEM, "cannot write JSON text");
}
