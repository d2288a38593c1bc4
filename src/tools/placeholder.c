/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: a comment line (or a bare one) that holds an ellipsis and words such as "rest of"
 * or "unchanged". Code that merely uses an ellipsis (Python, C, JavaScript spread) has no such
 * words.
 */
#include "tools/placeholder.h"

#include <ctype.h>

enum { MAX_LINE = 200 }; /* a longer line is content */

static const struct view words[] = {
	VIEW_INIT("unchanged"),      VIEW_INIT("rest of"),          VIEW_INIT("the rest"),
	VIEW_INIT("existing code"),  VIEW_INIT("existing content"), VIEW_INIT("remaining"),
	VIEW_INIT("omitted"),        VIEW_INIT("same as before"),   VIEW_INIT("previous code"),
	VIEW_INIT("your code here"), VIEW_INIT("code here"),        VIEW_INIT("as before"),
	VIEW_INIT("keep existing"),  VIEW_INIT("no changes"),
};

static bool holds(struct view line, struct view word)
{
	for (size_t i = 0; i + word.len <= line.len; i++)
		if (view_is_nocase(view_first(view_from(line, i), word.len), word.p))
			return true;
	return false;
}

static bool is_ellipsis_line(struct view line)
{
	static const char marks[] = "/#*-;%<!\"'({[";

	line = view_trim(line);
	while (line.len && (strchr(marks, line.p[0]) || line.p[0] == ' '))
		line = view_from(line, 1);
	return view_starts(line, VIEW("...")) || view_starts(line, VIEW("…"));
}

uint64_t placeholder_find(struct view text, struct view *ret_line)
{
	struct view line;

	for (uint64_t n = 1; view_split(&text, '\n', &line); n++) {
		if (line.len > MAX_LINE || !is_ellipsis_line(line))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			if (holds(line, words[i])) {
				*ret_line = view_trim(line);
				return n;
			}
		}
	}
	return 0;
}
