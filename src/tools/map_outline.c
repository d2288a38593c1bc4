/* SPDX-License-Identifier: Apache-2.0 */
/* One file: its symbols with their lines, and what it imports. */
#include "base/show.h"
#include "tools/ctags.h"
#include "tools/project_map.h"

static int add_imports(struct map_call *m, struct view output)
{
	struct view path, import;
	size_t n = 0;
	int r = 0;

	while (r == 0 && view_split(&output, '\0', &path) && view_split(&output, '\n', &import)) {
		r = buf_add_str(&m->file.text, n++ ? ", " : "Imports: ");
		if (r == 0)
			r = map_report_import(&m->file.text, map_language_of(m->path), import);
	}
	return r < 0 || !n ? r : buf_add_char(&m->file.text, '\n');
}

static void on_imports(struct tool_call *call, void *state, struct tool_output *output)
{
	struct map_call *m = state;
	int r;

	if (!file_tool_ran(call, output, "ripgrep"))
		return;
	r = add_imports(m, buf_view(&output->output));
	if (r < 0 && r != -ENOSPC)
		tool_call_fail_memory(call);
	else
		map_finish(call, m);
}

static void find_imports(struct tool_call *call, struct map_call *m)
{
	const char *const file[] = { m->path_arg, NULL };
	struct tool_args args = { .n = 0 };

	map_add_import_search(&args, map_language_of(m->path));
	tool_args_add(&args, file);
	map_run(call, m, &args, VIEW(""), MAP_MAX_REPORT / 2, on_imports);
}

static void on_symbols(struct tool_call *call, void *state)
{
	struct map_call *m = state;
	int r = show_add(&m->file.text, m->path);

	if (r == 0)
		r = buf_add_str(&m->file.text, " (lines, kind, name; address: ");
	if (r == 0)
		r = show_add(&m->file.text, m->path);
	if (r == 0)
		r = buf_add_str(&m->file.text, ":NAME)\n");
	if (r == 0)
		r = map_report_outline(&m->file.text, &m->file.ctags.symbols);
	if (r < 0)
		tool_call_fail_memory(call);
	else if (map_import_pattern(map_language_of(m->path)))
		find_imports(call, m);
	else
		map_finish(call, m);
}

void map_outline(struct tool_call *call, struct map_call *m)
{
	ctags_of_file(call, &m->file, m->path_arg, on_symbols);
}
