/* SPDX-License-Identifier: Apache-2.0 */
/* The tool find_files: lists and globs by the keeper, text search by ripgrep in the box. */
#include "tools/file_tools.h"
#include "tools/grep.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MAX_CONTEXT = 20, RG_NO_MATCH = 1, RG_FAILED = 2, NOT_FOUND = 127 };

struct find_call {
	struct file_call file; /* first */
	struct view path, name, text;
	uint32_t context;
	bool is_literal; /* the text is no regular expression after all */
	bool is_late;    /* the search has not come to its end */
	char *name_arg, *text_arg, *path_arg;
};

static int check(struct tool_call *call, void *state)
{
	struct find_call *f = state;
	struct err err;

	if (tool_call_path(call, "path", TOOL_PATH_OPTIONAL, &f->path) < 0 ||
	    file_tool_string(call, "name", &f->name) < 0 ||
	    file_tool_string(call, "text", &f->text) < 0)
		return -1;
	if (f->name.len > KEEPER_MAX_PATH || f->text.len > KEEPER_MAX_PATH) {
		tool_call_fail(call, "name and text may have %d bytes at most", KEEPER_MAX_PATH);
		return -1;
	}
	if (json_get_u32(tool_call_arguments(call), "context", 0, MAX_CONTEXT, &f->context, &err) <
	    0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	return 0;
}

/* ---- by name ---- */

static void on_list(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	(void)state;
	(void)fd;
	if (!file_tool_failed(call, reply))
		tool_call_finish(call, NULL, reply->text);
}

static void list(struct tool_call *call, void *state)
{
	struct find_call *f = state;
	const struct keeper_request request = { .verb = KEEPER_LIST,
						.path = f->path,
						.path2 = f->name };

	tool_call_files(call, &request, -1, on_list);
}

/* ---- by text ---- */

static int add_summary(struct find_call *f, const struct grep_counts *counts, bool is_cut,
		       struct buf *out)
{
	int r = buf_addf(out, "%s%" PRIu64 " matching %s in %" PRIu64 " %s",
			 is_cut ? "at least " : "", counts->matches,
			 counts->matches == 1 ? "line" : "lines", counts->files,
			 counts->files == 1 ? "file" : "files");

	if (r == 0 && f->is_literal)
		r = buf_add_str(out, " (searched for as plain text: it is no valid regular "
				     "expression)");
	if (r == 0 && counts->shown < counts->matches)
		r = buf_addf(out, ", the first %" PRIu64 " shown; narrow it by path or name",
			     counts->shown);
	return r < 0 ? r : buf_add_char(out, '\n');
}

static void show_matches(struct tool_call *call, struct find_call *f, struct view output,
			 bool is_cut)
{
	auto_buf struct buf lines = BUF_INIT((size_t)GREP_MAX_BYTES * 2);
	struct grep_counts counts;
	int r = grep_format(&lines, output, &counts);

	buf_init(&f->file.text, GREP_MAX_BYTES * 2 + 4096);
	if (r == 0)
		r = add_summary(f, &counts, is_cut, &f->file.text);
	if (r == 0)
		r = buf_add_view(&f->file.text, buf_view(&lines));
	if (r == 0 && f->is_late)
		r = buf_addf(&f->file.text, "[stopped after %d s; the rest was not searched]\n",
			     FILE_TOOL_SECONDS);
	if (r < 0)
		tool_call_fail_memory(call);
	else
		tool_call_finish(call, NULL, buf_view(&f->file.text));
}

/* Neither as a regular expression nor as plain text; ripgrep's own words are lost. */
static void fail_search(struct tool_call *call, const struct find_call *f)
{
	if (memchr(f->text.p, '\n', f->text.len))
		tool_call_fail(call, "nothing was searched: text must be one line; search for one "
				     "line of it with context");
	else if (f->name.len)
		tool_call_fail(call, "nothing was searched: name is no valid glob; close its "
				     "brackets and braces, or put \\ before those that are meant "
				     "as they are");
	else
		tool_call_fail(call, "nothing was searched: ripgrep failed; use run_command with "
				     "rg to see why");
}

static void search(struct tool_call *call, struct find_call *f);

static void on_found(struct tool_call *call, void *state, struct tool_output *output)
{
	static const struct view none = VIEW_INIT(
		"No match. (Files ignored by .gitignore and binary files are not searched; "
		"the search is case-sensitive, (?i) at the beginning makes it not so.)\n");
	struct find_call *f = state;
	const struct engine_exit *exit = output->exit;

	f->is_late = !exit;
	if (f->is_late && !output->output.len) {
		tool_call_fail(call, "the search took more than %d s; narrow it by path or name",
			       FILE_TOOL_SECONDS);
	} else if (f->is_late) {
		show_matches(call, f, buf_view(&output->output), true);
	} else if (exit->kind == ENGINE_EXITED && exit->value == NOT_FOUND) {
		tool_call_fail(call, "ripgrep is not installed in this sandbox; use run_command "
				     "with grep -rn");
	} else if (!file_tool_ran(call, output, "ripgrep")) {
		return;
	} else if (output->output.len) {
		show_matches(call, f, buf_view(&output->output), output->cut);
	} else if (exit->value != RG_FAILED) {
		tool_call_finish(call, NULL, none);
	} else if (!f->is_literal) {
		f->is_literal = true;
		search(call, f);
	} else {
		fail_search(call, f);
	}
}

static void search(struct tool_call *call, struct find_call *f)
{
	char context[16], columns[16];
	const char *const search[] = {
		"--line-number",
		"--hidden",
		"--no-require-git",
		"--sort=path",
		"--glob=!.git",
		columns,
		"--max-columns-preview",
		"-C",
		context,
		f->text_arg,
		NULL,
	};
	const char *const literal[] = { f->is_literal ? "--fixed-strings" : NULL, NULL };
	const char *const name[] = { f->name_arg, NULL };
	const char *const path[] = { "--", f->path_arg, NULL };
	struct tool_args args = { .n = 0 };
	const struct tool_run run = { .argv = args.argv,
				      .max_output = GREP_MAX_OUTPUT,
				      .timeout = file_tool_time_left(call, &f->file) };

	(void)snprintf(context, sizeof(context), "%u", f->context);
	(void)snprintf(columns, sizeof(columns), "-M%d", GREP_MAX_COLUMNS);
	tool_args_add(&args, grep_options);
	tool_args_add(&args, search);
	tool_args_add(&args, literal);
	tool_args_add(&args, name);
	tool_args_add(&args, path);
	tool_call_run(call, &run, on_found);
}

/*
 * `name` below `path`, as the keeper matches it: ripgrep would match one with a slash below
 * /workspace, and take a "!" at its beginning for the opposite.
 */
static char *glob_argument(struct view path, struct view name)
{
	auto_buf struct buf b = BUF_INIT(3 * KEEPER_MAX_PATH + 32);
	bool has_slash = memchr(name.p, '/', name.len);
	int r = buf_add_str(&b, "--glob=/");

	while (view_ends(path, VIEW("/")))
		path.len--;
	while (view_starts(name, VIEW("/")))
		name = view_from(name, 1);
	for (size_t i = 0; r == 0 && i < path.len; i++) {
		if (strchr("*?[]{}\\", path.p[i]))
			r = buf_add_char(&b, '\\');
		if (r == 0)
			r = buf_add_char(&b, path.p[i]);
	}
	if (r == 0 && path.len)
		r = buf_add_char(&b, '/');
	if (r == 0 && !has_slash)
		r = buf_add_str(&b, "**/");
	if (r == 0)
		r = buf_add_view(&b, name);
	return r == 0 ? buf_take(&b) : NULL;
}

static char *argument(const char *prefix, struct view v)
{
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_PATH + 32);

	if (buf_add_str(&b, prefix) < 0 || buf_add_view(&b, v) < 0)
		return NULL;
	return buf_take(&b);
}

