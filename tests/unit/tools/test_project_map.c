/* SPDX-License-Identifier: Apache-2.0 */
/* The project map's table, what imports resolve to, and its reports. */
#include "tools/map_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* In the order of the listing: by bytes. */
static const char *const project[] = {
	"README.md",
	"go/cmd/main.go",
	"go/go.mod",
	"go/store/db.go",
	"include/lib/api.h",
	"java/com/x/A.java",
	"java/com/x/util/B.java",
	"py/pkg/__init__.py",
	"py/pkg/core.py",
	"py/pkg/logging.py",
	"py/pkg/sub/__init__.py",
	"py/pkg/sub/deep.py",
	"py/run.py",
	"rust/src/config.rs",
	"rust/src/main.rs",
	"rust/src/net/mod.rs",
	"rust/src/net/tcp.rs",
	"scripts/tool.py",
	"src/base/buf.h",
	"src/main.c",
	"web/index.ts",
	"web/lib/index.js",
	"web/lib/util.ts",
};

static void load_listing(struct map_files *m, struct view listing, const struct map_files *old)
{
	struct view record;

	while (view_split(&listing, '\0', &record))
		assert_int_equal(map_files_add(m, record, old), 0);
}

static struct map_files *load(const struct map_files *old, const char *mtime)
{
	struct map_files *m = map_files_new(VIEW(""));
	char record[200];

	assert_non_null(m);
	for (size_t i = 0; i < ARRAY_SIZE(project); i++) {
		(void)snprintf(record, sizeof(record), "%zu %s ./%s", i, mtime, project[i]);
		assert_int_equal(map_files_add(m, view_str(record), old), 0);
	}
	assert_int_equal(m->n, ARRAY_SIZE(project));
	return m;
}

static void scan(struct map_files *m, struct view output)
{
	struct map_scan scan = { .rest = output };

	while (map_scan_line(&scan, m))
		continue;
}

static void add_imports(struct map_files *m, const char *path, const char *const *imports)
{
	auto_buf struct buf out = BUF_INIT(4096);

	for (; *imports; imports++) {
		assert_int_equal(buf_addf(&out, "./%s", path), 0);
		assert_int_equal(buf_add(&out, "", 1), 0);
		assert_int_equal(buf_addf(&out, "%s\n", *imports), 0);
	}
	scan(m, buf_view(&out));
}

static size_t unscanned(struct map_files *m, enum map_language language)
{
	auto_buf struct buf names = BUF_INIT(4096);
	size_t at = 0;

	assert_int_equal(map_files_unscanned(m, language, &at, 4096, &names), 0);
	return names.len;
}

static void add_symbols(struct symbols *s, struct view output)
{
	struct view line;

	while (view_split(&output, '\n', &line))
		assert_int_equal(symbols_add(s, line), 0);
	symbols_finish(s);
}

