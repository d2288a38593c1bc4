/* SPDX-License-Identifier: Apache-2.0 */
/* Sets keys in the text of a configuration file. */
#include "conf/edit.h"

/* Where a line goes, as offsets into the text; text.len + 1 stands for "nowhere". */
struct spot {
	size_t set_at, set_end; /* the lines that set the key */
	size_t example_end;     /* behind the line that sets it in a comment */
	size_t section_end;     /* behind the last line of the section that is not blank */
};

static bool sets_key(struct view line, const char *key)
{
	size_t equals = view_find(line, '=');

	return equals < line.len && view_is(view_trim(view_first(line, equals)), key);
}

static bool is_section(struct view line, const char *section)
{
	size_t len = strlen(section);

	return line.len == len + 2 && line.p[0] == '[' && line.p[len + 1] == ']' &&
	       view_eq(view_of(line.p + 1, len), view_str(section));
}

static struct spot find(struct view text, const char *section, const char *key)
{
	size_t none = text.len + 1;
	struct spot spot = { none, none, none, none };
	struct view rest = text, line;
	bool inside = false, in_value = false;

	while (view_split(&rest, '\n', &line)) {
		size_t at = (size_t)(line.p - text.p);
		size_t end = at + line.len < text.len ? at + line.len + 1 : text.len;
		struct view bare = view_trim(line);

		if (bare.len && bare.p[0] == '[')
			inside = is_section(bare, section);
		if (!inside || bare.len == 0)
			continue;
		spot.section_end = end;
		if (in_value && line.p != bare.p) {
			spot.set_end = end; /* an indented line goes on with the value */
			continue;
		}
		in_value = false;
		if (bare.p[0] == '#') {
			if (sets_key(view_from(bare, 1), key))
				spot.example_end = end;
		} else if (sets_key(bare, key)) {
			spot.set_at = at;
			spot.set_end = end;
			in_value = true;
		}
	}
	return spot;
}

/* A comment would begin in the middle of it, or a new line. */
static bool fits_line(const char *value)
{
	return !strpbrk(value, "\r\n") && !strstr(value, " ;") && !strstr(value, "\t;");
}

static int add_line(struct buf *out, const char *key, const char *value)
{
	int r = 0;

	if (out->len && out->p[out->len - 1] != '\n')
		r = buf_add_char(out, '\n');
	return r < 0 ? r : buf_addf(out, "%s = %s\n", key, value);
}

int conf_edit(struct view text, const char *section, const char *key, const char *value,
	      struct buf *out)
{
	struct spot spot = find(text, section, key);
	size_t before, after;
	int r;

	if (!fits_line(value))
		return -EINVAL;
	if (spot.set_at <= text.len) {
		before = spot.set_at;
		after = spot.set_end;
	} else {
		before = spot.example_end <= text.len ? spot.example_end : spot.section_end;
		if (before > text.len)
			before = text.len;
		after = before;
	}
	r = buf_add_view(out, view_first(text, before));
	if (r == 0 && spot.section_end > text.len)
		r = buf_addf(out, "%s[%s]\n", out->len ? "\n" : "", section);
	if (r == 0)
		r = add_line(out, key, value);
	return r < 0 ? r : buf_add_view(out, view_from(text, after));
}