/* ripgrep's own words about a missing path are lost, so the keeper is asked first. */
static void on_stat(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	struct find_call *f = state;

	(void)fd;
	if (file_tool_failed(call, reply))
		return;
	/* ripgrep opens what it is given, and would wait for somebody to write into a pipe. */
	if (!S_ISREG(reply->mode) && !S_ISDIR(reply->mode)) {
		tool_call_fail(call, "path is %.*s; only files and folders can be searched",
			       VIEW_ARG(reply->text));
		return;
	}
	f->text_arg = argument("--regexp=", f->text);
	f->path_arg = argument("./", f->path);
	f->name_arg = f->name.len ? glob_argument(f->path, f->name) : NULL;
	if (!f->text_arg || !f->path_arg || (f->name.len && !f->name_arg))
		tool_call_fail_memory(call);
	else
		search(call, f);
}

static void ready_search(struct tool_call *call, void *state)
{
	struct find_call *f = state;
	const struct keeper_request stat = { .verb = KEEPER_STAT, .path = f->path };

	tool_call_files(call, &stat, -1, on_stat);
}

static void done(void *state)
{
	struct find_call *f = state;

	file_call_done(&f->file);
	free(f->name_arg);
	free(f->text_arg);
	free(f->path_arg);
}

static const struct tool_begin begin_list = {
	.error_tag = "file",
	.state_size = sizeof(struct find_call),
	.state_done = done,
	.check = check,
	.ready = list,
};

static const struct tool_begin begin_search = {
	.error_tag = "file",
	.state_size = sizeof(struct find_call),
	.state_done = done,
	.check = check,
	.ready = ready_search,
};

void find_files_tool(struct mcp_call *call, void *userdata)
{
	struct view text = json_view(json_object_get(mcp_call_arguments(call), "text"));

	if (text.len)
		tool_call_begin(call, userdata, SANDBOX_NEED_BOX, &begin_search);
	else
		tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin_list);
}
