/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data (RFC 7578), read as it comes. */
#include "links/multipart.h"

#include <stdio.h>

/* ---- parameters of a header value: ;name=value or ;name="value" ---- */

/*
 * Reads a quoted string, whose opening quote `v` begins with, into `out` (NULL: passes over it),
 * and leaves `v` at its closing quote. False if it does not end or does not fit. It may hold \"
 * (browsers send %22 instead).
 */
static bool read_quoted(struct view *v, char *out, size_t size)
{
	size_t n = 0;

	for (*v = view_from(*v, 1); v->len && v->p[0] != '"'; *v = view_from(*v, 1)) {
		if (v->p[0] == '\\' && v->len > 1 && (v->p[1] == '"' || v->p[1] == '\\'))
			*v = view_from(*v, 1);
		if (!out)
			continue;
		if (n + 1 >= size)
			return false;
		out[n++] = v->p[0];
	}
	if (out)
		out[n] = '\0';
	return v->len > 0;
}

/* Cuts the value of the parameter out of `v`. */
static bool find_parameter(struct view v, const char *name, char *out, size_t size)
{
	while (v.len) {
		size_t semicolon = view_find(v, ';'), equals;
		bool is_wanted;

		v = view_from(v, semicolon + 1);
		equals = view_find(v, '=');
		if (equals == v.len)
			return false;
		is_wanted = view_is_nocase(view_trim(view_first(v, equals)), name);
		v = view_from(v, equals + 1);
		if (v.len && v.p[0] == '"') {
			if (!read_quoted(&v, is_wanted ? out : NULL, size))
				return false;
			if (is_wanted)
				return true;
		} else if (is_wanted) {
			v = view_trim(view_first(v, view_find(v, ';')));
			return view_copy(v, out, size) == 0;
		}
	}
	return false;
}

int multipart_init(struct multipart *m, struct view content_type)
{
	static const struct view type = VIEW_INIT("multipart/form-data");
	char boundary[MULTIPART_MAX_BOUNDARY + 1];

	*m = (struct multipart){ .state = MP_PREAMBLE };
	buf_init(&m->head, MULTIPART_MAX_HEAD);
	if (content_type.len < type.len ||
	    !view_is_nocase(view_first(content_type, type.len), type.p) ||
	    !find_parameter(content_type, "boundary", boundary, sizeof(boundary)) || !boundary[0])
		return -EINVAL;
	m->delimiter_len =
		(size_t)snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%s", boundary);
	return 0;
}

void multipart_done(struct multipart *m)
{
	buf_done(&m->head);
}

/* ---- the head of a part ---- */

static bool read_disposition(struct multipart *m, struct view line)
{
	static const struct view name = VIEW_INIT("content-disposition:");
	struct view value;

	if (line.len < name.len || !view_is_nocase(view_first(line, name.len), name.p))
		return true;
	value = view_from(line, name.len);
	m->has_file = find_parameter(value, "filename", m->file, sizeof(m->file));
	return find_parameter(value, "name", m->field, sizeof(m->field));
}

static bool read_head(struct multipart *m)
{
	struct view rest = buf_view(&m->head), line;

	m->field[0] = m->file[0] = '\0';
	m->has_file = false;
	if (memchr(rest.p, '\0', rest.len))
		return false;
	while (view_split(&rest, '\n', &line)) {
		if (view_ends(line, VIEW("\r")))
			line = view_first(line, line.len - 1);
		if (!read_disposition(m, line))
			return false;
	}
	return m->field[0] != '\0';
}

static enum multipart_event fail(struct multipart *m)
{
	m->state = MP_FAILED;
	return MULTIPART_BAD;
}

/* Where `needle` begins in `v`, or where a beginning of it stands at the end; v.len if neither. */
static size_t find_sequence(struct view v, struct view needle, bool *whole)
{
	*whole = false;
	for (size_t i = view_find(v, needle.p[0]); i < v.len;
	     i += 1 + view_find(view_from(v, i + 1), needle.p[0])) {
		size_t n = v.len - i < needle.len ? v.len - i : needle.len;

		if (memcmp(v.p + i, needle.p, n) == 0) {
			*whole = n == needle.len;
			return i;
		}
	}
	return v.len;
}

/* ---- states ---- */

/* The first boundary has no line before it, or comes after a preamble that is ignored. */
static enum multipart_event next_preamble(struct multipart *m, struct view in, size_t *taken)
{
	struct view first = view_of(m->delimiter + 2, m->delimiter_len - 2);
	bool whole;
	size_t at = find_sequence(in, first, &whole);

	*taken = at;
	if (!whole)
		return MULTIPART_MORE;
	*taken = at + first.len;
	m->state = MP_AFTER_BOUNDARY;
	return MULTIPART_MORE;
}

static enum multipart_event next_after_boundary(struct multipart *m, struct view in, size_t *taken)
{
	if (in.len < 2)
		return MULTIPART_MORE;
	*taken = 2;
	if (view_starts(in, VIEW("--"))) {
		m->state = MP_DONE;
		return MULTIPART_END;
	}
	if (!view_starts(in, VIEW("\r\n")))
		return fail(m);
	buf_truncate(&m->head, 0);
	m->state = MP_HEAD;
	return MULTIPART_MORE;
}

static enum multipart_event next_head(struct multipart *m, struct view in, size_t *taken)
{
	bool whole;
	size_t at = find_sequence(in, VIEW("\r\n\r\n"), &whole);

	if (!whole) {
		/* What may be the end stays where it is. */
		*taken = at;
		return buf_add(&m->head, in.p, at) < 0 ? fail(m) : MULTIPART_MORE;
	}
	*taken = at + 4;
	if (buf_add(&m->head, in.p, at) < 0 || !read_head(m))
		return fail(m);
	m->state = MP_BODY;
	return MULTIPART_PART;
}

static enum multipart_event next_body(struct multipart *m, struct view in, size_t *taken,
				      struct view *data)
{
	struct view delimiter = view_of(m->delimiter, m->delimiter_len);
	bool whole;
	size_t at = find_sequence(in, delimiter, &whole);

	if (at > 0) {
		*data = view_first(in, at);
		*taken = at;
		return MULTIPART_DATA;
	}
	if (!whole)
		return MULTIPART_MORE;
	*taken = delimiter.len;
	m->state = MP_AFTER_BOUNDARY;
	return MULTIPART_PART_END;
}

static enum multipart_event step(struct multipart *m, struct view in, size_t *taken,
				 struct view *data)
{
	switch (m->state) {
	case MP_PREAMBLE:
		return next_preamble(m, in, taken);
	case MP_AFTER_BOUNDARY:
		return next_after_boundary(m, in, taken);
	case MP_HEAD:
		return next_head(m, in, taken);
	case MP_BODY:
		return next_body(m, in, taken, data);
	case MP_DONE:
		*taken = in.len;
		return MULTIPART_MORE;
	case MP_FAILED:
		break;
	}
	return MULTIPART_BAD;
}

enum multipart_event multipart_next(struct multipart *m, struct view in, size_t *taken,
				    struct view *data)
{
	size_t total = 0;

	for (;;) {
		int before = (int)m->state;
		size_t n = 0;
		enum multipart_event event = step(m, view_from(in, total), &n, data);

		total += n;
		/* MORE with a change of state only means: look again at what is left. */
		if (event != MULTIPART_MORE || (int)m->state == before) {
			*taken = total;
			return event;
		}
	}
}
