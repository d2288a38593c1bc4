/* SPDX-License-Identifier: Apache-2.0 */
/* The tool edit_file: exact replacement, in a file or one of its symbols, and undo. */
#include "sys/io.h"
#include "tools/file_tools.h"
#include "tools/placeholder.h"
#include "tools/symbol_lines.h"
#include "tools/syntax.h"

enum edit_undo { EDIT_NO_UNDO, EDIT_UNDO_LAST, EDIT_UNDO_ALL };

struct edit_call {
	struct file_call call; /* first */
	struct view path, file, old_text, new_text;
	bool replace_all;
	enum edit_undo undo;
};

/* Models also say true, or "1". */
static int get_undo(struct tool_call *call, enum edit_undo *ret)
{
	const json_t *value = json_object_get(tool_call_arguments(call), "undo");
	struct view undo = json_view(value);

	if (json_is_true(value) || view_is_nocase(undo, "last") || view_is_nocase(undo, "true"))
		*ret = EDIT_UNDO_LAST;
	else if (view_is_nocase(undo, "all"))
		*ret = EDIT_UNDO_ALL;
	else if (undo.len && !view_is_nocase(undo, "false") && !view_is_nocase(undo, "none")) {
		tool_call_fail(call, "undo must be last or all");
		return -1;
	}
	return 0;
}

static int check_texts(struct tool_call *call, struct edit_call *e, int has_new)
{
	struct view file, name;

	if (e->undo != EDIT_NO_UNDO) {
		if (e->old_text.len || e->new_text.len) {
			tool_call_fail(call,
				       "undo takes no old_text and new_text; do one at a time");
			return -1;
		}
		return 0;
	}
	if (!has_new) {
		tool_call_fail(call, "new_text is missing; to delete old_text give \"\"");
		return -1;
	}
	if (!e->old_text.len && !e->new_text.len) {
		tool_call_fail(call, "old_text is missing: give the exact text to be replaced");
		return -1;
	}
	if (!e->old_text.len && symbol_lines_split(e->path, &file, &name) && !e->new_text.len) {
		tool_call_fail(call, "new_text is missing");
		return -1;
	}
	return 0;
}

static int check(struct tool_call *call, void *state)
{
	const json_t *args = tool_call_arguments(call);
	struct edit_call *e = state;
	struct err err;
	int has_new;

	if (tool_call_path(call, "path", TOOL_PATH_REQUIRED, &e->path) < 0 ||
	    get_undo(call, &e->undo) < 0)
		return -1;
	has_new = json_get_text(args, "new_text", &e->new_text, &err);
	if (has_new < 0 || json_get_text(args, "old_text", &e->old_text, &err) < 0 ||
	    json_get_bool(args, "replace_all", &e->replace_all, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	e->file = e->path;
	return check_texts(call, e, has_new);
}

static int add_warning(struct edit_call *e)
{
	struct view line;

	if (!placeholder_find(e->new_text, &line))
		return 0;
	return buf_addf(&e->call.text,
			"Warning: new_text has what looks like a placeholder: %.*s\nIf it stands "
			"for code, that code is missing in the file now; undo brings it back.\n",
			VIEW_ARG(line));
}

static void on_edited(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	struct edit_call *e = state;

	(void)fd;
	if (file_tool_failed(call, reply))
		return;
	buf_init(&e->call.text, KEEPER_MAX_TEXT + 4096);
	if (buf_add_view(&e->call.text, reply->text) < 0 || add_warning(e) < 0) {
		tool_call_fail(call, "the server is out of memory, but the file was edited");
		return;
	}
	syntax_check_and_finish(call, &e->call, e->file);
}

static void send_edit(struct tool_call *call, struct edit_call *e, uint64_t first, uint64_t lines)
{
	auto_buf struct buf both = BUF_INIT(KEEPER_MAX_CONTENT);
	const struct keeper_request request = {
		.verb = KEEPER_EDIT,
		.flags = (e->replace_all ? KEEPER_REPLACE_ALL : 0) | (lines ? KEEPER_LINES : 0),
		.number = e->old_text.len,
		.offset = first,
		.limit = lines,
		.path = e->file,
	};

	if (buf_add_view(&both, e->old_text) < 0 || buf_add_view(&both, e->new_text) < 0) {
		tool_call_fail(call, "old_text and new_text are too long together");
		return;
	}
	auto_fd int fd = io_memory_file("edit", buf_view(&both));
	if (fd < 0) {
		tool_call_fail_memory(call);
		return;
	}
	tool_call_files(call, &request, fd, on_edited);
}

static void edit_symbol(struct tool_call *call, void *state)
{
	struct edit_call *e = state;

	send_edit(call, e, e->call.first, e->call.last - e->call.first + 1);
}

static void send_undo(struct tool_call *call, struct edit_call *e)
{
	const struct keeper_request undo = { .verb = KEEPER_UNDO,
					     .flags = e->undo == EDIT_UNDO_ALL ? KEEPER_ALL : 0,
					     .path = e->file };

	tool_call_files(call, &undo, -1, on_edited);
}

/* A file whose own name has a colon comes first. */
static void on_stat(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	struct edit_call *e = state;
	struct view file, name = VIEW("");

	(void)fd;
	if (reply->error == ENOENT && symbol_lines_split(e->path, &file, &name))
		e->file = file;
	/* An edit of a symbol is one of its file. */
	if (e->undo != EDIT_NO_UNDO)
		send_undo(call, e);
	else if (e->file.len != e->path.len)
		symbol_lines_find(call, &e->call, e->file, name, edit_symbol);
	else
		send_edit(call, e, 0, 0);
}

static void ready(struct tool_call *call, void *state)
{
	struct edit_call *e = state;
	const struct keeper_request stat = { .verb = KEEPER_STAT, .path = e->path };
	struct view file, name;

	if (symbol_lines_split(e->path, &file, &name))
		tool_call_files(call, &stat, -1, on_stat);
	else if (e->undo != EDIT_NO_UNDO)
		send_undo(call, e);
	else
		send_edit(call, e, 0, 0);
}

static void done(void *state)
{
	struct edit_call *e = state;

	file_call_done(&e->call);
}

static const struct tool_begin begin = {
	.error_tag = "file",
	.state_size = sizeof(struct edit_call),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void edit_file_tool(struct mcp_call *call, void *userdata)
{
	const json_t *args = mcp_call_arguments(call);
	struct view path = json_view(json_object_get(args, "path")), file, name;

	/* Symbols are found by a program. */
	tool_call_begin(call, userdata,
			symbol_lines_split(path, &file, &name) ? SANDBOX_NEED_BOX
							       : SANDBOX_NEED_FILES,
			&begin);
}
