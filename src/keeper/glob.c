/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for paths: braces are written out once, then matching never backtracks twice. */
#include "keeper/glob.h"

struct glob {
	char *alternatives[GLOB_MAX_ALTERNATIVES];
	size_t n;
};

enum { MAX_EXPANDED = 4096 * 2 }; /* bytes of one alternative */

void glob_free(struct glob *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		free(g->alternatives[i]);
	free(g);
}

/* Where a set that begins at v.p[at] == '[' ends (its ']'), or v.len if it is not one. */
static size_t set_end(struct view v, size_t at)
{
	size_t i = at + 1;

	if (i < v.len && (v.p[i] == '!' || v.p[i] == '^'))
		i++;
	if (i < v.len && v.p[i] == ']')
		i++;
	while (i < v.len && v.p[i] != ']')
		i++;
	return i;
}

/* The first balanced brace group with a comma: its braces; false if there is none. */
static bool find_braces(struct view v, size_t *ret_open, size_t *ret_close)
{
	for (size_t open = 0; open < v.len; open++) {
		size_t depth = 0, commas = 0;

		if (v.p[open] == '\\')
			open++;
		else if (v.p[open] == '[' && set_end(v, open) < v.len)
			open = set_end(v, open);
		else if (v.p[open] == '{') {
			for (size_t i = open; i < v.len; i++) {
				depth += v.p[i] == '{';
				commas += depth == 1 && v.p[i] == ',';
				if (v.p[i] == '}' && --depth == 0) {
					if (!commas)
						break;
					*ret_open = open;
					*ret_close = i;
					return true;
				}
			}
		}
	}
	return false;
}

static int expand(struct glob *g, struct view pattern);

static int expand_one(struct glob *g, struct view pattern, size_t open, size_t close,
		      struct view choice)
{
	auto_buf struct buf b = BUF_INIT(MAX_EXPANDED);
	int r = buf_add(&b, pattern.p, open);

	if (r == 0)
		r = buf_add_view(&b, choice);
	if (r == 0)
		r = buf_add_view(&b, view_from(pattern, close + 1));
	if (r == 0)
		r = expand(g, buf_view(&b));
	return r == -ENOSPC ? -EINVAL : r;
}

/* Recursive in the number of brace groups, each of which adds at least two alternatives. */
static int expand(struct glob *g, struct view pattern)
{
	size_t open, close, from, depth = 0;

	if (!find_braces(pattern, &open, &close)) {
		if (g->n == GLOB_MAX_ALTERNATIVES)
			return -EINVAL;
		g->alternatives[g->n] = view_dup(pattern);
		return g->alternatives[g->n] ? (g->n++, 0) : -ENOMEM;
	}
	from = open + 1;
	for (size_t i = open + 1; i <= close; i++) {
		int r;

		depth += pattern.p[i] == '{';
		if ((pattern.p[i] == ',' && !depth) || i == close) {
			r = expand_one(g, pattern, open, close,
				       view_of(pattern.p + from, i - from));
			if (r < 0)
				return r;
			from = i + 1;
		}
		depth -= pattern.p[i] == '}' && i < close;
	}
	return 0;
}

static size_t count_parts(struct view v)
{
	size_t n = 1;

	for (size_t i = 0; i < v.len; i++)
		n += v.p[i] == '/';
	return n;
}

int glob_new(struct view pattern, struct glob **ret)
{
	struct glob *g;
	int r;

	if (count_parts(pattern) > GLOB_MAX_PARTS)
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	r = expand(g, pattern);
	if (r < 0) {
		glob_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

/* Whether the set at p.p[*at] == '[' holds `c`; *at moves behind it. */
static bool match_set(struct view p, size_t *at, unsigned char c)
{
	size_t end = set_end(p, *at), i = *at + 1;
	bool negate = p.p[i] == '!' || p.p[i] == '^', found = false;

	for (i += negate; i < end; i++) {
		unsigned char low = (unsigned char)p.p[i], high = low;

		if (i + 2 < end && p.p[i + 1] == '-') {
			high = (unsigned char)p.p[i + 2];
			i += 2;
		}
		found |= low <= c && c <= high;
	}
	*at = end + 1;
	return found != negate;
}

/* One pattern element that stands for one byte; *at moves behind it when it matches. */
static bool match_byte(struct view p, size_t *at, unsigned char c)
{
	if (p.p[*at] == '[' && set_end(p, *at) < p.len)
		return match_set(p, at, c);
	if (p.p[*at] == '\\' && *at + 1 < p.len)
		++*at;
	else if (p.p[*at] == '?') {
		++*at;
		return true;
	}
	return (unsigned char)p.p[(*at)++] == c;
}

/* One component. Only the last star needs to be tried again: an earlier one gains nothing. */
static bool match_part(struct view p, struct view s)
{
	size_t pi = 0, si = 0, star = SIZE_MAX, resume = 0;

	while (si < s.len) {
		size_t next = pi;

		if (pi < p.len && p.p[pi] == '*') {
			star = ++pi;
			resume = si;
		} else if (pi < p.len && match_byte(p, &next, (unsigned char)s.p[si])) {
			pi = next;
			si++;
		} else if (star != SIZE_MAX) {
			pi = star;
			si = ++resume;
		} else {
			return false;
		}
	}
	while (pi < p.len && p.p[pi] == '*')
		pi++;
	return pi == p.len;
}

static size_t split_parts(struct view v, struct view parts[GLOB_MAX_PARTS])
{
	struct view part;
	size_t n = 0;

	while (n < GLOB_MAX_PARTS && view_split(&v, '/', &part))
		if (part.len)
			parts[n++] = part;
	return n;
}

/* The same as match_part(), with components for bytes and ** for the star. */
static bool match_parts(const struct view *p, size_t np, const struct view *s, size_t ns)
{
	size_t pi = 0, si = 0, star = SIZE_MAX, resume = 0;

	while (si < ns) {
		if (pi < np && view_is(p[pi], "**")) {
			star = ++pi;
			resume = si;
		} else if (pi < np && match_part(p[pi], s[si])) {
			pi++;
			si++;
		} else if (star != SIZE_MAX) {
			pi = star;
			si = ++resume;
		} else {
			return false;
		}
	}
	while (pi < np && view_is(p[pi], "**"))
		pi++;
	return pi == np;
}

bool glob_match(const struct glob *g, struct view path)
{
	struct view s[GLOB_MAX_PARTS], p[GLOB_MAX_PARTS];
	size_t ns = split_parts(path, s);

	for (size_t i = 0; i < g->n; i++) {
		struct view pattern = view_str(g->alternatives[i]);
		size_t np = split_parts(pattern, p);

		if (view_find(pattern, '/') == pattern.len && np == 1 && ns) {
			if (match_part(p[0], s[ns - 1]))
				return true;
		} else if (match_parts(p, np, s, ns)) {
			return true;
		}
	}
	return false;
}
