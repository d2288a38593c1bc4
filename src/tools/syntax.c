/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax checks by the file's kind. */
#include "tools/syntax.h"

#include "base/utf8.h"

enum {
	MAX_OUTPUT = 16 * 1024,
	SHOWN_BYTES = 1200,
	BROKEN = 65, /* of our own programs: anything else is no verdict */
};

static const usec check_timeout = 8 * USEC_PER_SEC;

/* Settings of editors and of TypeScript have comments. */
static const char check_json[] =
	"import json,re,sys\n"
	"if re.search(r'(^|/)(\\.vscode/|[jt]sconfig|devcontainer|\\.eslintrc)', sys.argv[1]):\n"
	" sys.exit(99)\n"
	"try: json.loads(open(sys.argv[1], 'rb').read())\n"
	"except ValueError as e: print(e); sys.exit(65)\n";
static const char check_yaml[] = "import sys, yaml\n"
				 "try:\n for _ in yaml.parse(open(sys.argv[1], 'rb')): pass\n"
				 "except yaml.YAMLError as e: print(e); sys.exit(65)\n";
static const char check_toml[] = "import sys, tomllib\n"
				 "try: tomllib.load(open(sys.argv[1], 'rb'))\n"
				 "except ValueError as e: print(e); sys.exit(65)\n";
static const char check_python[] =
	"import ast,sys,warnings\n"
	"warnings.simplefilter('ignore')\n"
	"try: ast.parse(open(sys.argv[1], 'rb').read())\n"
	"except (SyntaxError, ValueError) as e:\n"
	" print('line %s: %s' % (getattr(e, 'lineno', '?'), getattr(e, 'msg', e))); "
	"sys.exit(65)\n";
/* A script is what its first line says. $0 is the program for Python; no line is plain sh. */
static const char check_script[] = "IFS= read -r first <\"$1\"\n"
				   "case $first in\n"
				   "'#!'*python*) exec python3 -I -c \"$0\" \"$1\" ;;\n"
				   "'#!'*zsh*|'#!'*fish*|'#!'*csh*) exit 99 ;;\n"
				   "'#!'*sh*) ;;\n"
				   "'#!'*) exit 99 ;;\n"
				   "*) case $1 in *.sh|*.bash) ;; *) exit 99 ;; esac ;;\n"
				   "esac\n"
				   "bash -n \"$1\"\n"
				   "case $? in 0) ;; 2) exit 65 ;; *) exit 99 ;; esac\n";

/*
 * A .js may be a module or a script: by its package.json, or since Node 22 by what is in it. Told
 * neither, Node 20 finds nothing wrong with a broken module, and 18 takes a whole one for broken.
 * Where one has the words of a module but is whole as a script, they may be in a comment. "<" is
 * JSX, which other programs parse.
 */
static const char check_js[] =
	"if grep -qE \"^[[:space:]]*(import|export)([[:space:]{*'\\\"]|$)\" \"$1\"; then\n"
	" says=$(node --input-type=module --check <\"$1\" 2>&1) && exit 0\n"
	" node --input-type=commonjs --check <\"$1\" >/dev/null 2>&1 && exit 99\n"
	"else\n"
	" says=$(node --check \"$1\" 2>&1) && exit 0\n"
	"fi\n"
	"case $says in\n"
	"*\"SyntaxError: Unexpected token '<'\"*) exit 99 ;;\n"
	"*SyntaxError*) printf '%s\\n' \"$says\"; exit 65 ;;\n"
	"*) exit 99 ;;\n"
	"esac\n";

static const struct checker {
	const char *suffix;
	int fails_with;
	const char *argv[6]; /* the path follows */
} checkers[] = {
	{ ".json", BROKEN, { "python3", "-I", "-c", check_json } },
	{ ".yaml", BROKEN, { "python3", "-I", "-c", check_yaml } },
	{ ".yml", BROKEN, { "python3", "-I", "-c", check_yaml } },
	{ ".toml", BROKEN, { "python3", "-I", "-c", check_toml } },
	{ ".py", BROKEN, { "python3", "-I", "-c", check_python } },
	{ ".js", BROKEN, { "/bin/sh", "-c", check_js, "sh" } },
	{ ".mjs", 1, { "node", "--check" } },
	{ ".cjs", 1, { "node", "--check" } },
	/* Headers of the project may not be found from here: then gcc stops, and says nothing. */
	{ ".c", 1, { "gcc", "-fsyntax-only", "-w", "-fmax-errors=3" } },
	{ ".sh", BROKEN, { "/bin/sh", "-c", check_script, check_python } },
	{ ".bash", BROKEN, { "/bin/sh", "-c", check_script, check_python } },
};

/* For a name without a suffix. */
static const struct checker any_script = { "",
					   BROKEN,
					   { "/bin/sh", "-c", check_script, check_python } };

static const struct checker *checker_for(struct view path)
{
	struct view name = view_base_name(path);

	for (size_t i = 0; i < ARRAY_SIZE(checkers); i++)
		if (view_ends(path, view_str(checkers[i].suffix)))
			return &checkers[i];
	return memchr(name.p, '.', name.len) ? NULL : &any_script;
}

static void finish(struct tool_call *call, struct file_call *f, const char *status)
{
	tool_call_finish(call, status, buf_view(&f->text));
}

/*
 * Whether the check failed because of the file: not because the program or one of its modules is
 * missing or broken, or a header is not found. Compilers name the file that they complain about.
 */
static bool is_verdict(const struct file_call *f, int status, struct view says)
{
	const struct checker *checker = checker_for(f->syntax_of);
	struct view name = view_base_name(f->syntax_of);

	if (status != checker->fails_with)
		return false;
	return status == BROKEN || (memmem(says.p, says.len, name.p, name.len) &&
				    !memmem(says.p, says.len, "No such file or directory", 25));
}

static void on_checked(struct tool_call *call, void *state, struct tool_output *output)
{
	struct file_call *f = state;
	const struct engine_exit *exit = output->exit;
	struct view says = buf_view(&output->output);

	if (exit && exit->kind == ENGINE_EXITED && exit->value == 0) {
		finish(call, f, "syntax ok");
		return;
	}
	if (!exit || exit->kind != ENGINE_EXITED || !is_verdict(f, exit->value, says)) {
		finish(call, f, NULL);
		return;
	}
	says = view_first(says, SHOWN_BYTES);
	/* Without room for the details the status says it alone. */
	if (buf_add_str(&f->text, "The file does not parse now:\n") == 0 &&
	    utf8_add_valid(&f->text, view_first(says, SHOWN_BYTES)) < 0)
		finish(call, f, "syntax error, too long to show");
	else
		finish(call, f, "syntax error");
}

void syntax_check_and_finish(struct tool_call *call, struct file_call *f, struct view path)
{
	/* The checker's complaints are what is wanted. */
	static const char *const loud[] = { "/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", NULL };
	const struct checker *checker = checker_for(path);
	struct tool_args args = { .n = 0 };
	const struct tool_run run = { .argv = args.argv,
				      .max_output = MAX_OUTPUT,
				      .timeout = check_timeout };
	auto_buf struct buf name = BUF_INIT(KEEPER_MAX_PATH + 3);

	if (!checker || !sandbox_box(tool_call_sandbox(call)) || buf_add_str(&name, "./") < 0 ||
	    buf_add_view(&name, path) < 0) {
		finish(call, f, NULL);
		return;
	}
	f->syntax_of = path;
	tool_args_add(&args, loud);
	tool_args_add(&args, checker->argv);
	tool_args_add(&args, (const char *const[]){ buf_str(&name), NULL });
	tool_call_run(call, &run, on_checked);
}
