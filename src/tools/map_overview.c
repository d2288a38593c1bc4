/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a folder: a listing, the imports of the files that are new or changed since the last
 * call, what they resolve to, the symbols of the files that matter most. What is kept with the
 * sandbox is which files there are and what each imports.
 */
#include "tools/ctags.h"
#include "tools/project_map.h"

enum {
	MAX_LISTING = 32 * 1024 * 1024,
	MAX_IMPORT_OUTPUT = 32 * 1024 * 1024, /* of one run of ripgrep */
	MAX_NAMES = 512 * 1024,               /* of files, for one run of ripgrep */
};

static const char map_kind[] = "project map";

/* What the sandbox keeps: the last complete map, if any. */
struct kept_map {
	struct map_files *files;
};

static void release_kept(void *state)
{
	struct kept_map *kept = state;

	map_files_free(kept->files);
	free(kept);
}

static struct kept_map *kept_map(struct sandbox *sandbox)
{
	struct kept_map *kept = sandbox_state(sandbox, map_kind);

	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	if (kept &&
	    sandbox_set_state(sandbox, map_kind, SANDBOX_STATE_OF_FILES, kept, release_kept) < 0) {
		free(kept);
		kept = NULL;
	}
	return kept;
}

/* For the next call; without memory it is made anew then. */
static void keep(struct sandbox *sandbox, struct map_files *files)
{
	struct kept_map *kept = kept_map(sandbox);

	if (!kept)
		return;
	map_files_free(kept->files);
	kept->files = map_files_ref(files);
}

void map_overview_done(struct map_walk *walk)
{
	map_files_free(walk->files);
	map_files_free(walk->old);
	buf_done(&walk->output);
	map_index_free(walk->index);
	free(walk->links.importers);
	map_shape_done(&walk->shape);
}

/* ---- what is said ---- */

static int compose(struct map_call *m)
{
	struct map_walk *walk = &m->walk;
	struct buf *out = &m->file.text;
	int r = map_report_shape(out, walk->files, &walk->shape);

	if (r == 0)
		r = map_report_top(out, walk->files, &walk->shape.top, &walk->links,
				   &m->file.ctags.symbols);
	if (r == 0)
		r = map_report_missing(out, walk->files, &walk->links);
	if (r == 0 && walk->is_late)
		r = buf_addf(out,
			     "[stopped after %d s: what some files import is missing here; call "
			     "again, or name a smaller folder]\n",
			     FILE_TOOL_SECONDS);
	if (r == 0)
		r = buf_add_str(out, "Next: project_map with path of a file for its outline, with "
				     "query for a name; read_file with path file:symbol.\n");
	return r;
}

static void report(struct tool_call *call, void *state)
{
	struct map_call *m = state;

	int r = compose(m);

	/* Names of absurd length fill it: what fits is said. */
	if (r < 0 && r != -ENOSPC) {
		tool_call_fail_memory(call);
		return;
	}
	keep(tool_call_sandbox(call), m->walk.files);
	map_finish(call, m);
}

static void find_symbols(struct tool_call *call, void *state)
{
	auto_buf struct buf files = BUF_INIT((size_t)MAP_TOP_FILES * (KEEPER_MAX_PATH + 3));
	struct map_call *m = state;
	const struct map_top *top = &m->walk.shape.top;
	int r = 0;

	for (size_t i = 0; r == 0 && i < top->n; i++) {
		struct view path = map_path(m->walk.files, top->file[i]);

		/* ctags takes one name a line. */
		if (memchr(path.p, '\n', path.len))
			continue;
		r = buf_addf(&files, "./%.*s\n", VIEW_ARG(path));
	}
	if (r < 0)
		tool_call_fail_memory(call);
	else
		ctags_of_list(call, &m->file, buf_view(&files), report);
}

/* ---- what imports resolve to ---- */

/* One file of the phase under way. */
static int look_at_file(void *state)
{
	struct map_walk *walk = &((struct map_call *)state)->walk;
	size_t from = walk->at, to = from + 1;
	int r = 0;

	switch (walk->phase) {
	case MAP_INDEX:
		map_index_add(walk->index, from, to);
		break;
	case MAP_LINK:
		map_links_add(&walk->links, walk->index, from, to);
		break;
	case MAP_SHAPE:
		r = map_shape_add(&walk->shape, walk->files, &walk->links, from, to);
		break;
	case MAP_DONE:
		return 0;
	}
	walk->at = to;
	if (to == walk->files->n) {
		walk->phase++;
		walk->at = 0;
	}
	return r < 0 ? r : 1;
}

static void resolve(struct tool_call *call, struct map_walk *walk)
{
	buf_done(&walk->output);
	walk->phase = MAP_INDEX;
	walk->at = 0;
	walk->index = map_index_new(walk->files);
	walk->links.importers = calloc(walk->files->n, sizeof(*walk->links.importers));
	if (!walk->index || !walk->links.importers || map_shape_init(&walk->shape) < 0)
		tool_call_fail_memory(call);
	else
		tool_call_work(call, look_at_file, find_symbols);
}

