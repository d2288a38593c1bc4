/* SPDX-License-Identifier: Apache-2.0 */
/* Import lines to files, language by language. */
#include "tools/map_imports.h"

enum { MAX_GO_FILES = 256 }; /* looked at for one in the package itself */

enum map_resolution map_found_or(const struct map_file *f, enum map_resolution otherwise,
				 const struct map_file **ret)
{
	if (!f)
		return otherwise;
	*ret = f;
	return MAP_FOUND;
}

/* ---- languages ---- */

/* Some projects write them in quotes. */
static bool is_standard_header(struct view name)
{
	static const char *const names[] = {
		"assert.h",   "complex.h", "ctype.h",  "errno.h",    "fenv.h",   "float.h",
		"inttypes.h", "iso646.h",  "limits.h", "locale.h",   "malloc.h", "math.h",
		"memory.h",   "setjmp.h",  "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h",
		"stdbool.h",  "stddef.h",  "stdint.h", "stdio.h",    "stdlib.h", "string.h",
		"strings.h",  "tgmath.h",  "time.h",   "unistd.h",   "wchar.h",  "wctype.h",
		"windows.h",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (view_is(name, names[i]))
			return true;
	return view_starts(name, VIEW("sys/"));
}

static enum map_resolution resolve_c(const struct map_index *index, struct view folder,
				     struct view import, const struct map_file **ret)
{
	auto_buf struct buf b = BUF_INIT(MAP_MAX_PATH);
	struct view name = view_from(import, 1);
	const struct map_file *f = NULL;

	if (import.p[0] == '"' && map_join(&b, folder, name))
		f = map_find(index->files, buf_view(&b));
	/* Include paths are not known; a system header's plain name must not hit a file by chance.
	 */
	if (!f && (import.p[0] == '"' || view_find(name, '/') < name.len) &&
	    !view_starts(name, VIEW("..")))
		f = map_by_suffix(index, name);
	return map_found_or(
		f, import.p[0] == '"' && !is_standard_header(name) ? MAP_MISSING : MAP_EXTERNAL,
		ret);
}

static bool is_relative(struct view import)
{
	return view_starts(import, VIEW("./")) || view_starts(import, VIEW("../")) ||
	       view_is(import, ".") || view_is(import, "..");
}

static enum map_resolution resolve_javascript(const struct map_index *index, struct view folder,
					      struct view import, const struct map_file **ret)
{
	static const char endings[] = "- .ts .tsx .d.ts .js .jsx .mjs .cjs .json .vue .svelte "
				      "/index.ts /index.tsx /index.js /index.jsx /index.mjs";
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	const struct map_file *f;
	struct view stem;

	if (!is_relative(import) ||
	    !map_join(&path, folder, view_first(import, view_find(import, '?'))))
		return MAP_EXTERNAL;
	f = map_with_ending(index, buf_view(&path), endings);
	stem = buf_view(&path);
	/* TypeScript names what it will be compiled to. */
	if (!f && view_ends(stem, VIEW(".js")))
		f = map_with_ending(index, view_first(stem, stem.len - 3), ".ts .tsx");
	if (!f && map_has_folder(index, stem))
		return MAP_EXTERNAL;
	return map_found_or(f, MAP_MISSING, ret);
}

/* A package is a folder: its first file stands for it. */
static enum map_resolution resolve_go(const struct map_index *index, struct view import,
				      const struct map_file **ret)
{
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	const struct map_files *m = index->files;
	struct view rest = view_from(import, index->go_module.len);

	if (!index->go_module.len || !view_starts(import, index->go_module) ||
	    (rest.len && rest.p[0] != '/') || !map_join(&path, index->go_root, rest))
		return MAP_EXTERNAL;
	if (path.len && !map_has_folder(index, buf_view(&path)))
		return MAP_MISSING;
	if (path.len && buf_add_char(&path, '/') < 0)
		return MAP_EXTERNAL;
	for (size_t i = map_lower_bound(m, buf_view(&path)), tries = 0;
	     i < m->n && tries < MAX_GO_FILES; i++, tries++) {
		struct view candidate = map_path(m, &m->file[i]);

		if (!view_starts(candidate, buf_view(&path)))
			break;
		if (view_ends(candidate, VIEW(".go")) &&
		    view_base_name(candidate).len == candidate.len - path.len)
			return map_found_or(&m->file[i], MAP_EXTERNAL, ret);
	}
	return MAP_EXTERNAL;
}

/* mod name; in x.rs: name.rs or name/mod.rs beside it, or in the folder x. */
static enum map_resolution resolve_rust_mod(const struct map_index *index, struct view from,
					    struct view name, const struct map_file **ret)
{
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	struct view stem = view_first(from, from.len - 3);
	const struct map_file *f = NULL;

	if (map_join(&path, map_folder_of(from), name))
		f = map_with_ending(index, buf_view(&path), ".rs /mod.rs");
	if (!f && map_join(&path, stem, name))
		f = map_with_ending(index, buf_view(&path), ".rs /mod.rs");
	return map_found_or(f, MAP_MISSING, ret);
}

/* use crate::a::b::Item; the longest part that is a file below the crate's src. */
static enum map_resolution resolve_rust_use(const struct map_index *index, struct view from,
					    struct view import, const struct map_file **ret)
{
	const char *src = memmem(from.p, from.len, "src/", 4);
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	const struct map_file *f = NULL;
	struct view rest = import, part;

	if (!src || buf_add(&path, from.p, (size_t)(src - from.p) + 3) < 0)
		return MAP_EXTERNAL;
	(void)view_split(&rest, ':', &part); /* crate */
	while (view_split(&rest, ':', &part)) {
		const struct map_file *deeper;

		if (!part.len)
			continue;
		if (buf_add_char(&path, '/') < 0 || buf_add_view(&path, part) < 0)
			break;
		deeper = map_with_ending(index, buf_view(&path), ".rs /mod.rs");
		f = deeper ? deeper : f;
	}
	return map_found_or(f, MAP_EXTERNAL, ret);
}

static const struct map_file *java_class(const struct map_index *index, struct view path)
{
	static const char *const endings[] = { ".java", ".kt" };
	auto_buf struct buf suffix = BUF_INIT(MAP_MAX_PATH);
	const struct map_file *f = NULL;

	for (size_t i = 0; !f && path.len && i < ARRAY_SIZE(endings); i++) {
		buf_truncate(&suffix, 0);
		if (buf_add_view(&suffix, path) < 0 || buf_add_str(&suffix, endings[i]) < 0)
			return NULL;
		f = map_by_suffix(index, buf_view(&suffix));
	}
	return f;
}

/* Whether the package is one of the project, below the same root as the file that imports. */
static bool is_own_package(const struct map_index *index, struct view from, struct view package)
{
	auto_buf struct buf folder = BUF_INIT(MAP_MAX_PATH);
	struct view first = view_first(package, view_find(package, '/')), rest = from, part;

	while (package.len && view_split(&rest, '/', &part)) {
		size_t at = (size_t)(part.p - from.p);

		if (view_eq(part, first))
			return map_join(&folder, view_first(from, at ? at - 1 : 0), package) &&
			       map_has_folder(index, buf_view(&folder));
	}
	return false;
}

static enum map_resolution resolve_java(const struct map_index *index, struct view from,
					struct view import, const struct map_file **ret)
{
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	const struct map_file *f;
	struct view outer;

	if (!map_dotted_path(import, &path))
		return MAP_EXTERNAL;
	outer = map_folder_of(buf_view(&path));
	f = java_class(index, buf_view(&path));
	/* A static import, or a class in a class. */
	if (!f)
		f = java_class(index, outer);
	return map_found_or(f,
			    !view_ends(import, VIEW(".")) && is_own_package(index, from, outer)
				    ? MAP_MISSING
				    : MAP_EXTERNAL,
			    ret);
}

enum map_resolution map_resolve(const struct map_index *index, const struct map_file *from,
				struct view import, const struct map_file **ret)
{
	struct view path = map_path(index->files, from), folder = map_folder_of(path);

	if (!import.len)
		return MAP_EXTERNAL;
	switch ((int)from->language) {
	case MAP_C:
	case MAP_CPP:
		return resolve_c(index, folder, import, ret);
	case MAP_PYTHON:
		return map_resolve_python(index, folder, import, ret);
	case MAP_JAVASCRIPT:
	case MAP_TYPESCRIPT:
		return resolve_javascript(index, folder, import, ret);
	case MAP_GO:
		return resolve_go(index, import, ret);
	case MAP_RUST:
		return view_starts(import, VIEW("crate::"))
			       ? resolve_rust_use(index, path, import, ret)
			       : resolve_rust_mod(index, path, import, ret);
	case MAP_JAVA:
		return resolve_java(index, path, import, ret);
	default:
		return MAP_EXTERNAL;
	}
}

/* What is said once for several files: from another folder, a relative import is another one. */
static void add_missing(struct map_links *links, const struct map_files *m,
			const struct map_file *from, struct view import)
{
	struct view folder = map_folder_of(map_path(m, from));

	for (size_t i = 0; i < links->n_missing; i++)
		if (view_eq(links->missing[i].import, import) &&
		    (import.p[0] != '.' ||
		     view_eq(map_folder_of(map_path(m, links->missing[i].from)), folder))) {
			links->missing[i].n++;
			return;
		}
	if (links->n_missing == MAP_MISSING_KEPT)
		links->n_more_missing++;
	else
		links->missing[links->n_missing++] =
			(struct map_missing){ .from = from, .import = import, .n = 1 };
}

static void add_link(struct map_links *links, const struct map_index *index,
		     const struct map_file *from, struct view import)
{
	const struct map_file *target;

	switch (map_resolve(index, from, import, &target)) {
	case MAP_FOUND:
		if (target != from)
			links->importers[target - index->files->file]++;
		break;
	case MAP_MISSING:
		add_missing(links, index->files, from, import);
		break;
	case MAP_EXTERNAL:
		break;
	}
}

void map_links_add(struct map_links *links, const struct map_index *index, size_t from, size_t to)
{
	const struct map_files *m = index->files;

	for (size_t i = from; i < to; i++) {
		struct view imports = map_imports(m, &m->file[i]), import;

		while (view_split(&imports, '\0', &import))
			add_link(links, index, &m->file[i], import);
	}
}
