/* SPDX-License-Identifier: Apache-2.0 */
/* Finding files of a map. */
#include "tools/map_index.h"

enum { MAX_TRIES = 256 }; /* files that are looked at for a suffix */

/* Without a slash at the end; "" for what lies at the top. */
struct view map_folder_of(struct view path)
{
	size_t len = path.len - view_base_name(path).len;

	return view_first(path, len ? len - 1 : 0);
}

void map_index_free(struct map_index *index)
{
	if (!index)
		return;
	free(index->first);
	free(index->next);
	free(index);
}

struct map_index *map_index_new(const struct map_files *files)
{
	struct map_index *index = calloc(1, sizeof(*index));
	size_t size = 1;

	if (!index)
		return NULL;
	while (size < files->n)
		size *= 2;
	index->files = files;
	index->mask = size - 1;
	index->first = calloc(size, sizeof(*index->first));
	index->next = calloc(size, sizeof(*index->next));
	if (!index->first || !index->next) {
		map_index_free(index);
		return NULL;
	}
	return index;
}

static void index_file(struct map_index *index, size_t i)
{
	const struct map_files *m = index->files;
	struct view path = map_path(m, &m->file[i]);
	uint32_t *first = &index->first[view_hash(view_base_name(path)) & index->mask];

	index->next[i] = *first;
	*first = (uint32_t)i + 1;
	if (view_is(view_base_name(path), "go.mod") && m->file[i].imports_len &&
	    !index->go_module.len) {
		index->go_module = view_str(m->text.p + m->file[i].imports);
		index->go_root = map_folder_of(path);
	}
}

void map_index_add(struct map_index *index, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		index_file(index, i);
}

/* Joins folder and path, resolving "." and ".."; false when it leaves the project. */
bool map_join(struct buf *out, struct view folder, struct view path)
{
	struct view part;

	buf_truncate(out, 0);
	if (buf_add_view(out, folder) < 0)
		return false;
	while (view_split(&path, '/', &part)) {
		if (!part.len || view_is(part, "."))
			continue;
		if (view_is(part, "..")) {
			if (!out->len)
				return false;
			buf_truncate(out, map_folder_of(buf_view(out)).len);
			continue;
		}
		if ((out->len && buf_add_char(out, '/') < 0) || buf_add_view(out, part) < 0)
			return false;
	}
	return true;
}

/* The file `path` with one of the endings (each followed by a blank; "-" is none). */
const struct map_file *map_with_ending(const struct map_index *index, struct view path,
				       const char *endings)
{
	auto_buf struct buf b = BUF_INIT(MAP_MAX_PATH);
	struct view rest = view_str(endings), ending;

	if (buf_add_view(&b, path) < 0)
		return NULL;
	while (view_split(&rest, ' ', &ending)) {
		const struct map_file *f;

		if (!ending.len)
			continue;
		buf_truncate(&b, path.len);
		if (!view_is(ending, "-") && buf_add_view(&b, ending) < 0)
			return NULL;
		f = map_find(index->files, buf_view(&b));
		if (f)
			return f;
	}
	return NULL;
}

/* The file whose path is `suffix` or ends in "/suffix"; the shortest path, if there are several. */
const struct map_file *map_by_suffix(const struct map_index *index, struct view suffix)
{
	const struct map_files *m = index->files;
	uint32_t at = index->first[view_hash(view_base_name(suffix)) & index->mask];
	const struct map_file *best = NULL;

	for (int i = 0; at && i < MAX_TRIES; i++, at = index->next[at - 1]) {
		const struct map_file *f = &m->file[at - 1];
		struct view path = map_path(m, f);

		if (view_ends(path, suffix) && (!best || path.len < best->path_len) &&
		    (path.len == suffix.len || path.p[path.len - suffix.len - 1] == '/'))
			best = f;
	}
	return best;
}

/* Whether there are files below `folder`. */
bool map_has_folder(const struct map_index *index, struct view folder)
{
	auto_buf struct buf prefix = BUF_INIT(MAP_MAX_PATH);
	const struct map_files *m = index->files;
	size_t at;

	if (buf_add_view(&prefix, folder) < 0 || buf_add_char(&prefix, '/') < 0)
		return false;
	at = map_lower_bound(m, buf_view(&prefix));
	return at < m->n && view_starts(map_path(m, &m->file[at]), buf_view(&prefix));
}

bool map_dotted_path(struct view name, struct buf *out)
{
	struct view part;

	while (view_split(&name, '.', &part))
		if (part.len &&
		    ((out->len && buf_add_char(out, '/') < 0) || buf_add_view(out, part) < 0))
			return false;
	return true;
}
