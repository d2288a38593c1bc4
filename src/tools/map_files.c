/* SPDX-License-Identifier: Apache-2.0 */
/* The project map's memory: a table of files and one text for all their strings. */
#include "tools/map_files.h"

#include "base/parse.h"

enum { FIRST_ROOM = 1024 };

static const struct {
	const char *name;
	const char *suffixes; /* each followed by a blank */
	const char *pattern, *replacement;
} languages[MAP_NUM_LANGUAGES] = {
#define C_IMPORTS "^\\s*#\\s*include\\s*([<\"][^>\"]+)", "$1"
/* On a line that is neither in a comment nor in a string, as far as its beginning tells. */
#define JAVASCRIPT_IMPORTS                                                                         \
	"^\\s*(?:[^\\s/*\"'`][^/\"'`\\n]*)?\\b(?:from|import|require)\\s*\\(?\\s*"                 \
	"['\"]([^'\"\\s*(){}<>,;]+)['\"]",                                                         \
		"$1"
	[MAP_C] = { "C", ".c .h ", C_IMPORTS },
	[MAP_CPP] = { "C++", ".cc .cpp .cxx .hpp .hh .hxx ", C_IMPORTS },
	/* "module:names" or ":modules" */
	[MAP_PYTHON] = { "Python", ".py .pyi ",
			 "^\\s*(?:from\\s+(\\.*[\\w.]*)\\s+import\\s+([\\w*, (]+)|"
			 "import\\s+([\\w., ]+))",
			 "$1:$2$3" },
	[MAP_JAVASCRIPT] = { "JavaScript", ".js .jsx .mjs .cjs ", JAVASCRIPT_IMPORTS },
	[MAP_TYPESCRIPT] = { "TypeScript", ".ts .tsx .mts ", JAVASCRIPT_IMPORTS },
	[MAP_GO] = { "Go", ".go go.mod ",
		     "^(?:\\s*(?:import\\s+)?(?:[\\w.]+\\s+)?\"([\\w./~-]+)\"\\s*(?://.*)?|"
		     "module\\s+(\\S+))$",
		     "$1$2" },
	[MAP_RUST] = { "Rust", ".rs ",
		       "^\\s*(?:pub(?:\\([^)]*\\))?\\s+)?(?:mod\\s+(\\w+)\\s*;|"
		       "use\\s+(crate::[\\w:]+))",
		       "$1$2" },
	[MAP_JAVA] = { "Java", ".java ", "^import\\s+(?:static\\s+)?([\\w.]+)", "$1" },
	[MAP_OTHER] = { "other", "", NULL, NULL },
	[MAP_SHELL] = { "Shell", ".sh .bash ", NULL, NULL },
	[MAP_RUBY] = { "Ruby", ".rb ", NULL, NULL },
	[MAP_PHP] = { "PHP", ".php ", NULL, NULL },
	[MAP_CSHARP] = { "C#", ".cs ", NULL, NULL },
	[MAP_KOTLIN] = { "Kotlin", ".kt .kts ", NULL, NULL },
	[MAP_SWIFT] = { "Swift", ".swift ", NULL, NULL },
	[MAP_PERL] = { "Perl", ".pl .pm ", NULL, NULL },
	[MAP_LUA] = { "Lua", ".lua ", NULL, NULL },
	[MAP_SQL] = { "SQL", ".sql ", NULL, NULL },
	[MAP_HTML] = { "HTML", ".html .htm ", NULL, NULL },
	[MAP_CSS] = { "CSS", ".css .scss .less ", NULL, NULL },
};

const char *map_language_name(enum map_language language)
{
	return languages[language].name;
}

const char *map_import_pattern(enum map_language language)
{
	return languages[language].pattern;
}

const char *map_import_replacement(enum map_language language)
{
	return languages[language].replacement;
}

enum map_language map_language_of(struct view path)
{
	for (size_t i = 0; i < MAP_NUM_LANGUAGES; i++) {
		struct view suffixes = view_str(languages[i].suffixes), suffix;

		while (view_split(&suffixes, ' ', &suffix))
			if (suffix.len && view_ends(path, suffix))
				return (enum map_language)i;
	}
	return MAP_OTHER;
}

struct map_files *map_files_new(struct view root)
{
	struct map_files *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	buf_init(&m->text, MAP_MAX_TEXT);
	m->references = 1;
	m->root = view_dup(root);
	if (!m->root) {
		free(m);
		return NULL;
	}
	return m;
}

struct map_files *map_files_ref(struct map_files *m)
{
	m->references++;
	return m;
}

void map_files_free(struct map_files *m)
{
	if (!m || --m->references)
		return;
	free(m->root);
	free(m->file);
	buf_done(&m->text);
	free(m);
}

struct view map_path(const struct map_files *m, const struct map_file *f)
{
	return view_of(m->text.p + f->path, f->path_len);
}

struct view map_imports(const struct map_files *m, const struct map_file *f)
{
	return f->imports_len ? view_of(m->text.p + f->imports, f->imports_len - 1) : VIEW("");
}

static int compare_views(struct view a, struct view b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int r = len ? memcmp(a.p, b.p, len) : 0;

	if (r)
		return r;
	return a.len < b.len ? -1 : a.len > b.len;
}

