/* SPDX-License-Identifier: Apache-2.0 */
/* The tool write_file: a new file, whole or not at all. */
#include "sys/io.h"
#include "tools/file_tools.h"
#include "tools/placeholder.h"
#include "tools/syntax.h"

#include <inttypes.h>

struct write_call {
	struct file_call file; /* first */
	struct view path, content;
};

static int check(struct tool_call *call, void *state)
{
	struct write_call *w = state;
	struct err err;
	int r;

	buf_init(&w->file.text, KEEPER_MAX_TEXT + 4096);
	if (tool_call_path(call, "path", TOOL_PATH_REQUIRED, &w->path) < 0)
		return -1;
	r = json_get_text(tool_call_arguments(call), "content", &w->content, &err);
	if (r < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	if (r == 0) {
		tool_call_fail(call, "content is missing; an empty file is written with \"\"");
		return -1;
	}
	return 0;
}

static void on_written(struct tool_call *call, void *state, const struct keeper_reply *reply,
		       int fd)
{
	struct write_call *w = state;
	struct view line;
	uint64_t at;
	int r;

	(void)fd;
	if (file_tool_failed(call, reply))
		return;
	r = buf_add_view(&w->file.text, reply->text);
	at = placeholder_find(w->content, &line);
	if (r == 0 && at)
		r = buf_addf(&w->file.text,
			     "Warning: line %" PRIu64 " looks like a placeholder: %.*s\nThe file "
			     "holds exactly what you gave; if that line stands for code, the code "
			     "is missing. Put it in with edit_file.\n",
			     at, VIEW_ARG(line));
	if (r < 0) {
		tool_call_fail(call, "the server is out of memory, but the file was written");
		return;
	}
	syntax_check_and_finish(call, &w->file, w->path);
}

static void ready(struct tool_call *call, void *state)
{
	struct write_call *w = state;
	const struct keeper_request request = { .verb = KEEPER_WRITE, .path = w->path };
	auto_fd int fd = io_memory_file("content", w->content);

	if (fd < 0) {
		tool_call_fail_memory(call);
		return;
	}
	tool_call_files(call, &request, fd, on_written);
}

static void done(void *state)
{
	struct write_call *w = state;

	file_call_done(&w->file);
}

static const struct tool_begin begin = {
	.error_tag = "file",
	.state_size = sizeof(struct write_call),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void write_file_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin);
}
