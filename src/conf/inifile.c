/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an INI file with inih, strictly. */
#include "conf/inifile.h"

#include <ini.h>
#include <stdio.h>

struct pass {
	FILE *file;
	int line; /* number of the last one read */
	enum inifile_line kind;
	bool failed; /* err is set */
	inifile_fn *fn;
	void *userdata;
	struct err *err;
};

static bool is_comment(const char *line)
{
	line += strspn(line, " \t");
	return *line == '#' || *line == ';';
}

static void skip_rest_of_line(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c != '\n' && c != EOF);
}

/* inih's reader. Ends the file early where inih would cut a line in two. */
static char *read_line(char *out, int size, void *userdata)
{
	struct pass *pass = userdata;
	size_t len;

	if (pass->failed || !fgets(out, size, pass->file))
		return NULL;
	pass->line++;
	pass->kind = out[0] == ' ' || out[0] == '\t' ? INIFILE_CONTINUED : INIFILE_PAIR;
	len = strlen(out);
	if ((len && out[len - 1] == '\n') || feof(pass->file))
		return out;
	if (is_comment(out)) {
		skip_rest_of_line(pass->file);
		/* Later versions of inih would look for it themselves. */
		(void)snprintf(out, (size_t)size, "#\n");
		return out;
	}
	(void)err_set(pass->err, ERR_INVALID,
		      "longer than %d bytes, or with a NUL in it: go on in an indented line",
		      size - 2);
	pass->failed = true;
	return NULL;
}

/* inih looks for "value ; comment" on the first line of a value only. */
static struct view without_comment(struct view v)
{
	for (size_t i = 1; i < v.len; i++)
		if (v.p[i] == ';' && (v.p[i - 1] == ' ' || v.p[i - 1] == '\t'))
			return view_trim(view_first(v, i));
	return v;
}

/* inih's handler: 1 goes on, 0 is an error. */
static int on_pair(void *userdata, const char *section, const char *name, const char *value)
{
	struct pass *pass = userdata;
	struct view v = without_comment(view_str(value));

	if (!pass->failed && pass->fn(pass->userdata, pass->kind, section, name, v, pass->err) < 0)
		pass->failed = true;
	return !pass->failed;
}

int inifile_read(const char *path, inifile_fn *fn, void *userdata, struct err *err)
{
	struct pass pass = { .fn = fn, .userdata = userdata, .err = err };
	int bad_line;

	pass.file = fopen(path, "re");
	if (!pass.file)
		return err_set(err, ERR_NOT_FOUND, "%s cannot be read: %s", path, strerror(errno));
	bad_line = ini_parse_stream(read_line, &pass, on_pair, &pass);
	(void)fclose(pass.file);
	/* inih goes on after a line it cannot read and reports the first. */
	if (pass.failed && (bad_line == 0 || bad_line >= pass.line))
		return err_wrap(err, "%s:%d", path, pass.line);
	if (bad_line != 0)
		return err_set(err, ERR_INVALID, "%s:%d: not a \"key = value\" line", path,
			       bad_line);
	return 0;
}
