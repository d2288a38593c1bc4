/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool project_map: a folder's shape, a file's outline, or a name. ripgrep and ctags do the
 * reading in the box; what they say is put together here.
 */
#include "tools/project_map.h"

#include "tools/grep.h"

enum { MAX_QUERY = 200 };

void map_run(struct tool_call *call, struct map_call *m, const struct tool_args *args,
	     struct view input, size_t max_output, tool_output_fn *fn)
{
	const struct tool_run helper = { .argv = args->argv,
					 .input = input,
					 .max_output = max_output,
					 .timeout = file_tool_time_left(call, &m->file) };

	tool_call_run(call, &helper, fn);
}

void map_add_import_search(struct tool_args *args, enum map_language language)
{
	const char *const search[] = { "--no-line-number",
				       "--only-matching",
				       "--replace",
				       map_import_replacement(language),
				       "--regexp",
				       map_import_pattern(language),
				       "--",
				       NULL };

	tool_args_add(args, grep_options);
	tool_args_add(args, search);
}

void map_finish(struct tool_call *call, const struct map_call *m)
{
	tool_call_finish(call, NULL, buf_view(&m->file.text));
}

static int check(struct tool_call *call, void *state)
{
	struct map_call *m = state;

	if (tool_call_path(call, "path", TOOL_PATH_OPTIONAL, &m->path) < 0 ||
	    file_tool_string(call, "query", &m->query) < 0)
		return -1;
	while (view_ends(m->path, VIEW("/")))
		m->path.len--;
	if (m->query.len > MAX_QUERY || memchr(m->query.p ? m->query.p : "", '\n', m->query.len)) {
		tool_call_fail(call, "query must be one name; to search for text use find_files");
		return -1;
	}
	return 0;
}

static void on_stat(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	auto_buf struct buf path = BUF_INIT(KEEPER_MAX_PATH + 3);
	struct map_call *m = state;

	(void)fd;
	if (file_tool_failed(call, reply))
		return;
	if (buf_add_str(&path, m->path.len ? "./" : ".") < 0 || buf_add_view(&path, m->path) < 0) {
		tool_call_fail_memory(call);
		return;
	}
	m->path_arg = buf_take(&path);
	buf_init(&m->file.text, MAP_MAX_REPORT);
	if (m->query.len)
		map_query(call, m);
	else if (view_is(reply->text, "a folder"))
		map_overview(call, m);
	else
		map_outline(call, m);
}

static void ready(struct tool_call *call, void *state)
{
	struct map_call *m = state;
	const struct keeper_request stat = { .verb = KEEPER_STAT, .path = m->path };

	tool_call_files(call, &stat, -1, on_stat);
}

static void done(void *state)
{
	struct map_call *m = state;

	file_call_done(&m->file);
	map_overview_done(&m->walk);
	buf_done(&m->uses);
	free(m->path_arg);
}

static const struct tool_begin begin = {
	.error_tag = "file",
	.state_size = sizeof(struct map_call),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void project_map_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_BOX, &begin);
}
