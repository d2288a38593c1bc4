/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact search, and the diagnosis of a near miss. Approximation is used for the diagnosis only: an
 * edit never hits a place that is not what was asked for. Its cost is linear in the file: lines are
 * compared by a hash of what is left of them without blanks, case and look-alikes.
 */
#include "keeper/match.h"

#include "base/utf8.h"
#include "keeper/lines.h"

#include <inttypes.h>

enum {
	MAX_PATTERN_LINES = 2000, /* of old_text that the diagnosis looks at */
	MAX_SHOWN = 3,            /* places, and differing lines of each */
	MAX_BODY_LINES = 500 * 1000,
	EXCERPT_CHARS = 60,
};

int64_t match_all(struct view body, struct view old, size_t **ret)
{
	size_t *found = NULL, room = 0, n = 0, at = 0;

	for (;;) {
		const char *hit = memmem(body.p + at, body.len - at, old.p, old.len);

		if (!hit)
			break;
		if (n == room) {
			size_t more = room ? room * 2 : 16;
			size_t *grown =
				n < MATCH_MAX ? reallocarray(found, more, sizeof(*found)) : NULL;

			if (!grown) {
				free(found);
				return n < MATCH_MAX ? -ENOMEM : -E2BIG;
			}
			found = grown;
			room = more;
		}
		found[n++] = (size_t)(hit - body.p);
		at = (size_t)(hit - body.p) + old.len;
	}
	*ret = found;
	return (int64_t)n;
}

/* ---- characters ---- */

struct chr {
	uint32_t c;
	size_t len;
};

static struct chr chr_at(struct view v)
{
	struct chr r = { .c = 0xfffd, .len = 1 };
	size_t n = utf8_char(v, &r.c);

	if (n)
		r.len = n;
	return r;
}

static const char *invisible_name(uint32_t c)
{
	switch (c) {
	case 0x00a0:
		return "a no-break space (U+00A0)";
	case 0x00ad:
		return "a soft hyphen (U+00AD)";
	case 0x200b:
		return "a zero-width space (U+200B)";
	case 0x200c:
		return "a zero-width non-joiner (U+200C)";
	case 0x200d:
		return "a zero-width joiner (U+200D)";
	case 0x200e:
	case 0x200f:
	case 0x202a:
	case 0x202b:
	case 0x202c:
	case 0x202d:
	case 0x202e:
		return "an invisible direction mark";
	case 0x202f:
		return "a narrow no-break space (U+202F)";
	case 0x2060:
		return "a word joiner (U+2060)";
	case 0x3000:
		return "an ideographic space (U+3000)";
	case 0xfeff:
		return "a byte order mark (U+FEFF)";
	default:
		return NULL;
	}
}

static bool is_blank(uint32_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || invisible_name(c);
}

/* What a careless eye takes for the same. */
static uint32_t look_alike(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 'a';
	if (c == 0x2018 || c == 0x2019 || c == 0x201a || c == '`')
		return '\'';
	if (c >= 0x201c && c <= 0x201e)
		return '"';
	if (c >= 0x2010 && c <= 0x2015)
		return '-';
	return c;
}

/* The hash of a line without what a careless eye does not see; 0 for a blank line. */
static uint64_t squash(struct view line)
{
	uint64_t h = 0;

	while (line.len) {
		struct chr x = chr_at(line);

		if (!is_blank(x.c))
			h = ((h ? h : 14695981039346656037ULL) ^ look_alike(x.c)) *
			    1099511628211ULL;
		line = view_from(line, x.len);
	}
	return h;
}

/* ---- what differs between two lines ---- */

static int add_excerpt(struct buf *out, struct view v)
{
	struct view shown = utf8_first(v, EXCERPT_CHARS);
	int r = buf_add_char(out, '"');

	if (r == 0)
		r = utf8_add_valid(out, shown);
	return r < 0 ? r : buf_add_str(out, shown.len < v.len ? "…\"" : "\"");
}

static int add_what(struct buf *out, struct view v)
{
	struct chr x = chr_at(v);
	const char *name = v.len ? invisible_name(x.c) : NULL;
	size_t n = 0;

	if (!v.len)
		return buf_add_str(out, "nothing more");
	if (name)
		return buf_add_str(out, name);
	if (x.c == '\r')
		return buf_add_str(out, "a carriage return");
	if (x.c == ' ' || x.c == '\t') {
		while (n < v.len && v.p[n] == v.p[0])
			n++;
		return add_count(out, n, x.c == ' ' ? "space" : "tab");
	}
	return add_excerpt(out, v);
}

