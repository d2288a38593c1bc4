/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: one JSON object a line, hostile like all output of the box. */
#include "tools/symbols.h"

#include "json/json.h"

const char *const symbols_ctags[] = {
	"ctags",
	"--options=NONE",
	"--output-format=json",
	"--fields=+neKSs",
	"--kinds-C=+p",
	"--kinds-C++=+p",
	"--sort=no",
	"-f",
	"-",
	NULL,
};

enum { FIRST_ROOM = 256 };

/* A member's text with a NUL, kept; "" if there is none. NULL when the text is full. */
static const char *keep_text(struct symbols *s, const json_t *tag, const char *member)
{
	size_t at = s->text.len;

	if (buf_add_view(&s->text, json_view(json_object_get(tag, member))) < 0 ||
	    buf_add(&s->text, "", 1) < 0)
		return NULL;
	return s->text.p + at;
}

static uint32_t get_line(const json_t *tag, const char *member)
{
	json_int_t n = json_integer_value(json_object_get(tag, member));

	return n > 0 && n < INT32_MAX ? (uint32_t)n : 0;
}

/* False when the text is full. */
static bool read_tag(struct symbols *s, const json_t *tag, struct symbol *ret)
{
	*ret = (struct symbol){
		.line = get_line(tag, "line"),
		.end = get_line(tag, "end"),
		.name = keep_text(s, tag, "name"),
		.path = keep_text(s, tag, "path"),
		.scope = keep_text(s, tag, "scope"),
		.kind = keep_text(s, tag, "kind"),
		.signature = keep_text(s, tag, "signature"),
	};
	if (ret->end < ret->line)
		ret->end = 0;
	return ret->name && ret->path && ret->scope && ret->kind && ret->signature;
}

static bool is_tag(const json_t *tag)
{
	return json_view(json_object_get(tag, "name")).len &&
	       json_view(json_object_get(tag, "path")).len && get_line(tag, "line");
}

static int make_room(struct symbols *s)
{
	size_t room = s->room ? s->room * 2 : FIRST_ROOM;
	struct symbol *list;

	if (!s->room) {
		buf_init(&s->text, SYMBOLS_MAX_TEXT);
		/* All at once: the list points into it, so it must not move. */
		if (!buf_reserve(&s->text, SYMBOLS_MAX_TEXT))
			return -ENOMEM;
	}
	list = reallocarray(s->list, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	s->list = list;
	s->room = room;
	return 0;
}

int symbols_add(struct symbols *s, struct view line)
{
	struct err err;
	auto_json json_t *tag = line.len && !s->is_cut ? json_parse(line, &err) : NULL;

	if (!tag || !is_tag(tag))
		return 0;
	if (s->n == s->room && make_room(s) < 0)
		return -ENOMEM;
	if (s->n == SYMBOLS_MAX || !read_tag(s, tag, &s->list[s->n]))
		s->is_cut = true;
	else
		s->n++;
	return 0;
}

static struct view path_of(const struct symbol *s)
{
	struct view path = view_str(s->path);

	return view_from(path, view_starts(path, VIEW("./")) ? 2 : 0);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	if (r)
		return r;
	return x->line < y->line ? -1 : x->line > y->line;
}

void symbols_finish(struct symbols *s)
{
	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), compare);
}

struct symbols_of_file symbols_of(const struct symbols *s, struct view path)
{
	struct symbols_of_file of = { .list = s->list };

	while (of.list < s->list + s->n && !view_eq(path_of(of.list), path))
		of.list++;
	while (of.list + of.n < s->list + s->n && view_eq(path_of(&of.list[of.n]), path))
		of.n++;
	return of;
}

void symbols_done(struct symbols *s)
{
	free(s->list);
	buf_done(&s->text);
	*s = (struct symbols){ 0 };
}

struct view symbol_last_part(struct view name)
{
	for (size_t i = name.len; i > 1; i--)
		if (i < name.len && strchr(".:>#", name.p[i - 1]))
			return view_from(name, i);
	return name;
}

bool symbol_is_named(const struct symbol *s, struct view name)
{
	struct view last, before, scope = view_str(s->scope);

	while (name.len && (name.p[0] == '*' || name.p[0] == '&'))
		name = view_from(name, 1);
	if (view_is(name, s->name))
		return true;
	last = symbol_last_part(name);
	if (!view_is(last, s->name) || last.len == name.len)
		return false;
	before = view_first(name, name.len - last.len);
	while (before.len && strchr(".:->#", before.p[before.len - 1]))
		before.len--;
	/* "Parser.run" names run in mod.Parser too. */
	return view_eq(symbol_last_part(before), symbol_last_part(scope));
}

bool symbol_is_declaration(const struct symbol *s)
{
	return strcmp(s->kind, "prototype") == 0;
}

/* Names that a parser made up, include guards, and what Python's imports bring in. */
static bool is_noise(const struct symbol *s)
{
	struct view name = view_str(s->name), path = view_str(s->path);

	if (view_starts(name, VIEW("__anon")))
		return true;
	if (strcmp(s->kind, "macro") == 0)
		return view_ends(name, VIEW("_H")) || view_ends(name, VIEW("_H_"));
	return view_ends(path, VIEW(".py")) &&
	       (strcmp(s->kind, "namespace") == 0 || strcmp(s->kind, "module") == 0);
}

bool symbol_is_major(const struct symbol *s)
{
	static const char *const kinds[] = {
		"function",  "func",      "method",     "class",           "struct",
		"interface", "enum",      "union",      "trait",           "type",
		"typedef",   "module",    "namespace",  "implementation",  "macro",
		"generator", "prototype", "subroutine", "singletonMethod", "procedure",
		"target",
	};

	if (is_noise(s))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(s->kind, kinds[i]) == 0)
			return true;
	return symbol_is_method(s);
}

bool symbol_is_method(const struct symbol *s)
{
	/* Python calls them members. */
	return strcmp(s->kind, "method") == 0 ||
	       (strcmp(s->kind, "member") == 0 && s->signature[0] == '(');
}