static void resolving(void **state)
{
	static const struct {
		const char *from, *import;
		enum map_resolution want;
		const char *to;
	} rows[] = {
		{ "src/main.c", "\"base/buf.h", MAP_FOUND, "src/base/buf.h" },
		{ "src/main.c", "\"../src/base/buf.h", MAP_FOUND, "src/base/buf.h" },
		{ "src/main.c", "<lib/api.h", MAP_FOUND, "include/lib/api.h" },
		{ "src/main.c", "<stdio.h", MAP_EXTERNAL, NULL },
		{ "src/main.c", "<buf.h", MAP_EXTERNAL, NULL },
		{ "src/main.c", "\"gone.h", MAP_MISSING, NULL },
		{ "src/main.c", "\"stdint.h", MAP_EXTERNAL, NULL },
		{ "py/pkg/core.py", ".sub:deep", MAP_FOUND, "py/pkg/sub/deep.py" },
		{ "py/pkg/core.py", ".:core", MAP_FOUND, "py/pkg/core.py" },
		{ "py/pkg/core.py", ".:VERSION", MAP_FOUND, "py/pkg/__init__.py" },
		{ "py/pkg/core.py", ".gone:x", MAP_MISSING, NULL },
		{ "py/pkg/sub/deep.py", "..core:run", MAP_FOUND, "py/pkg/core.py" },
		{ "py/run.py", "pkg.core:main", MAP_FOUND, "py/pkg/core.py" },
		{ "py/run.py", ":pkg.sub", MAP_FOUND, "py/pkg/sub/__init__.py" },
		{ "py/run.py", ":os, sys", MAP_EXTERNAL, NULL },
		{ "py/run.py", "pkg.gone:x", MAP_MISSING, NULL },
		{ "py/run.py", "pkg.core.made:x", MAP_EXTERNAL, NULL },
		{ "py/run.py", "logging.config:x", MAP_EXTERNAL, NULL },
		{ "py/pkg/core.py", ".sub.deep:x", MAP_FOUND, "py/pkg/sub/deep.py" },
		{ "py/pkg/core.py", ".sub.gone:x", MAP_MISSING, NULL },
		{ "py/pkg/core.py", ".logging.made:x", MAP_EXTERNAL, NULL },
		{ "py/run.py", ":tool", MAP_FOUND, "scripts/tool.py" },
		{ "py/run.py", ":core", MAP_EXTERNAL, NULL },
		{ "py/pkg/core.py", ":logging", MAP_EXTERNAL, NULL },
		{ "py/pkg/core.py", "pkg.sub:deep", MAP_FOUND, "py/pkg/sub/__init__.py" },
		{ "web/index.ts", "./lib/util", MAP_FOUND, "web/lib/util.ts" },
		{ "web/index.ts", "./lib/util.js", MAP_FOUND, "web/lib/util.ts" },
		{ "web/index.ts", "./lib", MAP_FOUND, "web/lib/index.js" },
		{ "web/index.ts", "react", MAP_EXTERNAL, NULL },
		{ "web/index.ts", "./gone", MAP_MISSING, NULL },
		{ "web/index.ts", "../../../etc/x", MAP_EXTERNAL, NULL },
		{ "web/index.ts", "...", MAP_EXTERNAL, NULL },
		{ "go/cmd/main.go", "example.com/app/store", MAP_FOUND, "go/store/db.go" },
		{ "go/cmd/main.go", "fmt", MAP_EXTERNAL, NULL },
		{ "go/cmd/main.go", "example.com/app/gone", MAP_MISSING, NULL },
		{ "go/cmd/main.go", "example.com/apple", MAP_EXTERNAL, NULL },
		{ "rust/src/main.rs", "config", MAP_FOUND, "rust/src/config.rs" },
		{ "rust/src/main.rs", "net", MAP_FOUND, "rust/src/net/mod.rs" },
		{ "rust/src/main.rs", "gone", MAP_MISSING, NULL },
		{ "rust/src/main.rs", "crate::net::tcp::Stream", MAP_FOUND, "rust/src/net/tcp.rs" },
		{ "java/com/x/A.java", "com.x.util.B", MAP_FOUND, "java/com/x/util/B.java" },
		{ "java/com/x/A.java", "com.x.util.B.run", MAP_FOUND, "java/com/x/util/B.java" },
		{ "java/com/x/A.java", "java.util.List", MAP_EXTERNAL, NULL },
		{ "java/com/x/A.java", "com.x.util.Gone", MAP_MISSING, NULL },
		{ "java/com/x/util/B.java", "com.x.util.Gone", MAP_MISSING, NULL },
		{ "java/com/x/A.java", "com.x.util.", MAP_EXTERNAL, NULL },
		{ "java/com/x/A.java", "com.other.C", MAP_EXTERNAL, NULL },
		{ "src/main.c", "", MAP_EXTERNAL, NULL },
	};
	static const char *const module[] = { "example.com/app", NULL };
	auto_of(map_files) struct map_files *m = load(NULL, "1.5");
	auto_of(map_index) struct map_index *index = NULL;

	(void)state;
	add_imports(m, "go/go.mod", module);
	index = map_index_new(m);
	assert_non_null(index);
	map_index_add(index, 0, m->n);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct map_file *from = map_find(m, view_str(rows[i].from)), *to = NULL;
		enum map_resolution got = map_resolve(index, from, view_str(rows[i].import), &to);

		if (got != rows[i].want || (rows[i].to && !view_is(map_path(m, to), rows[i].to)))
			fail_msg("%s: %s gives %d", rows[i].from, rows[i].import, (int)got);
	}
}

/* What did not change is not scanned again. */
static void refreshing(void **state)
{
	static const char *const imports[] = { "\"base/buf.h", "<stdio.h", NULL };
	const size_t all =
		sizeof("./include/lib/api.h") + sizeof("./src/base/buf.h") + sizeof("./src/main.c");
	auto_of(map_files) struct map_files *old = load(NULL, "1.5"), *same = NULL, *newer = NULL;

	(void)state;
	assert_int_equal(unscanned(old, MAP_C), all);
	assert_int_equal(unscanned(old, MAP_C), 0);
	add_imports(old, "src/main.c", imports);
	same = load(old, "1.5");
	assert_int_equal(unscanned(same, MAP_C), 0);
	assert_true(view_eq(map_imports(same, map_find(same, VIEW("src/main.c"))),
			    VIEW("\"base/buf.h\0<stdio.h")));
	newer = load(old, "1.6");
	assert_int_equal(unscanned(newer, MAP_C), all);
}

/* What the time was too short for is scanned by the next map. */
static void scanning_again(void **state)
{
	auto_of(map_files) struct map_files *late = load(NULL, "1.5"), *next = NULL;
	size_t all = unscanned(late, MAP_C), python = unscanned(late, MAP_PYTHON);

	(void)state;
	assert_true(all > 0 && python > 0);
	map_files_scan_again(late, MAP_C, 0, late->n);
	next = load(late, "1.5");
	assert_int_equal(unscanned(next, MAP_C), all);
	assert_int_equal(unscanned(next, MAP_PYTHON), 0);
}