/* How much of the file's line is before old_text where that may begin in the middle of a line. */
static size_t indentation(struct view file, struct view old)
{
	size_t n = 0;

	if (old.len && (old.p[0] == ' ' || old.p[0] == '\t'))
		return 0;
	while (n < file.len && (file.p[n] == ' ' || file.p[n] == '\t'))
		n++;
	return n;
}

/* "line 12, column 1: the file has 1 tab, old_text has 4 spaces"; `skip` bytes of the file's line
 * are before old_text. */
static int add_difference(struct buf *out, uint64_t line, struct view file, struct view old,
			  size_t skip)
{
	size_t same = 0, column = utf8_count(view_first(file, skip)) + 1;
	int r;

	file = view_from(file, skip);
	while (same < file.len && same < old.len && file.p[same] == old.p[same])
		same++;
	while (same && same < file.len && ((unsigned char)file.p[same] & 0xc0) == 0x80)
		same--; /* to the start of the character */
	r = buf_addf(out, "  line %" PRIu64 ", column %zu: the file has ", line,
		     utf8_count(view_first(file, same)) + column);
	if (r == 0)
		r = add_what(out, view_from(file, same));
	if (r == 0)
		r = buf_add_str(out, ", old_text has ");
	if (r == 0)
		r = add_what(out, view_from(old, same));
	return r < 0 ? r : buf_add_char(out, '\n');
}

/* ---- looking for the place ---- */

struct lines {
	struct view *line;
	uint64_t *hash;
	size_t n;
};

/* Where old_text is looked for: lines [from, to) of it are not blank at the ends. */
struct search {
	struct lines body, old;
	size_t from, to;
	uint64_t first_line; /* number of the body's first line */
};

static void search_done(struct search *s)
{
	free(s->body.line);
	free(s->body.hash);
	free(s->old.line);
	free(s->old.hash);
}
#define auto_search CLEANUP(search_done)

static int lines_split(struct lines *l, struct view text, size_t max)
{
	size_t n = 1;
	struct view rest = text, line;

	for (const char *p = text.p;
	     n < max && (p = memchr(p, '\n', text.len - (size_t)(p - text.p))); p++)
		n++;
	l->line = calloc(n, sizeof(*l->line));
	l->hash = calloc(n, sizeof(*l->hash));
	if (!l->line || !l->hash)
		return -ENOMEM;
	while (l->n < n && view_split(&rest, '\n', &line)) {
		l->line[l->n] = line;
		l->hash[l->n++] = squash(line);
	}
	return 0;
}

/* Blank lines at either end say nothing about where the text belongs. */
static void trim_blank(struct search *s)
{
	s->from = 0;
	s->to = s->old.n;
	while (s->from < s->to && !s->old.hash[s->from])
		s->from++;
	while (s->to > s->from && !s->old.hash[s->to - 1])
		s->to--;
}

static bool same_at(const struct search *s, size_t at)
{
	size_t n = s->to - s->from;

	return n <= s->body.n - at &&
	       memcmp(s->body.hash + at, s->old.hash + s->from, n * sizeof(*s->body.hash)) == 0;
}

/* All that differs where the text nearly is. */
static int add_differences(struct buf *out, const struct search *s, size_t at)
{
	uint64_t first = s->first_line + at;
	size_t shown = 0;
	int r = buf_addf(out, "Lines %" PRIu64 "-%" PRIu64 " are nearly the same:\n", first,
			 first + (s->to - s->from) - 1);

	for (size_t i = s->from; r == 0 && i < s->to && shown < MAX_SHOWN; i++) {
		struct view file = s->body.line[at + i - s->from], old = s->old.line[i];
		/* The ends of the pattern may well be parts of lines. */
		bool is_part = (i == s->from && view_ends(file, old)) ||
			       (i + 1 == s->to && view_starts(file, old));

		if (is_part || view_eq(file, old))
			continue;
		r = add_difference(out, first + i - s->from, file, old, 0);
		shown++;
	}
	if (r == 0 && !shown)
		r = buf_add_str(out, "  only blank lines or line ends at the edges differ\n");
	return r;
}

/* The pairs of neighbouring bytes of a line, as a set of 16-bit hashes. */
struct pairs {
	uint8_t set[8192];
	uint32_t n;
};

static uint32_t pair_at(struct view v, size_t i)
{
	return ((unsigned char)v.p[i] * 251U + (unsigned char)v.p[i + 1]) & 0xffff;
}

