/* SPDX-License-Identifier: Apache-2.0 */
/* A command's output: beginning, end, counts. */
#include "tools/output.h"

#include "base/utf8.h"

enum { MAX_BYTES_PER_CHAR = 4 };

static size_t head_bytes(const struct output *o)
{
	return (size_t)o->max_chars * MAX_BYTES_PER_CHAR;
}

static size_t tail_bytes(const struct output *o)
{
	return (size_t)o->max_chars / 3 * MAX_BYTES_PER_CHAR;
}

void output_init(struct output *o, uint32_t max_chars)
{
	*o = (struct output){ .max_chars = max_chars };
	buf_init(&o->head, head_bytes(o));
	/* Twice, so that dropping old bytes moves memory only once in a while. */
	buf_init(&o->tail, 2 * tail_bytes(o));
}

void output_done(struct output *o)
{
	buf_done(&o->head);
	buf_done(&o->tail);
}

void output_reset(struct output *o)
{
	uint32_t max_chars = o->max_chars;

	output_done(o);
	output_init(o, max_chars);
}

static uint64_t count_lines(struct view v)
{
	uint64_t n = 0;

	while (v.len) {
		size_t at = view_find(v, '\n');

		if (at == v.len)
			break;
		n++;
		v = view_from(v, at + 1);
	}
	return n;
}

static int add_tail(struct output *o, struct view bytes)
{
	size_t keep = tail_bytes(o);

	if (bytes.len > keep)
		bytes = view_from(bytes, bytes.len - keep);
	if (bytes.len > o->tail.max - o->tail.len) {
		size_t old = keep - bytes.len;

		buf_consume(&o->tail, o->tail.len > old ? o->tail.len - old : 0);
	}
	return buf_add_view(&o->tail, bytes);
}

int output_add(struct output *o, struct view bytes)
{
	size_t room = o->head.max - o->head.len;
	struct view first = view_first(bytes, room);
	int r;

	o->bytes += bytes.len;
	o->lines += count_lines(bytes);
	r = buf_add_view(&o->head, first);
	if (r < 0)
		return r;
	return add_tail(o, view_from(bytes, first.len));
}

bool output_gets_long(const struct output *o, size_t more)
{
	return o->bytes + more > o->max_chars;
}

/* Of a sequence that carries a string, until BEL or ESC \. */
static size_t string_escape_length(struct view v)
{
	enum { MAX_SEQUENCE = 4096 };
	size_t i = 2;

	for (; i < v.len && i < MAX_SEQUENCE; i++) {
		if (v.p[i] == '\a')
			return i + 1;
		if (v.p[i] == '\033')
			return i + 1 < v.len && v.p[i + 1] == '\\' ? i + 2 : i;
	}
	return i < v.len ? 2 : v.len;
}

/*
 * Length of the terminal escape sequence (ECMA-48 5.4, 8.3.89, xterm's OSC) at the start of `v`,
 * which is an ESC. An unfinished one takes all that is left, within reason.
 */
static size_t escape_length(struct view v)
{
	size_t i = 2;

	if (v.len < 2)
		return v.len;
	if (v.p[1] == '[') {
		while (i < v.len && v.p[i] >= 0x20 && v.p[i] <= 0x3f)
			i++;
		return i < v.len ? i + 1 : v.len;
	}
	if (v.p[1] == ']' || v.p[1] == 'P' || v.p[1] == 'X' || v.p[1] == '^' || v.p[1] == '_')
		return string_escape_length(v);
	while (i - 1 < v.len && v.p[i - 1] >= 0x20 && v.p[i - 1] <= 0x2f)
		i++;
	return i < v.len ? i : v.len;
}

int output_clean(struct buf *text, struct view bytes)
{
	size_t mark = text->len;
	int r = 0;

	while (r == 0 && bytes.len) {
		size_t run = 0;

		while (run < bytes.len && bytes.p[run] != '\0' && bytes.p[run] != '\033')
			run++;
		r = utf8_add_valid(text, view_first(bytes, run));
		bytes = view_from(bytes, run);
		if (r < 0 || bytes.len == 0)
			break;
		if (bytes.p[0] == '\0') {
			r = buf_add_str(text, "\xe2\x90\x80");
			bytes = view_from(bytes, 1);
		} else {
			bytes = view_from(bytes, escape_length(bytes));
		}
	}
	if (r < 0)
		buf_truncate(text, mark);
	return r;
}

static int add_omission(const struct output *o, size_t shown_bytes, const char *whole,
			struct buf *text)
{
	uint64_t left_out = o->bytes > shown_bytes ? o->bytes - shown_bytes : 0;

	if (whole)
		return buf_addf(
			text,
			"\n[... about %llu of %llu bytes (%llu lines in all) left out here; the "
			"whole output: %s ...]\n",
			(unsigned long long)left_out, (unsigned long long)o->bytes,
			(unsigned long long)o->lines, whole);
	return buf_addf(
		text,
		"\n[... about %llu of %llu bytes (%llu lines in all) left out here and not kept "
		"...]\n",
		(unsigned long long)left_out, (unsigned long long)o->bytes,
		(unsigned long long)o->lines);
}

int output_render(const struct output *o, const char *whole, struct buf *text)
{
	auto_buf struct buf head = BUF_INIT(8 * head_bytes(o));
	auto_buf struct buf tail = BUF_INIT(8 * head_bytes(o));
	bool all_kept = o->bytes <= o->head.len + o->tail.len;
	struct view first, last;
	int r = output_clean(&head, buf_view(&o->head));

	/* With the tail in one piece, a character across the seam stays whole. */
	if (r == 0 && all_kept)
		r = output_clean(&head, buf_view(&o->tail));
	if (r == 0 && !all_kept)
		r = output_clean(&tail, buf_view(&o->tail));
	if (r < 0)
		return r;
	if (all_kept && utf8_count(buf_view(&head)) <= o->max_chars)
		return buf_add_view(text, buf_view(&head));

	first = utf8_first(buf_view(&head), o->max_chars / 2);
	last = utf8_last(buf_view(all_kept ? &head : &tail), o->max_chars / 4);
	r = buf_add_view(text, first);
	if (r == 0)
		r = add_omission(o, first.len + last.len, whole, text);
	return r == 0 ? buf_add_view(text, last) : r;
}
