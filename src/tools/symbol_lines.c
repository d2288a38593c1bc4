/* SPDX-License-Identifier: Apache-2.0 */
/* From "path:symbol" to lines. */
#include "tools/symbol_lines.h"

#include "base/parse.h"
#include "tools/ctags.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	MAX_CANDIDATES = 12, /* of one name that are listed */
	MAX_NAMES = 24,      /* of a file that are listed */
};

static const usec program_timeout = 10 * USEC_PER_SEC;

/* Prints the line on which the brackets that open at or after line `from` are closed again. */
static const char end_finder[] =
	"NR < from { next }\n"
	"{ gsub(/\\\\./, \"\"); gsub(/\"[^\"]*\"/, \"\"); gsub(/`[^`]*`/, \"\")\n"
	"  if (rust) gsub(/'.'/, \"\"); else gsub(/'[^']*'/, \"\")\n"
	"  sub(/\\/\\/.*/, \"\"); gsub(/\\/\\*.*\\*\\//, \"\")\n"
	"  text = $0; opens = gsub(/[({[]/, \"\"); closes = gsub(/[])}]/, \"\")\n"
	"  depth += opens - closes; if (text ~ /{/) block = 1\n"
	"  if (depth <= 0 && (block || text ~ /[;,][ \\t]*$/)) { print NR; exit } }\n";

bool symbol_lines_split(struct view path, struct view *ret_file, struct view *ret_name)
{
	size_t colon = path.len;

	/* The first colon after the last slash: names have colons too ("a.cc:ns::f"). */
	for (size_t i = path.len; i > 0 && path.p[i - 1] != '/'; i--)
		if (path.p[i - 1] == ':')
			colon = i - 1;
	if (colon == 0 || colon + 1 >= path.len)
		return false;
	*ret_file = view_first(path, colon);
	*ret_name = view_from(path, colon + 1);
	return true;
}

static void on_end(struct tool_call *call, void *state, struct tool_output *output)
{
	struct view says = buf_view(&output->output);
	struct file_call *f = state;
	uint64_t last;

	if (!output->exit || parse_u64(view_trim(view_first(says, view_find(says, '\n'))), f->first,
				       UINT32_MAX, &last) < 0) {
		tool_call_fail(call,
			       "%.*s begins at line %" PRIu64
			       " of %s, but where it ends is not clear; use line numbers "
			       "(read_file with offset)",
			       VIEW_ARG(f->symbol), f->first, f->symbol_path + 2);
		return;
	}
	f->last = last;
	f->found(call, f);
}

static void find_end(struct tool_call *call, struct file_call *f)
{
	char from[40], rust[16];
	const char *argv[] = { "awk", "-v", from, "-v", rust, end_finder, f->symbol_path, NULL };
	const struct tool_run run = { .argv = argv, .max_output = 64, .timeout = program_timeout };

	(void)snprintf(from, sizeof(from), "from=%" PRIu64, f->first);
	(void)snprintf(rust, sizeof(rust), "rust=%d",
		       view_ends(view_str(f->symbol_path), VIEW(".rs")) ? 1 : 0);
	tool_call_run(call, &run, on_end);
}

static void fail_ambiguous(struct tool_call *call, const struct file_call *f,
			   const struct symbols *all)
{
	auto_buf struct buf list = BUF_INIT(4096);
	size_t shown = 0;

	for (size_t i = 0; i < all->n && shown < MAX_CANDIDATES; i++) {
		const struct symbol *x = &all->list[i];

		if (!symbol_is_named(x, f->symbol))
			continue;
		if (buf_addf(&list, "%s%s%s%s (%s, line %u)", shown ? ", " : "", x->scope,
			     x->scope[0] ? "." : "", x->name, x->kind, x->line) < 0)
			break;
		shown++;
	}
	tool_call_fail(call,
		       "%.*s is in %s several times: %s. Name it with its scope, or use line "
		       "numbers",
		       VIEW_ARG(f->symbol), f->symbol_path + 2, buf_str(&list));
}

static void fail_missing(struct tool_call *call, const struct file_call *f,
			 const struct symbols *all)
{
	auto_buf struct buf list = BUF_INIT(4096);
	size_t shown = 0;

	assert(all->list || !all->n);
	for (size_t i = 0; i < all->n && shown < MAX_NAMES; i++) {
		const struct symbol *x = &all->list[i];

		if (!symbol_is_major(x))
			continue;
		if (buf_addf(&list, "%s%s", shown ? ", " : "; it has ", x->name) < 0)
			break;
		shown++;
	}
	tool_call_fail(call, "there is no symbol %.*s %s %s%s", VIEW_ARG(f->symbol),
		       all->is_cut ? "among the first 20,000 of" : "in", f->symbol_path + 2,
		       buf_str(&list));
}

static void on_symbols(struct tool_call *call, void *state)
{
	struct file_call *f = state;
	const struct symbols *all = &f->ctags.symbols;
	const struct symbol *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct symbol *s = &all->list[i];

		if (!symbol_is_named(s, f->symbol))
			continue;
		/* A declaration beside the definition is not a second meaning. */
		if (!found || (symbol_is_declaration(found) && !symbol_is_declaration(s))) {
			found = s;
			n = 1;
		} else if (!symbol_is_declaration(s) || symbol_is_declaration(found)) {
			n++;
		}
	}
	if (!found) {
		fail_missing(call, f, all);
	} else if (n > 1) {
		fail_ambiguous(call, f, all);
	} else {
		f->first = found->line;
		f->last = found->end;
		if (f->last)
			f->found(call, f);
		else
			find_end(call, f);
	}
}

void symbol_lines_find(struct tool_call *call, struct file_call *f, struct view file,
		       struct view name, tool_ready_fn *found)
{
	auto_buf struct buf path = BUF_INIT(KEEPER_MAX_PATH + 3);

	f->symbol = name;
	f->found = found;
	/* "./" keeps a name that begins with a dash from being an option; messages leave it out. */
	if (buf_add_str(&path, "./") < 0 || buf_add_view(&path, file) < 0) {
		tool_call_fail_memory(call);
		return;
	}
	f->symbol_path = buf_take(&path);
	ctags_of_file(call, f, f->symbol_path, on_symbols);
}
