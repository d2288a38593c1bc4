/* SPDX-License-Identifier: Apache-2.0 */
/* ripgrep's lines: "path NUL number : text", "path NUL number - text", "--". */
#include "tools/grep.h"

#include "base/parse.h"
#include "base/show.h"
#include "base/utf8.h"

const char *const grep_options[] = {
	"rg",           "--no-config",     "--no-messages", "--color=never",
	"--no-heading", "--with-filename", "--null",        NULL,
};

struct grep_line {
	struct view path, number, text;
	bool is_match;
};

/* False for a separator or anything that is not a line of a file. */
static bool parse_line(struct view *rest, struct grep_line *ret)
{
	size_t nul, digits = 0;
	struct view line;

	if (view_starts(*rest, VIEW("--\n"))) {
		*rest = view_from(*rest, 3);
		return false;
	}
	nul = view_find(*rest, '\0');
	ret->path = view_first(*rest, nul);
	*rest = view_from(*rest, nul + 1);
	if (!view_split(rest, '\n', &line))
		return false;
	while (digits < line.len && line.p[digits] >= '0' && line.p[digits] <= '9')
		digits++;
	if (!digits || digits == line.len)
		return false;
	ret->number = view_first(line, digits);
	ret->is_match = line.p[digits] == ':';
	ret->text = view_from(line, digits + 1);
	if (view_starts(ret->path, VIEW("./")))
		ret->path = view_from(ret->path, 2);
	return true;
}

static int show_line(struct buf *out, const struct grep_line *line, struct view last_path,
		     bool after_gap)
{
	size_t mark = out->len;
	int r = 0;

	if (!view_eq(line->path, last_path)) {
		r = show_add(out, line->path);
		if (r == 0)
			r = buf_add_char(out, '\n');
	} else if (after_gap) {
		r = buf_add_str(out, "--\n");
	}
	if (r == 0)
		r = buf_add_view(out, line->number);
	if (r == 0)
		r = buf_add_str(out, line->is_match ? ": " : "- ");
	if (r == 0)
		r = utf8_add_valid(out, line->text);
	if (r == 0)
		r = buf_add_char(out, '\n');
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

int grep_format(struct buf *out, struct view output, struct grep_counts *ret)
{
	struct view last_counted = VIEW_INIT(""), last_shown = VIEW_INIT("");
	bool after_gap = false, is_full = false;
	size_t start = out->len;

	*ret = (struct grep_counts){ 0 };
	while (output.len) {
		struct grep_line line;
		int r;

		if (!parse_line(&output, &line)) {
			after_gap = true;
			continue;
		}
		ret->matches += line.is_match;
		ret->files += !view_eq(line.path, last_counted);
		last_counted = line.path;
		is_full = is_full || ret->shown >= GREP_MAX_SHOWN ||
			  out->len - start > GREP_MAX_BYTES;
		if (is_full)
			continue;
		r = show_line(out, &line, last_shown, after_gap);
		if (r < 0 && r != -ENOSPC)
			return r;
		is_full = r < 0;
		ret->shown += r == 0 && line.is_match;
		last_shown = line.path;
		after_gap = false;
	}
	return 0;
}
