/* SPDX-License-Identifier: Apache-2.0 */
/* A name: where it is defined, by ctags in the files that have it, and the lines that do. */
#include "tools/ctags.h"
#include "tools/grep.h"
#include "tools/project_map.h"

enum { MAX_FILES = 400 }; /* searched for the definition */

static int report_query(struct map_call *m)
{
	auto_buf struct buf definitions = BUF_INIT(MAP_MAX_REPORT / 2);
	struct buf *out = &m->file.text;
	struct grep_counts counts;
	uint64_t n;
	int r = map_report_definitions(&definitions, &m->file.ctags.symbols, m->query, &n);

	if (r == 0)
		r = n ? buf_add_str(out, "Defined:\n")
		      : buf_addf(out,
				 "No definition of %.*s is known (a macro, a generated or an "
				 "outside name, perhaps).\n",
				 VIEW_ARG(m->query));
	if (r == 0)
		r = buf_add_view(out, buf_view(&definitions));
	if (r == 0)
		r = buf_add_str(out, "Lines with the name:\n");
	if (r == 0)
		r = grep_format(out, buf_view(&m->uses), &counts);
	if (r == 0)
		r = buf_addf(out, "[%s%llu line%s in %llu file%s, %llu shown]\n",
			     m->uses_cut ? "at least " : "", (unsigned long long)counts.matches,
			     counts.matches == 1 ? "" : "s", (unsigned long long)counts.files,
			     counts.files == 1 ? "" : "s", (unsigned long long)counts.shown);
	return r;
}

static void on_symbols(struct tool_call *call, void *state)
{
	struct map_call *m = state;

	int r = report_query(m);

	/* Names of absurd length fill it: what fits is said. */
	if (r < 0 && r != -ENOSPC)
		tool_call_fail_memory(call);
	else
		map_finish(call, m);
}

/* The files in ripgrep's output, one a line, for ctags. */
static int files_with_uses(struct view output, struct buf *files)
{
	struct view last = VIEW_INIT(""), path, line;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < MAX_FILES && view_split(&output, '\0', &path) &&
	       view_split(&output, '\n', &line)) {
		if (view_eq(path, last) || memchr(path.p, '\n', path.len))
			continue;
		last = path;
		n++;
		r = buf_add_view(files, path);
		if (r == 0)
			r = buf_add_char(files, '\n');
	}
	return r;
}

static void say_none(struct tool_call *call, struct map_call *m)
{
	if (buf_addf(&m->file.text,
		     "%.*s is nowhere in the text of these files (files that .gitignore names are "
		     "not searched).\n",
		     VIEW_ARG(m->query)) < 0)
		tool_call_fail_memory(call);
	else
		map_finish(call, m);
}

static void on_uses(struct tool_call *call, void *state, struct tool_output *output)
{
	auto_buf struct buf files = BUF_INIT((size_t)MAX_FILES * (KEEPER_MAX_PATH + 3));
	struct map_call *m = state;

	if (!file_tool_ran(call, output, "ripgrep"))
		return;
	if (!output->output.len) {
		say_none(call, m);
		return;
	}
	m->uses = buf_move(&output->output);
	m->uses_cut = output->cut;
	if (files_with_uses(buf_view(&m->uses), &files) < 0)
		tool_call_fail_memory(call);
	else
		ctags_of_list(call, &m->file, buf_view(&files), on_symbols);
}

void map_query(struct tool_call *call, struct map_call *m)
{
	/* "Parser.run" is searched for as run. */
	auto_free char *name = view_dup(symbol_last_part(m->query));
	const char *const search[] = { "--line-number",
				       "--hidden",
				       "--no-require-git",
				       "--glob=!.git",
				       "--sort=path",
				       "-M300",
				       "--max-columns-preview",
				       "--fixed-strings",
				       "--word-regexp",
				       "--regexp",
				       name,
				       "--",
				       m->path_arg,
				       NULL };
	struct tool_args args = { .n = 0 };

	if (!name) {
		tool_call_fail_memory(call);
		return;
	}
	tool_args_add(&args, grep_options);
	tool_args_add(&args, search);
	map_run(call, m, &args, VIEW(""), GREP_MAX_OUTPUT, on_uses);
}
