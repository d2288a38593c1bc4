/* SPDX-License-Identifier: Apache-2.0 */
/* What project_map says. */
#include "tools/map_report.h"

#include "base/show.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	SHOWN_FOLDERS = 25,
	SHOWN_SYMBOLS = 14, /* of one important file */
	SHOWN_DEFINITIONS = 40,
	MAX_SIGNATURE = 100,
};

static int add_size(struct buf *out, uint64_t bytes)
{
	const uint64_t kib = 1024;

	if (bytes < kib)
		return buf_addf(out, "%" PRIu64 " B", bytes);
	if (bytes < kib * kib)
		return buf_addf(out, "%" PRIu64 " KiB", bytes / kib);
	return buf_addf(out, "%" PRIu64 " MiB", bytes / (kib * kib));
}

/* ---- the shape ---- */

/* The most used first. */
static int add_languages(struct buf *out, const struct map_shape *shape)
{
	bool is_shown[MAP_NUM_LANGUAGES] = { false };
	const char *before = "Languages: ";
	int r = 0;

	while (r == 0) {
		size_t most = MAP_NUM_LANGUAGES;

		for (size_t i = 0; i < MAP_NUM_LANGUAGES; i++)
			if (shape->files[i] && !is_shown[i] &&
			    (most == MAP_NUM_LANGUAGES || shape->files[i] > shape->files[most]))
				most = i;
		if (most == MAP_NUM_LANGUAGES)
			break;
		is_shown[most] = true;
		r = buf_addf(out, "%s%s %" PRIu64 " files (", before,
			     map_language_name((enum map_language)most), shape->files[most]);
		if (r == 0)
			r = add_size(out, shape->bytes[most]);
		if (r == 0)
			r = buf_add_char(out, ')');
		before = ", ";
	}
	return r < 0 ? r : buf_add_char(out, '\n');
}

static int compare_folders(const void *a, const void *b)
{
	const struct map_folder *x = a, *y = b;

	return x->files > y->files ? -1 : x->files < y->files;
}

/* The largest folders, by their number of files. */
static int add_folders(struct buf *out, struct map_shape *shape)
{
	int r = shape->n_folders ? buf_add_str(out, "Folders (files): ") : 0;

	qsort(shape->folder, shape->n_folders, sizeof(*shape->folder), compare_folders);
	for (size_t i = 0; r == 0 && i < shape->n_folders && i < SHOWN_FOLDERS; i++) {
		r = i ? buf_add_str(out, ", ") : 0;
		if (r == 0)
			r = show_add(out, shape->folder[i].name);
		if (r == 0)
			r = buf_addf(out, "/ %" PRIu64, shape->folder[i].files);
	}
	if (r == 0 && shape->n_folders > SHOWN_FOLDERS)
		r = buf_addf(out, ", … %zu more", shape->n_folders - SHOWN_FOLDERS);
	return r < 0 || !shape->n_folders ? r : buf_add_char(out, '\n');
}

static int add_list(struct buf *out, const struct map_files *m, const char *title,
		    const struct map_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		r = buf_add_str(out, i ? ", " : title);
		if (r == 0)
			r = show_add(out, map_path(m, list->file[i]));
	}
	return r < 0 || !list->n ? r : buf_add_char(out, '\n');
}

int map_report_shape(struct buf *out, const struct map_files *m, struct map_shape *shape)
{
	uint64_t bytes = 0;
	int r;

	for (size_t i = 0; i < MAP_NUM_LANGUAGES; i++)
		bytes += shape->bytes[i];
	r = show_add(out, view_str(m->root[0] ? m->root : "/workspace"));
	if (r == 0)
		r = buf_addf(out, ": %s%zu files, ", m->is_cut ? "at least " : "", m->n);
	if (r == 0)
		r = add_size(out, bytes);
	if (r == 0)
		r = buf_add_str(out, " (without what .gitignore names)\n");
	if (r == 0)
		r = add_languages(out, shape);
	if (r == 0)
		r = add_folders(out, shape);
	if (r == 0)
		r = add_list(out, m, "Entry points: ", &shape->entry_points);
	if (r == 0)
		r = add_list(out, m, "Project files: ", &shape->project_files);
	return r;
}

/* ---- files and symbols ---- */

static int add_symbol_names(struct buf *out, const struct symbols *symbols, struct view path)
{
	struct symbols_of_file of = symbols_of(symbols, path);
	size_t shown = 0, more = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < of.n; i++) {
		const struct symbol *s = &of.list[i];

		if (!symbol_is_major(s))
			continue;
		if (shown == SHOWN_SYMBOLS) {
			more++;
			continue;
		}
		r = buf_addf(out, "%s%s%s%s", shown++ ? ", " : "\n  ",
			     symbol_is_method(s) ? s->scope : "",
			     symbol_is_method(s) && s->scope[0] ? "." : "", s->name);
	}
	return r < 0 || !more ? r : buf_addf(out, ", … %zu more", more);
}

