/* SPDX-License-Identifier: Apache-2.0 */
/* Universal Ctags in the box. */
#include "tools/ctags.h"

enum { MAX_OUTPUT = 8 * 1024 * 1024 };

/* However long what came before it took. */
static const usec least_time = 5 * USEC_PER_SEC;

static void on_read(struct tool_call *call, void *state)
{
	struct file_call *f = state;

	buf_done(&f->ctags.output);
	symbols_finish(&f->ctags.symbols);
	f->ctags.symbols.is_cut |= f->ctags.is_cut;
	f->ctags.fn(call, state);
}

static int read_line(void *state)
{
	struct file_call *f = state;
	struct view line;

	if (!view_split(&f->ctags.rest, '\n', &line))
		return 0;
	return symbols_add(&f->ctags.symbols, line) < 0 ? -ENOMEM : 1;
}

static void on_tags(struct tool_call *call, void *state, struct tool_output *output)
{
	struct file_call *f = state;

	if (file_tool_ran(call, output, "ctags")) {
		f->ctags.output = buf_move(&output->output);
		f->ctags.is_cut = output->cut;
		f->ctags.rest = buf_view(&f->ctags.output);
		tool_call_work(call, read_line, on_read);
	}
}

/* With these arguments after the options, and `list` as stdin. */
static void run(struct tool_call *call, struct file_call *f, const char *const *arguments,
		struct view list, tool_ready_fn *fn)
{
	usec left = file_tool_time_left(call, f);
	struct tool_args args = { .n = 0 };
	const struct tool_run run = { .argv = args.argv,
				      .input = list,
				      .max_output = MAX_OUTPUT,
				      .timeout = left > least_time ? left : least_time };

	f->ctags.fn = fn;
	tool_args_add(&args, symbols_ctags);
	tool_args_add(&args, arguments);
	tool_call_run(call, &run, on_tags);
}

void ctags_of_file(struct tool_call *call, struct file_call *f, const char *path, tool_ready_fn *fn)
{
	const char *const arguments[] = { path, NULL };

	run(call, f, arguments, VIEW(""), fn);
}

void ctags_of_list(struct tool_call *call, struct file_call *f, struct view list, tool_ready_fn *fn)
{
	static const char *const arguments[] = { "-L", "-", NULL };

	run(call, f, arguments, list, fn);
}