size_t map_lower_bound(const struct map_files *m, struct view path)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_views(map_path(m, &m->file[middle]), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct map_file *map_find(const struct map_files *m, struct view path)
{
	size_t at = map_lower_bound(m, path);

	return at < m->n && view_eq(map_path(m, &m->file[at]), path) ? &m->file[at] : NULL;
}

/* "1764438360.123456789" as a number, for equality only. */
static uint64_t time_number(struct view s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		if (s.p[i] >= '0' && s.p[i] <= '9')
			n = n * 10 + (uint64_t)(s.p[i] - '0');
	return n;
}

static bool parse_record(struct view record, struct map_file *f, struct view *ret_path)
{
	struct view size, mtime;

	if (!view_split(&record, ' ', &size) || !view_split(&record, ' ', &mtime) ||
	    parse_u64(size, 0, UINT64_MAX, &f->size) < 0)
		return false;
	f->mtime = time_number(mtime);
	if (view_starts(record, VIEW("./")))
		record = view_from(record, 2);
	*ret_path = record;
	return record.len > 0;
}

static int make_room(struct map_files *m)
{
	size_t room = m->room ? m->room * 2 : FIRST_ROOM;
	struct map_file *file;

	if (m->n < m->room)
		return 0;
	file = reallocarray(m->file, room, sizeof(*file));
	if (!file)
		return -ENOMEM;
	m->file = file;
	m->room = room;
	return 0;
}

/* Appends to the text; false when it is full. */
static bool add_text(struct map_files *m, const void *p, size_t len, uint32_t *ret_at)
{
	*ret_at = (uint32_t)m->text.len;
	if (buf_add(&m->text, p, len) == 0)
		return true;
	m->is_cut = true;
	return false;
}

static void take_over(struct map_files *m, struct map_file *f, const struct map_files *old)
{
	const struct map_file *was = map_find(old, map_path(m, f));

	if (!was || !was->is_scanned || was->size != f->size || was->mtime != f->mtime)
		return;
	f->is_scanned = true;
	if (add_text(m, old->text.p + was->imports, was->imports_len, &f->imports))
		f->imports_len = was->imports_len;
}

/* It is after the last one. */
static bool is_next(const struct map_files *m, struct view path)
{
	return !m->n || compare_views(map_path(m, &m->file[m->n - 1]), path) < 0;
}

int map_files_add(struct map_files *m, struct view record, const struct map_files *old)
{
	struct map_file f = { 0 };
	struct view path;

	/* The listing is sorted in the box, if nobody there plays with it. */
	if (!parse_record(record, &f, &path) || !is_next(m, path))
		return 0;
	if (make_room(m) < 0)
		return -ENOMEM;
	if (m->n == MAP_MAX_FILES || !add_text(m, path.p, path.len, &f.path)) {
		m->is_cut = true;
		return 0;
	}
	f.path_len = (uint32_t)path.len;
	f.language = map_language_of(path);
	if (old && f.language < MAP_OTHER)
		take_over(m, &f, old);
	if (f.language < MAP_OTHER && !f.is_scanned)
		m->unscanned[f.language]++;
	m->file[m->n++] = f;
	return 0;
}

int map_files_unscanned(struct map_files *m, enum map_language language, size_t *at, size_t max,
			struct buf *out)
{
	int r = 0;

	for (; r == 0 && m->unscanned[language] && out->len < max && *at < m->n; (*at)++) {
		struct map_file *f = &m->file[*at];

		if (f->language != language || f->is_scanned)
			continue;
		f->is_scanned = true;
		m->unscanned[language]--;
		r = buf_add_str(out, "./");
		if (r == 0)
			r = buf_add_view(out, map_path(m, f));
		if (r == 0)
			r = buf_add(out, "", 1);
	}
	return r;
}

void map_files_scan_again(struct map_files *m, enum map_language language, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (m->file[i].language == language)
			m->file[i].is_scanned = false;
}

/* One more import of the file that is being filled, at the end of the text. */
static void add_import(struct map_files *m, struct map_file *f, struct view import)
{
	size_t mark = m->text.len;
	uint32_t at, end;

	if (!add_text(m, import.p, import.len, &at))
		return;
	if (!add_text(m, "", 1, &end)) {
		buf_truncate(&m->text, mark);
		return;
	}
	if (!f->imports_len)
		f->imports = at;
	f->imports_len = end + 1 - f->imports;
}

int map_scan_line(struct map_scan *scan, struct map_files *m)
{
	struct view path, import;

	if (!view_split(&scan->rest, '\0', &path) || !view_split(&scan->rest, '\n', &import))
		return 0;
	/* ripgrep prints all of one file's lines together. */
	if (!view_eq(path, scan->path)) {
		scan->path = path;
		scan->n = 0;
		scan->file = map_find(m, view_from(path, view_starts(path, VIEW("./")) ? 2 : 0));
		/* Printed a second time after another file: not what was asked for. */
		if (scan->file && scan->file->imports_len)
			scan->file = NULL;
	}
	if (scan->file && scan->n++ < MAP_MAX_IMPORTS && !memchr(import.p, '\0', import.len))
		add_import(m, scan->file, import);
	return 1;
}