int map_report_top(struct buf *out, const struct map_files *m, const struct map_top *top,
		   const struct map_links *links, const struct symbols *symbols)
{
	int r = top->n ? buf_add_str(out, "Most important files:\n") : 0;

	for (size_t i = 0; r == 0 && i < top->n; i++) {
		struct view path = map_path(m, top->file[i]);
		uint32_t by = links->importers[top->file[i] - m->file];

		r = show_add(out, path);
		if (r == 0 && by)
			r = buf_addf(out, " (imported by %u)", by);
		if (r == 0)
			r = add_symbol_names(out, symbols, path);
		if (r == 0)
			r = buf_add_char(out, '\n');
	}
	return r;
}

int map_report_import(struct buf *out, enum map_language language, struct view import)
{
	size_t colon = view_find(import, ':');
	int r = 0;

	if (!import.len)
		return 0;
	if (language == MAP_PYTHON) {
		if (colon)
			r = buf_addf(out, "from %.*s ", VIEW_ARG(view_first(import, colon)));
		import = view_trim(view_from(import, colon + 1));
		/* The names follow on other lines. */
		if (view_is(import, "("))
			import = VIEW("(…)");
		return r < 0 ? r : buf_addf(out, "import %.*s", VIEW_ARG(import));
	}
	if (language == MAP_RUST)
		r = buf_add_str(out, memchr(import.p, ':', import.len) ? "use " : "mod ");
	if (r == 0)
		r = utf8_add_valid(out, import);
	if (r == 0 && (import.p[0] == '"' || import.p[0] == '<'))
		r = buf_add_char(out, import.p[0] == '"' ? '"' : '>');
	return r;
}

int map_report_missing(struct buf *out, const struct map_files *m, const struct map_links *links)
{
	int r = links->n_missing ? buf_add_str(out, "Imports that resolve to nothing:\n") : 0;

	for (size_t i = 0; r == 0 && i < links->n_missing; i++) {
		const struct map_missing *missing = &links->missing[i];

		r = show_add(out, map_path(m, missing->from));
		if (r == 0 && missing->n > 1)
			r = buf_addf(out, " and %" PRIu64 " more", missing->n - 1);
		if (r == 0)
			r = buf_add_str(out, " -> ");
		if (r == 0)
			r = map_report_import(out, missing->from->language, missing->import);
		if (r == 0)
			r = buf_add_char(out, '\n');
	}
	if (r == 0 && links->n_more_missing)
		r = buf_addf(out, "… and %" PRIu64 " others\n", links->n_more_missing);
	return r;
}

static size_t scope_depth(const char *scope)
{
	size_t depth = *scope ? 1 : 0;

	for (const char *p = scope; *p; p++)
		depth += p[0] == '.' || (p[0] == ':' && p[1] == ':');
	return depth < 8 ? depth : 8;
}

static int add_signature(struct buf *out, const struct symbol *s)
{
	struct view signature = view_str(s->signature);
	struct view shown = utf8_first(signature, MAX_SIGNATURE);
	int r = utf8_add_valid(out, shown);

	return r < 0 || shown.len == signature.len ? r : buf_add_str(out, "…");
}

static int add_outline_line(struct buf *out, const struct symbol *s)
{
	char range[32];
	int r;

	if (s->end > s->line)
		(void)snprintf(range, sizeof(range), "%u-%u", s->line, s->end);
	else
		(void)snprintf(range, sizeof(range), "%u", s->line);
	r = buf_addf(out, "%-10s %*s%s %s", range, (int)(2 * scope_depth(s->scope)), "", s->kind,
		     s->name);
	if (r == 0)
		r = add_signature(out, s);
	return r < 0 ? r : buf_add_char(out, '\n');
}

int map_report_outline(struct buf *out, const struct symbols *symbols)
{
	bool only_major = symbols->n > MAP_MAX_OUTLINE;
	size_t shown = 0, left = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < symbols->n; i++) {
		const struct symbol *s = &symbols->list[i];

		if ((only_major && !symbol_is_major(s)) || shown >= MAP_MAX_OUTLINE) {
			left++;
			continue;
		}
		r = add_outline_line(out, s);
		shown++;
	}
	if (r == 0 && !symbols->n)
		r = buf_add_str(out, "(ctags finds no symbols in it)\n");
	if (r == 0 && left)
		r = buf_addf(out, "[%zu smaller symbols not shown]\n", left);
	return r == -ENOSPC ? 0 : r;
}

int map_report_definitions(struct buf *out, const struct symbols *symbols, struct view name,
			   uint64_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; r == 0 && i < symbols->n; i++) {
		const struct symbol *s = &symbols->list[i];
		const char *path = strncmp(s->path, "./", 2) == 0 ? s->path + 2 : s->path;

		if (!symbol_is_named(s, name) || (*ret_n)++ >= SHOWN_DEFINITIONS)
			continue;
		r = buf_addf(out, "%s:%s%s%s  line %u", path, s->scope, s->scope[0] ? "." : "",
			     s->name, s->line);
		if (r == 0 && s->end > s->line)
			r = buf_addf(out, "-%u", s->end);
		if (r == 0)
			r = buf_addf(out, "  %s ", s->kind);
		if (r == 0)
			r = add_signature(out, s);
		if (r == 0)
			r = buf_add_char(out, '\n');
	}
	if (r == 0 && *ret_n > SHOWN_DEFINITIONS)
		r = buf_addf(out, "… %" PRIu64 " more\n", *ret_n - SHOWN_DEFINITIONS);
	return r;
}