/* As many names at a time as one run of ripgrep gets. */
static void scanning_in_parts(void **state)
{
	auto_of(map_files) struct map_files *m = load(NULL, "1.5");
	auto_buf struct buf names = BUF_INIT(4096);
	size_t at = 0, parts = 0;

	(void)state;
	for (;; parts++) {
		buf_truncate(&names, 0);
		assert_int_equal(map_files_unscanned(m, MAP_PYTHON, &at, 1, &names), 0);
		if (!names.len)
			break;
		assert_int_equal(names.len, strlen(buf_str(&names)) + 1);
	}
	assert_int_equal(parts, 7);
}

/* A call may still work with the map that another has replaced. */
static void shared(void **state)
{
	struct map_files *m = load(NULL, "1.5"), *other = map_files_ref(m);

	(void)state;
	map_files_free(m);
	assert_non_null(map_find(other, VIEW("src/main.c")));
	map_files_free(other);
}

static void reporting(void **state)
{
	static const char *const imports[] = { "\"base/buf.h", "\"gone.h", NULL };
	static const char tags[] = "{\"name\":\"buf_add\",\"path\":\"./src/base/buf.h\",\"line\":3,"
				   "\"kind\":\"function\",\"signature\":\"(int a)\",\"end\":5}\n";
	auto_buf struct buf out = BUF_INIT(MAP_MAX_REPORT);
	auto_symbols struct symbols symbols = { 0 };
	auto_of(map_files) struct map_files *m = load(NULL, "1.5");
	auto_of(map_index) struct map_index *index = NULL;
	uint32_t importers[ARRAY_SIZE(project)] = { 0 };
	struct map_links links = { .importers = importers };
	auto_map_shape struct map_shape shape = { .n_folders = 0 };
	uint64_t definitions;

	(void)state;
	add_imports(m, "src/main.c", imports);
	add_imports(m, "src/base/buf.h", imports + 1);
	index = map_index_new(m);
	assert_non_null(index);
	/* In parts, as the tool does it. */
	for (size_t i = 0; i < m->n; i++)
		map_index_add(index, i, i + 1);
	map_links_add(&links, index, 0, 5);
	map_links_add(&links, index, 5, m->n);
	assert_int_equal(map_shape_init(&shape), 0);
	assert_int_equal(map_shape_add(&shape, m, &links, 0, 7), 0);
	assert_int_equal(map_shape_add(&shape, m, &links, 7, m->n), 0);
	assert_true(shape.top.n > 3);
	add_symbols(&symbols, view_str(tags));
	assert_int_equal(map_report_shape(&out, m, &shape), 0);
	assert_int_equal(map_report_top(&out, m, &shape.top, &links, &symbols), 0);
	assert_int_equal(map_report_missing(&out, m, &links), 0);
	assert_int_equal(map_report_outline(&out, &symbols), 0);
	assert_int_equal(map_report_definitions(&out, &symbols, VIEW("buf_add"), &definitions), 0);
	assert_int_equal(definitions, 1);
	static const char *const parts[] = {
		"/workspace: 23 files, ",
		"C 3 files",
		"Folders (files): py/pkg/ 5, rust/src/ 4, ",
		"Entry points: go/cmd/main.go, rust/src/main.rs, src/main.c, web/index.ts",
		"Project files: README.md\n",
		"src/base/buf.h (imported by 1)\n  buf_add\n",
		"src/base/buf.h and 1 more -> \"gone.h\"\n",
		"3-5        function buf_add(int a)\n",
		"src/base/buf.h:buf_add  line 3-5  function (int a)\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strstr(buf_str(&out), parts[i]))
			fail_msg("no \"%s\" in\n%s", parts[i], buf_str(&out));
}

/* Output of the box is hostile: none of this may do harm. */
static void garbage(void **state)
{
	static const struct view listings[] = {
		VIEW_INIT("\0\0\0"),
		VIEW_INIT("1 2 \0"),
		VIEW_INIT("x 2 ./a\0"),
		VIEW_INIT("1"),
		VIEW_INIT("1 2 ./a.c\0"
			  "1 2 ./a.c\0"),
		VIEW_INIT("1 2 ./b.c\0"
			  "1 2 ./a.c\0"),
	};
	static const struct view imports[] = {
		VIEW_INIT("\0"),
		VIEW_INIT("./a.c\0"),
		VIEW_INIT("./a.c\0\"x.h\n./b\0y\n./a.c\0z\n"),
		VIEW_INIT("./a.c\0\n"),
		VIEW_INIT("./a.c\0"
			  "a\0b\n"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(listings); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(imports); j++) {
			auto_of(map_files) struct map_files *m = map_files_new(VIEW(""));
			auto_of(map_index) struct map_index *index = NULL;
			uint32_t importers[4] = { 0 };
			struct map_links links = { .importers = importers };

			load_listing(m, listings[i], NULL);
			scan(m, imports[j]);
			index = map_index_new(m);
			assert_non_null(index);
			map_index_add(index, 0, m->n);
			map_links_add(&links, index, 0, m->n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolving),      cmocka_unit_test(refreshing),
		cmocka_unit_test(scanning_again), cmocka_unit_test(scanning_in_parts),
		cmocka_unit_test(shared),         cmocka_unit_test(reporting),
		cmocka_unit_test(garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
