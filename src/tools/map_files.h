/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project map's memory: the files of one folder with size, time, language and what they import.
 * Kept with the sandbox; a new listing takes over the imports of files that did not change, so only
 * changed ones are scanned again. Bounded: past the limits the map is cut, and says so.
 */
#ifndef BERTH_TOOLS_MAP_FILES_H
#define BERTH_TOOLS_MAP_FILES_H

#include "base/buf.h"

enum {
	MAP_MAX_FILES = 150 * 1000,
	MAP_MAX_TEXT = 24 * 1024 * 1024, /* of all paths and imports */
	MAP_MAX_IMPORTS = 400,           /* of one file */
};

enum map_language {
	MAP_C,
	MAP_CPP,
	MAP_PYTHON,
	MAP_JAVASCRIPT,
	MAP_TYPESCRIPT,
	MAP_GO,
	MAP_RUST,
	MAP_JAVA,
	MAP_OTHER, /* from here on imports are not followed */
	MAP_SHELL,
	MAP_RUBY,
	MAP_PHP,
	MAP_CSHARP,
	MAP_KOTLIN,
	MAP_SWIFT,
	MAP_PERL,
	MAP_LUA,
	MAP_SQL,
	MAP_HTML,
	MAP_CSS,
	MAP_NUM_LANGUAGES,
};

const char *map_language_name(enum map_language language);
enum map_language map_language_of(struct view path);
/* The pattern for ripgrep and its replacement that pull imports out of a file; NULL if none. */
const char *map_import_pattern(enum map_language language);
const char *map_import_replacement(enum map_language language);

struct map_file {
	uint32_t path, path_len;       /* in the text */
	uint32_t imports, imports_len; /* NUL-terminated strings in the text, one after the other */
	uint64_t size, mtime;
	enum map_language language;
	bool is_scanned; /* its imports are known */
};

struct map_files {
	uint32_t references;
	char *root;            /* the folder, as tools take it; "" is the workspace */
	struct map_file *file; /* sorted by path */
	size_t n, room;
	size_t unscanned[MAP_OTHER]; /* files by language */
	struct buf text;
	bool is_cut;
};

/* With one reference. NULL when out of memory. Once complete it is not changed any more. */
struct map_files *map_files_new(struct view root) MUST_CHECK;
/* Gives a reference back; NULL is allowed. The last one frees it. */
void map_files_free(struct map_files *m);
DEFINE_CLEANUP(map_files)
struct map_files *map_files_ref(struct map_files *m);

/*
 * Adds the file of a record "size mtime path", and takes over what `old` (may be NULL) knows of it
 * if it has the same size and time. Records come in the order of their paths' bytes: others, and
 * what is no record, are passed over. -ENOMEM.
 */
int map_files_add(struct map_files *m, struct view record, const struct map_files *old) MUST_CHECK;

struct view map_path(const struct map_files *m, const struct map_file *f);
/* Its imports, each followed by NUL. */
struct view map_imports(const struct map_files *m, const struct map_file *f);
/* The position of the first file whose path is not before `path`. */
size_t map_lower_bound(const struct map_files *m, struct view path);
/* The file with this path, or NULL. */
struct map_file *map_find(const struct map_files *m, struct view path);

/*
 * Appends "path NUL" for files of the language from position *at on that are to be scanned, about
 * `max` bytes, and marks them as scanned. -ENOMEM.
 */
int map_files_unscanned(struct map_files *m, enum map_language language, size_t *at, size_t max,
			struct buf *out) MUST_CHECK;

/* The next map scans those of the language from `from` to before `to` anew. */
void map_files_scan_again(struct map_files *m, enum map_language language, size_t from, size_t to);

/* Where reading ripgrep's "path NUL import LF" has come to. */
struct map_scan {
	struct view rest;
	struct view path; /* of the last line */
	struct map_file *file;
	uint32_t n; /* imports of it */
};
/* Takes the next line: 1, or 0 at the end. */
int map_scan_line(struct map_scan *scan, struct map_files *m) MUST_CHECK;

#endif