static void pairs_of(struct pairs *p, struct view v)
{
	memset(p, 0, sizeof(*p));
	v = view_first(v, LINES_MAX_CHARS);
	for (size_t i = 0; i + 1 < v.len; i++) {
		uint32_t h = pair_at(v, i);

		p->set[h >> 3] |= (uint8_t)(1U << (h & 7));
		p->n++;
	}
}

/* How many of their pairs two lines share, in permille. */
static uint32_t likeness(const struct pairs *p, struct view v)
{
	uint32_t common = 0, n = p->n;

	v = view_first(v, LINES_MAX_CHARS);
	for (size_t i = 0; i + 1 < v.len; i++) {
		uint32_t h = pair_at(v, i);

		common += p->set[h >> 3] >> (h & 7) & 1U;
		n++;
	}
	return n ? common * 2000U / n : 0;
}

static size_t longest_line(const struct search *s)
{
	size_t best = s->from;

	for (size_t i = s->from; i < s->to; i++)
		if (view_trim(s->old.line[i]).len > view_trim(s->old.line[best]).len)
			best = i;
	return best;
}

/* Line `key` of old_text is line `at` of the body: so it is one next to it that differs. */
static int add_neighbour(struct buf *out, const struct search *s, size_t at, size_t key)
{
	for (size_t i = s->from; i < s->to; i++) {
		size_t there = at + i - key;

		if (i == key || at + i < key || there >= s->body.n)
			continue;
		if (!view_eq(s->body.line[there], s->old.line[i]))
			return add_difference(out, s->first_line + there, s->body.line[there],
					      s->old.line[i], 0);
	}
	return 0;
}

/* The line of the body that is most like line `key` of old_text; body.n if none is. */
static size_t nearest_line(const struct search *s, size_t key)
{
	enum { ENOUGH = 500 };
	uint32_t best_score = ENOUGH - 1;
	size_t best = s->body.n;
	struct pairs pairs;

	pairs_of(&pairs, view_trim(s->old.line[key]));
	for (size_t i = 0; i < s->body.n; i++) {
		uint32_t score = s->body.hash[i] == s->old.hash[key]
					 ? 1000
					 : likeness(&pairs, view_trim(s->body.line[i]));

		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static int add_nearest(struct buf *out, const struct search *s)
{
	size_t key = longest_line(s), best = nearest_line(s, key);
	struct view file, old = s->old.line[key];
	int r;

	if (best == s->body.n)
		return buf_add_str(out, "Nothing in the file is like it.\n");
	file = s->body.line[best];
	r = buf_addf(out, "The nearest line is %" PRIu64 ":\n", s->first_line + best);
	for (size_t i = best ? best - 1 : 0; r == 0 && i <= best + 1 && i < s->body.n; i++)
		r = lines_add(out, s->first_line + i, s->body.line[i], s->body.line[i].len);
	if (r < 0)
		return r;
	if (view_eq(file, old) || (key == s->from && view_ends(file, old)))
		return add_neighbour(out, s, best, key);
	return add_difference(out, s->first_line + best, file, old,
			      key == s->from ? indentation(file, old) : 0);
}

/* "12<tab>text" in every line: copied out of what read_file showed. */
static bool has_line_numbers(const struct lines *old)
{
	for (size_t i = 0; i < old->n; i++) {
		size_t digits = 0;

		while (digits < old->line[i].len && old->line[i].p[digits] >= '0' &&
		       old->line[i].p[digits] <= '9')
			digits++;
		if (!digits || digits >= old->line[i].len || old->line[i].p[digits] != '\t')
			return i && i + 1 == old->n && !old->line[i].len;
	}
	return old->n > 0;
}

int match_diagnose(struct buf *out, struct view body, uint64_t first_line, struct view old)
{
	auto_search struct search s = { .first_line = first_line };
	size_t found = 0;
	int r = lines_split(&s.old, old, MAX_PATTERN_LINES);

	if (r == 0)
		r = lines_split(&s.body, body, MAX_BODY_LINES);
	if (r < 0)
		return r;
	if (has_line_numbers(&s.old))
		return buf_add_str(out, "It begins with line numbers; leave out the number and the "
					"tab that read_file puts before each line.\n");
	trim_blank(&s);
	if (s.from == s.to)
		return buf_add_str(out, "It is only blanks and line ends.\n");
	for (size_t at = 0; r == 0 && at < s.body.n && found < MAX_SHOWN; at++) {
		if (!same_at(&s, at))
			continue;
		r = add_differences(out, &s, at);
		found++;
	}
	return r < 0 || found ? r : add_nearest(out, &s);
}
