/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered lines, numbers and sizes as the model reads them. */
#include "keeper/lines.h"

#include "base/utf8.h"
#include "keeper/text.h"

#include <inttypes.h>
#include <stdio.h>

int add_count(struct buf *out, uint64_t n, const char *noun)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), r = 0;

	for (int i = 0; r == 0 && i < len; i++) {
		if (i && (len - i) % 3 == 0)
			r = buf_add_char(out, ',');
		if (r == 0)
			r = buf_add_char(out, digits[i]);
	}
	if (r == 0 && noun)
		r = buf_addf(out, " %s%s", noun, n == 1 ? "" : "s");
	return r;
}

int add_size(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t whole = bytes / 1024, rest = bytes % 1024;
	size_t unit = 0;

	if (bytes < 1024)
		return add_count(out, bytes, "byte");
	while (whole >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		rest = whole % 1024;
		whole /= 1024;
		unit++;
	}
	return buf_addf(out, "%" PRIu64 ".%" PRIu64 " %s", whole, rest * 10 / 1024, units[unit]);
}

int lines_add(struct buf *out, uint64_t number, struct view line, uint64_t total)
{
	struct view shown = utf8_first(line, LINES_MAX_CHARS);
	size_t mark = out->len;
	int r = buf_addf(out, "%" PRIu64 "\t", number);

	if (r == 0)
		r = utf8_add_valid(out, shown);
	if (r == 0 && shown.len < total) {
		r = buf_add_str(out, "… [");
		if (r == 0)
			r = add_count(out, total - shown.len, "byte");
		if (r == 0)
			r = buf_add_str(out, " more in this line]");
	}
	if (r == 0)
		r = buf_add_char(out, '\n');
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

static int add_range(struct buf *out, struct view body, uint64_t first, uint64_t last)
{
	struct view rest = view_from(body, text_line_start(body, first)), line;
	int r = 0;

	for (uint64_t n = first; r == 0 && n <= last && view_split(&rest, '\n', &line); n++)
		r = lines_add(out, n, line, line.len);
	return r;
}

int lines_add_around(struct buf *out, struct view body, size_t from, size_t to)
{
	uint64_t first = text_line_of(body, from);
	uint64_t last = first + text_line_of(view_from(body, from), to - from) - 1;
	int r;

	first = first > LINES_CONTEXT ? first - LINES_CONTEXT : 1;
	last += LINES_CONTEXT;
	if (last - first <= LINES_MAX_CHANGED)
		return add_range(out, body, first, last);
	r = add_range(out, body, first, first + LINES_MAX_CHANGED / 2 - 1);
	if (r == 0)
		r = buf_addf(out, "… [%" PRIu64 " lines not shown]\n",
			     last - first + 1 - LINES_MAX_CHANGED);
	return r < 0 ? r : add_range(out, body, last - LINES_MAX_CHANGED / 2 + 1, last);
}
