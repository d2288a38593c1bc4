/* SPDX-License-Identifier: Apache-2.0 */
/* What imports of Python mean. */
#include "tools/map_imports.h"

/* Modules that come with Python, each between blanks. */
static const char python_standard[] =
	" abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 "
	"cProfile calendar cgi cmath cmd code codecs codeop collections colorsys compileall "
	"concurrent configparser contextlib contextvars copy copyreg csv ctypes curses "
	"dataclasses datetime dbm decimal difflib dis doctest email encodings ensurepip enum "
	"errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc "
	"getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib "
	"imp importlib inspect io ipaddress itertools json keyword linecache locale logging "
	"lzma mailbox marshal math mimetypes mmap modulefinder msvcrt multiprocessing netrc nt "
	"numbers operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib "
	"poplib posix pprint profile pstats pty pwd py_compile pydoc pyexpat queue quopri "
	"random re readline reprlib resource rlcompleter runpy sched secrets select selectors "
	"shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat "
	"statistics string stringprep struct subprocess sys sysconfig syslog tabnanny tarfile "
	"tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace "
	"traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib "
	"uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xml xmlrpc zipapp "
	"zipfile zipimport zlib zoneinfo ";

static bool is_python_standard(struct view name)
{
	auto_buf struct buf word = BUF_INIT(MAP_MAX_PATH);

	return buf_addf(&word, " %.*s ", VIEW_ARG(name)) == 0 &&
	       strstr(python_standard, buf_str(&word));
}

/* The module below `folder`. */
static const struct map_file *python_module(const struct map_index *index, struct view folder,
					    struct view module)
{
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	auto_buf struct buf below = BUF_INIT(MAP_MAX_PATH);

	if (!map_dotted_path(module, &below) || !map_join(&path, folder, buf_view(&below)))
		return NULL;
	return map_with_ending(index, buf_view(&path),
			       path.len ? ".py /__init__.py .pyi .pyx" : "__init__.py");
}

static bool is_package(const struct map_index *index, struct view folder)
{
	return folder.len && map_with_ending(index, folder, "/__init__.py");
}

/* Where imports are looked up from a file in `folder`: outside of all packages that it is in. */
static struct view import_root(const struct map_index *index, struct view folder)
{
	while (is_package(index, folder))
		folder = map_folder_of(folder);
	return folder;
}

/* The module at whichever root it is: other roots than the file's own are only guessed. */
static const struct map_file *python_elsewhere(const struct map_index *index, struct view module)
{
	static const char *const endings[] = { ".py", "/__init__.py" };
	auto_buf struct buf suffix = BUF_INIT(MAP_MAX_PATH);
	size_t len;

	if (!map_dotted_path(module, &suffix))
		return NULL;
	len = suffix.len;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		const struct map_file *f;
		struct view path;

		buf_truncate(&suffix, len);
		f = buf_add_str(&suffix, endings[i]) == 0 ? map_by_suffix(index, buf_view(&suffix))
							  : NULL;
		if (!f)
			continue;
		path = map_path(index->files, f);
		if (path.len == suffix.len ||
		    !is_package(index, view_first(path, path.len - suffix.len - 1)))
			return f;
	}
	return NULL;
}

static struct view first_word(struct view v)
{
	size_t len = 0;

	v = view_trim(v);
	while (len < v.len && v.p[len] != ' ' && v.p[len] != ',' && v.p[len] != '(')
		len++;
	return view_first(v, len);
}

/* Below a module that is a file there are only such as it makes when it runs (six.moves). */
static bool is_made_at_run_time(const struct map_index *index, struct view root, struct view module)
{
	for (size_t i = module.len; i > 0; i--) {
		const struct map_file *f;

		if (module.p[i - 1] != '.')
			continue;
		f = python_module(index, root, view_first(module, i - 1));
		if (f)
			return !view_is(view_base_name(map_path(index->files, f)), "__init__.py");
	}
	return false;
}

/* from .mod import name: the module, or where there is none, the name as a module. */
static enum map_resolution resolve_relative(const struct map_index *index, struct view folder,
					    struct view module, struct view name,
					    const struct map_file **ret)
{
	auto_buf struct buf below = BUF_INIT(MAP_MAX_PATH);
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	const struct map_file *f = NULL;

	for (module = view_from(module, 1); module.len && module.p[0] == '.';
	     module = view_from(module, 1)) {
		if (!folder.len)
			return MAP_EXTERNAL;
		folder = map_folder_of(folder);
	}
	if (!map_dotted_path(module, &below) || !map_join(&path, folder, buf_view(&below)))
		return MAP_EXTERNAL;
	if (name.len)
		f = python_module(index, buf_view(&path), name);
	if (!f)
		f = python_module(index, folder, module);
	/* A name in the package's own __init__.py, or a folder without one. */
	if (!f && (!module.len || map_has_folder(index, buf_view(&path)) ||
		   is_made_at_run_time(index, folder, module)))
		return MAP_EXTERNAL;
	return map_found_or(f, MAP_MISSING, ret);
}

/* Of a package of the project, which does not have it. */
static bool is_missing(const struct map_index *index, struct view root, struct view module)
{
	auto_buf struct buf package = BUF_INIT(MAP_MAX_PATH);
	auto_buf struct buf path = BUF_INIT(MAP_MAX_PATH);
	auto_buf struct buf below = BUF_INIT(MAP_MAX_PATH);
	size_t dot = view_find(module, '.');

	return dot < module.len && map_join(&package, root, view_first(module, dot)) &&
	       is_package(index, buf_view(&package)) && map_dotted_path(module, &below) &&
	       map_join(&path, root, buf_view(&below)) && !map_has_folder(index, buf_view(&path)) &&
	       !is_made_at_run_time(index, root, module);
}

enum map_resolution map_resolve_python(const struct map_index *index, struct view folder,
				       struct view import, const struct map_file **ret)
{
	size_t colon = view_find(import, ':');
	struct view module = view_first(import, colon);
	struct view names = view_trim(view_from(import, colon + 1));
	struct view name = first_word(view_from(names, names.len && names.p[0] == '(')), root;
	const struct map_file *f;

	if (module.len && module.p[0] == '.')
		return resolve_relative(index, folder, module, name, ret);
	if (!module.len)
		module = name;
	if (!module.len)
		return MAP_EXTERNAL;
	root = import_root(index, folder);
	f = python_module(index, root, module);
	if (!f && !is_python_standard(view_first(module, view_find(module, '.')))) {
		if (is_missing(index, root, module))
			return MAP_MISSING;
		f = python_elsewhere(index, module);
	}
	return map_found_or(f, MAP_EXTERNAL, ret);
}