/* ---- imports ---- */

static void scan(struct tool_call *call, void *state);

static int read_import(void *state)
{
	struct map_walk *walk = &((struct map_call *)state)->walk;

	return map_scan_line(&walk->scan, walk->files);
}

static void on_imports(struct tool_call *call, void *state, struct tool_output *output)
{
	struct map_walk *walk = &((struct map_call *)state)->walk;

	if (!output->exit) {
		walk->is_late = true;
		map_files_scan_again(walk->files, walk->language, walk->batch, walk->at);
	} else if (!file_tool_ran_each(call, output, "ripgrep")) {
		return;
	}
	walk->files->is_cut |= output->cut;
	buf_done(&walk->output);
	walk->output = buf_move(&output->output);
	walk->scan = (struct map_scan){ .rest = buf_view(&walk->output) };
	tool_call_work(call, read_import, scan);
}

/* The next files whose imports are not known. */
static void scan(struct tool_call *call, void *state)
{
	static const char *const each[] = { "xargs", "-0", "-r", NULL };
	auto_buf struct buf names = BUF_INIT(MAX_NAMES + KEEPER_MAX_PATH + 3);
	struct map_call *m = state;
	struct map_walk *walk = &m->walk;
	struct tool_args args = { .n = 0 };
	int r;

	if (walk->is_late) {
		resolve(call, walk);
		return;
	}
	for (;;) {
		walk->batch = walk->at;
		r = map_files_unscanned(walk->files, walk->language, &walk->at, MAX_NAMES, &names);
		if (r < 0 || names.len || walk->language + 1 == MAP_OTHER)
			break;
		walk->language++;
		walk->at = 0;
	}
	if (r < 0) {
		tool_call_fail_memory(call);
	} else if (!names.len) {
		resolve(call, walk);
	} else {
		tool_args_add(&args, each);
		map_add_import_search(&args, walk->language);
		map_run(call, m, &args, buf_view(&names), MAX_IMPORT_OUTPUT, on_imports);
	}
}

/* ---- the listing ---- */

static int read_record(void *state)
{
	struct map_walk *walk = &((struct map_call *)state)->walk;
	struct view record;

	if (!view_split(&walk->listing, '\0', &record))
		return 0;
	return map_files_add(walk->files, record, walk->old) < 0 ? -ENOMEM : 1;
}

static void on_listed(struct tool_call *call, void *state)
{
	struct map_call *m = state;
	struct map_walk *walk = &m->walk;

	map_files_free(take_ptr(walk->old));
	if (walk->files->n) {
		scan(call, m);
	} else if (!walk->no_ignore) {
		/* Some projects ignore everything that is not committed by force. */
		walk->no_ignore = true;
		map_files_free(take_ptr(walk->files));
		map_overview(call, m);
	} else {
		tool_call_finish(call, NULL,
				 VIEW("There are no files (other than those that "
				      ".gitignore names).\n"));
	}
}

static void on_listing(struct tool_call *call, void *state, struct tool_output *output)
{
	const struct kept_map *kept = kept_map(tool_call_sandbox(call));
	struct map_call *m = state;
	struct map_walk *walk = &m->walk;

	if (!file_tool_ran_each(call, output, "ripgrep"))
		return;
	if (kept && kept->files && view_is(m->path, kept->files->root))
		walk->old = map_files_ref(kept->files);
	walk->files = map_files_new(m->path);
	if (!walk->files) {
		tool_call_fail_memory(call);
		return;
	}
	walk->files->is_cut = output->cut;
	buf_done(&walk->output);
	walk->output = buf_move(&output->output);
	walk->listing = buf_view(&walk->output);
	tool_call_work(call, read_record, on_listed);
}

void map_overview(struct tool_call *call, struct map_call *m)
{
	/*
	 * What floods is cut (SIGPIPE, 141): a list of this size is longer than any that a map has
	 * room for. Who is killed otherwise takes the shell along: half a list is none.
	 */
	static const char script[] =
		"command -v rg >/dev/null || exit 127\n"
		"export LC_ALL=C\n"
		"whole() { \"$@\"; case $? in 0|1|2|141) ;; *) kill -9 $$ ;; esac; }\n"
		"whole rg --no-config --files --hidden --no-messages --no-require-git --null "
		"--glob '!.git' --glob '!.pc' --glob '!node_modules' $2 -- \"$1\" | "
		"head -c 33554432 | "
		"whole sort -zu | xargs -0 -r stat --printf '%s %.9Y %n\\0' --\n";
	const char *const shell[] = { "/bin/sh",   "-c",
				      script,      "sh",
				      m->path_arg, m->walk.no_ignore ? "--no-ignore" : "",
				      NULL };
	struct tool_args args = { .n = 0 };

	tool_args_add(&args, shell);
	map_run(call, m, &args, VIEW(""), MAX_LISTING, on_listing);
}
