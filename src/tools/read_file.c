/* SPDX-License-Identifier: Apache-2.0 */
/* The tool read_file: a window of numbered lines, or one symbol. */
#include "tools/file_tools.h"
#include "tools/symbol_lines.h"

struct read_call {
	struct file_call file; /* first */
	struct view path;
	uint32_t offset, limit;
};

static int check(struct tool_call *call, void *state)
{
	struct read_call *r = state;
	struct err err;

	if (tool_call_path(call, "path", TOOL_PATH_OPTIONAL, &r->path) < 0)
		return -1;
	if (json_get_u32(tool_call_arguments(call), "offset", 0, UINT32_MAX, &r->offset, &err) <
		    0 ||
	    json_get_u32(tool_call_arguments(call), "limit", 0, UINT32_MAX, &r->limit, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	return 0;
}

static void on_read(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	(void)state;
	(void)fd;
	if (!file_tool_failed(call, reply))
		tool_call_finish(call, NULL, reply->text);
}

static void read_symbol(struct tool_call *call, void *state)
{
	struct read_call *r = state;
	const struct keeper_request request = {
		.verb = KEEPER_READ,
		.offset = r->file.first,
		.limit = r->file.last - r->file.first + 1,
		.path = view_str(r->file.symbol_path + 2), /* without "./" */
	};

	tool_call_files(call, &request, -1, on_read);
}

/* A file whose own name has a colon comes first. */
static void on_literal(struct tool_call *call, void *state, const struct keeper_reply *reply,
		       int fd)
{
	struct read_call *r = state;
	struct view file, name;

	if (reply->error == ENOENT && symbol_lines_split(r->path, &file, &name))
		symbol_lines_find(call, &r->file, file, name, read_symbol);
	else
		on_read(call, state, reply, fd);
}

static void ready(struct tool_call *call, void *state)
{
	struct read_call *r = state;
	const struct keeper_request request = {
		.verb = KEEPER_READ, .offset = r->offset, .limit = r->limit, .path = r->path
	};

	tool_call_files(call, &request, -1, on_literal);
}

static void done(void *state)
{
	struct read_call *r = state;

	file_call_done(&r->file);
}

static const struct tool_begin begin = {
	.error_tag = "file",
	.state_size = sizeof(struct read_call),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void read_file_tool(struct mcp_call *call, void *userdata)
{
	struct view path = json_view(json_object_get(mcp_call_arguments(call), "path")), file, name;

	/* Symbols are found by a program. */
	tool_call_begin(call, userdata,
			symbol_lines_split(path, &file, &name) ? SANDBOX_NEED_BOX
							       : SANDBOX_NEED_FILES,
			&begin);
}
