/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding and form pairs. */
#include "http/url.h"

#include "base/parse.h"
#include "base/utf8.h"

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static int encode(struct buf *out, struct view in, char keep)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t before = out->len;

	for (size_t i = 0; i < in.len; i++) {
		unsigned char c = (unsigned char)in.p[i];
		const char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };
		bool is_plain = is_unreserved(in.p[i]) || (keep && in.p[i] == keep);
		int r = is_plain ? buf_add_char(out, in.p[i]) : buf_add(out, escaped, 3);

		if (r < 0) {
			buf_truncate(out, before);
			return r;
		}
	}
	return 0;
}

int url_encode(struct buf *out, struct view in)
{
	return encode(out, in, '\0');
}

int url_encode_path(struct buf *out, struct view in)
{
	return encode(out, in, '/');
}

/* Value of the escape "%XX" at the start of `v`, or -1. */
static int escape_value(struct view v)
{
	int high, low;

	if (v.len < 3)
		return -1;
	high = hex_digit(v.p[1]);
	low = hex_digit(v.p[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

enum plus { PLUS_IS_PLUS, PLUS_IS_SPACE };

static int decode(struct buf *out, struct view in, enum plus plus)
{
	size_t before = out->len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in.len; i++) {
		char c = in.p[i];

		if (c == '%') {
			int value = escape_value(view_from(in, i));

			if (value < 0) {
				r = -EINVAL;
				break;
			}
			c = (char)value;
			i += 2;
		} else if (c == '+' && plus == PLUS_IS_SPACE) {
			c = ' ';
		}
		r = buf_add_char(out, c);
	}
	if (r < 0)
		buf_truncate(out, before);
	return r;
}

int url_decode(struct buf *out, struct view in)
{
	return decode(out, in, PLUS_IS_PLUS);
}

/* Decodes one part into form->text, which has room and so does not move. */
static int decode_part(struct url_form *form, struct view in, struct view *ret)
{
	size_t start = form->text.len;
	struct view v;
	int r = decode(&form->text, in, PLUS_IS_SPACE);

	if (r < 0)
		return r;
	v = view_from(buf_view(&form->text), start);
	if (memchr(v.p, '\0', v.len) || !utf8_valid(v))
		return -EINVAL;
	*ret = v;
	return 0;
}

static int add_pair(struct url_form *form, struct view part)
{
	size_t eq = view_find(part, '=');
	struct url_pair pair;
	int r;

	if (form->n == URL_MAX_PAIRS)
		return -E2BIG;
	r = decode_part(form, view_first(part, eq), &pair.name);
	if (r == 0)
		r = decode_part(form, view_from(part, eq + 1), &pair.value);
	if (r == 0)
		form->pairs[form->n++] = pair;
	return r;
}

int url_form_parse(struct url_form *form, struct view in)
{
	struct view part;
	int r = 0;

	*form = (struct url_form){ .text = BUF_INIT(in.len) };
	/* Decoding never makes it longer: after this the memory stays where it is. */
	if (!buf_reserve(&form->text, in.len))
		return -ENOMEM;
	while (r == 0 && view_split(&in, '&', &part))
		if (part.len)
			r = add_pair(form, part);
	if (r < 0)
		url_form_done(form);
	return r;
}

void url_form_done(struct url_form *form)
{
	buf_wipe(&form->text);
	form->n = 0;
}

struct view url_form_get(const struct url_form *form, const char *name)
{
	for (size_t i = 0; i < form->n; i++)
		if (view_is(form->pairs[i].name, name))
			return form->pairs[i].value;
	return (struct view){ .p = NULL, .len = 0 };
}

unsigned url_form_count(const struct url_form *form, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < form->n; i++)
		n += view_is(form->pairs[i].name, name);
	return n;
}

bool url_form_has_duplicate(const struct url_form *form, struct view *ret)
{
	for (size_t i = 0; i < form->n; i++)
		for (size_t k = 0; k < i; k++)
			if (view_eq(form->pairs[i].name, form->pairs[k].name)) {
				if (ret)
					*ret = form->pairs[i].name;
				return true;
			}
	return false;
}

bool url_has_control(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if ((unsigned char)v.p[i] < 0x20 || v.p[i] == 0x7f)
			return true;
	return false;
}
