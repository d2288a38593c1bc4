/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a project. */
#include "tools/map_shape.h"

#include "base/map.h"

enum {
	FOLDER_DEPTH = 2,
	LARGEST_WRITTEN = 1024 * 1024, /* bytes; larger ones were generated or bundled */
};

static bool is_one_of(struct view name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (view_is_nocase(name, list[i]))
			return true;
	return false;
}

static bool is_entry_point(struct view path)
{
	static const char *const names[] = {
		"main.c",    "main.cc",   "main.cpp",  "main.py",   "__main__.py",      "app.py",
		"manage.py", "cli.py",    "server.py", "main.go",   "main.rs",          "lib.rs",
		"index.js",  "index.ts",  "index.tsx", "main.js",   "main.ts",          "app.js",
		"app.ts",    "server.js", "server.ts", "Main.java", "Application.java", "main.rb",
	};

	return is_one_of(view_base_name(path), names, ARRAY_SIZE(names));
}

static bool is_project_file(struct view path)
{
	static const char *const names[] = {
		"README.md",          "README",           "README.rst",
		"Makefile",           "meson.build",      "CMakeLists.txt",
		"configure.ac",       "package.json",     "tsconfig.json",
		"pyproject.toml",     "setup.py",         "requirements.txt",
		"Cargo.toml",         "go.mod",           "pom.xml",
		"build.gradle",       "build.gradle.kts", "Dockerfile",
		"docker-compose.yml", "CONTRIBUTING.md",  "AGENTS.md",
		"CLAUDE.md",
	};

	return view_find(path, '/') == path.len &&
	       is_one_of(view_base_name(path), names, ARRAY_SIZE(names));
}

/* Below the listed folder: the part of the path that says where a file lies. */
static struct view below_root(const struct map_files *m, const struct map_file *f)
{
	size_t root = strlen(m->root);

	return view_from(map_path(m, f), root ? root + 1 : 0);
}

static bool is_aside(struct view path)
{
	static const char *const parts[] = { "test",     "tests",   "testdata",    "vendor",
					     "examples", "docs",    "third_party", "node_modules",
					     "dist",     "fixtures" };
	struct view part;

	while (view_split(&path, '/', &part))
		if (is_one_of(part, parts, ARRAY_SIZE(parts)))
			return true;
	return false;
}

static uint64_t score(const struct map_files *m, const struct map_file *f, uint32_t importers)
{
	struct view path = below_root(m, f);
	uint64_t s = (uint64_t)importers * 4;

	if (f->language >= MAP_OTHER && f->language != MAP_RUBY && f->language != MAP_PHP)
		return 0;
	if (is_entry_point(path))
		s += 40;
	/* Without imports to go by, larger ones, up to a point. */
	s += f->size / 4096 < 8 ? f->size / 4096 : 8;
	return is_aside(path) || f->size > LARGEST_WRITTEN ? s / 8 : s;
}

static void consider(struct map_top *top, const struct map_file *f, uint64_t s)
{
	size_t at = top->n;

	if (!s || (top->n == MAP_TOP_FILES && s <= top->score[top->n - 1]))
		return;
	if (top->n < MAP_TOP_FILES)
		top->n++;
	else
		at--;
	for (; at > 0 && top->score[at - 1] < s; at--) {
		top->score[at] = top->score[at - 1];
		top->file[at] = top->file[at - 1];
	}
	top->score[at] = s;
	top->file[at] = f;
}

/* The first FOLDER_DEPTH components of the folder; "" for files at the top. */
static struct view shown_folder(struct view path)
{
	size_t depth = 0, end = 0;

	for (size_t i = 0; i < path.len && depth < FOLDER_DEPTH; i++)
		if (path.p[i] == '/') {
			end = i;
			depth++;
		}
	return view_first(path, end);
}

static int count_folder(struct map_shape *shape, struct view name)
{
	struct map_folder *folder = name.len ? map_get(shape->folder_by_name, name) : NULL;

	if (!folder) {
		if (!name.len || shape->n_folders == MAP_MAX_FOLDERS)
			return 0;
		folder = &shape->folder[shape->n_folders];
		if (map_put(shape->folder_by_name, name, folder, NULL) < 0)
			return -ENOMEM;
		*folder = (struct map_folder){ .name = name };
		shape->n_folders++;
	}
	folder->files++;
	return 0;
}

static void list_file(struct map_list *list, const struct map_file *f)
{
	if (list->n < MAP_LISTED)
		list->file[list->n++] = f;
}

static int add_file(struct map_shape *shape, const struct map_files *m, const struct map_file *f,
		    uint32_t importers)
{
	struct view path = below_root(m, f);

	shape->files[f->language]++;
	shape->bytes[f->language] += f->size;
	if (is_entry_point(path) && !is_aside(path))
		list_file(&shape->entry_points, f);
	if (is_project_file(path))
		list_file(&shape->project_files, f);
	consider(&shape->top, f, score(m, f, importers));
	return count_folder(shape, shown_folder(path));
}

int map_shape_init(struct map_shape *shape)
{
	*shape = (struct map_shape){
		.folder = calloc(MAP_MAX_FOLDERS, sizeof(*shape->folder)),
		.folder_by_name = map_new(),
	};
	return shape->folder && shape->folder_by_name ? 0 : -ENOMEM;
}

void map_shape_done(struct map_shape *shape)
{
	free(shape->folder);
	map_free(shape->folder_by_name);
	*shape = (struct map_shape){ 0 };
}

int map_shape_add(struct map_shape *shape, const struct map_files *m, const struct map_links *links,
		  size_t from, size_t to)
{
	int r = 0;

	for (size_t i = from; r == 0 && i < to; i++)
		r = add_file(shape, m, &m->file[i], links->importers[i]);
	return r;
}
