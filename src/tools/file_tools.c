/* SPDX-License-Identifier: Apache-2.0 */
/* The tools for files and code: descriptions, registration, what they share. */
#include "tools/file_tools.h"

#include "sys/clock.h"

/* Exit statuses. */
enum {
	PROGRAM_FAILED = 2, /* ripgrep: with some files at least */
	XARGS_ONE_FAILED = 123,
	NOT_FOUND = 127,
};

static const struct mcp_tool tools[] = {
	{ .name = "read_file",
	  .title = "Read file",
	  .description =
		  "Read a text file under /workspace as numbered lines, or list a folder. "
		  "path may be file:symbol to read one function or class (main.py:Parser.run).",
	  .properties =
		  "{\"path\":{\"type\":\"string\",\"description\":\"File, folder or "
		  "file:symbol\"},"
		  "\"offset\":{\"type\":\"integer\",\"description\":\"First line; default 1\"},"
		  "\"limit\":{\"type\":\"integer\",\"description\":\"Number of lines; default as "
		  "many as fit\"}}",
	  .required = "[\"path\"]",
	  .takes_sandbox = true,
	  .read_only = true,
	  .fn = read_file_tool },
	{ .name = "write_file",
	  .title = "Write file",
	  .description =
		  "Create a new file under /workspace with its folders. Refuses to replace an "
		  "existing file: use edit_file. Give the whole content, no placeholders.",
	  .properties = "{\"path\":{\"type\":\"string\",\"description\":\"New file\"},"
			"\"content\":{\"type\":\"string\",\"description\":\"Whole text\"}}",
	  .required = "[\"path\",\"content\"]",
	  .takes_sandbox = true,
	  .fn = write_file_tool },
	{ .name = "edit_file",
	  .title = "Edit file",
	  .description =
		  "Replace exact text in a file that you have read since its last change. old_text "
		  "must occur once (or set replace_all): copy it from read_file without the line "
		  "numbers, with its indentation. With path file:symbol and no old_text, new_text "
		  "replaces that whole function or class. undo takes edits back.",
	  .properties =
		  "{\"path\":{\"type\":\"string\",\"description\":\"File or file:symbol\"},"
		  "\"old_text\":{\"type\":\"string\",\"description\":\"Text to replace, "
		  "unique in the file\"},"
		  "\"new_text\":{\"type\":\"string\",\"description\":\"Its replacement; empty "
		  "deletes\"},"
		  "\"replace_all\":{\"type\":\"boolean\",\"description\":\"Every occurrence\"},"
		  "\"undo\":{\"type\":\"string\",\"enum\":[\"last\",\"all\"],\"description\":"
		  "\"Instead of an edit: take back the last edit of path, or all\"}}",
	  .required = "[\"path\"]",
	  .takes_sandbox = true,
	  .destructive = true,
	  .fn = edit_file_tool },
	{ .name = "find_files",
	  .title = "Find files",
	  .description =
		  "Find files by name and search in their text. Without name and text: list the "
		  "folder path. .gitignore is respected for text, node_modules and the like are "
		  "skipped unless named.",
	  .properties =
		  "{\"path\":{\"type\":\"string\",\"description\":\"Folder (for text also a file); "
		  "default /workspace\"},"
		  "\"name\":{\"type\":\"string\",\"description\":\"Glob, e.g. *.py or "
		  "src/**/test_*.{c,h}\"},"
		  "\"text\":{\"type\":\"string\",\"description\":\"Regular expression to search "
		  "for in the files\"},"
		  "\"context\":{\"type\":\"integer\",\"description\":\"Lines around each match; "
		  "default 0\"}}",
	  .required = "[]",
	  .takes_sandbox = true,
	  .read_only = true,
	  .fn = find_files_tool },
	{ .name = "project_map",
	  .title = "Project map",
	  .description =
		  "Understand code without reading it all. For a folder: languages, entry points, "
		  "most important files with their symbols, imports that resolve to nothing. For a "
		  "file: its outline and imports. With query: where that name is defined and used.",
	  .properties =
		  "{\"path\":{\"type\":\"string\",\"description\":\"Folder or file; default "
		  "/workspace\"},"
		  "\"query\":{\"type\":\"string\",\"description\":\"Name of a function, class, "
		  "variable\"}}",
	  .required = "[]",
	  .takes_sandbox = true,
	  .read_only = true,
	  .fn = project_map_tool },
};

int file_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (tool_env_add(env, server, &tools[i], err) < 0)
			return -1;
	return 0;
}

void file_call_done(struct file_call *f)
{
	free(f->symbol_path);
	symbols_done(&f->ctags.symbols);
	buf_done(&f->ctags.output);
	buf_done(&f->text);
}

bool file_tool_failed(struct tool_call *call, const struct keeper_reply *reply)
{
	if (!reply->error)
		return false;
	tool_call_fail(call, "%.*s", VIEW_ARG(reply->text));
	return true;
}

usec file_tool_time_left(struct tool_call *call, struct file_call *f)
{
	usec now = clock_monotonic(tool_call_env(call)->clock);

	if (!f->deadline)
		f->deadline = now + FILE_TOOL_SECONDS * USEC_PER_SEC;
	return f->deadline > now ? f->deadline - now : 0;
}

static const char *why_broken(const struct engine_exit *exit)
{
	if (exit->kind == ENGINE_NOT_STARTED || exit->pids_refused)
		return "the sandbox may have no more processes; end some (job, reset_sandbox)";
	if (exit->oom_kills)
		return "the sandbox is out of memory; end what uses it, or name a smaller folder "
		       "or file as path";
	return "it cannot be run or was killed; use run_command to see why";
}

/* What a program did not get to say must not be taken for what is not there. */
static bool ran(struct tool_call *call, const struct tool_output *output, const char *program,
		bool is_answer)
{
	const struct engine_exit *exit = output->exit;
	bool has_exited = exit && exit->kind == ENGINE_EXITED;

	if (output->cut || (has_exited && is_answer))
		return true;
	if (!exit)
		tool_call_fail(call, "%s took too long; name a smaller folder or file as path",
			       program);
	else if (has_exited && exit->value == NOT_FOUND)
		tool_call_fail(call, "%s is not installed in this sandbox; use run_command",
			       program);
	else
		tool_call_fail(call, "%s did not come to its end: %s", program, why_broken(exit));
	return false;
}

bool file_tool_ran(struct tool_call *call, const struct tool_output *output, const char *program)
{
	return ran(call, output, program, output->exit && output->exit->value <= PROGRAM_FAILED);
}

bool file_tool_ran_each(struct tool_call *call, const struct tool_output *output,
			const char *program)
{
	return ran(call, output, program,
		   output->exit &&
			   (output->exit->value == 0 || output->exit->value == XARGS_ONE_FAILED));
}

int file_tool_string(struct tool_call *call, const char *name, struct view *ret)
{
	struct err err;

	if (json_get_string(tool_call_arguments(call), name, ret, &err) >= 0)
		return 0;
	tool_call_fail_err(call, &err);
	return -1;
}
