/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file, and settings from an env file. */
#include "cli/setup.h"
#include "conf/edit.h"
#include "sys/io.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>

enum { ENV_MAX_VARIABLES = 128 };

/* ---- env file ---- */

/* "export NAME=value", "NAME='value'" become NAME=value, in place; NULL for other lines. */
static char *tidy(char *line)
{
	char *equals, *value;
	size_t len;

	line += strspn(line, " \t");
	if (!strncmp(line, "export ", 7))
		line += 7 + strspn(line + 7, " \t");
	equals = strchr(line, '=');
	if (line[0] == '#' || !equals)
		return NULL;
	value = equals + 1;
	len = strlen(value);
	while (len && strchr(" \t\r", value[len - 1]))
		value[--len] = '\0';
	if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0]) {
		memmove(value, value + 1, len - 2);
		value[len - 2] = '\0';
	}
	return line;
}

static void read_variables(char *text, const char *ret[ENV_MAX_VARIABLES + 1])
{
	size_t n = 0;
	char *line;

	while (n < ENV_MAX_VARIABLES && (line = strsep(&text, "\n"))) {
		char *variable = tidy(line);

		if (variable)
			ret[n++] = variable;
	}
	ret[n] = NULL;
}

static bool is_given(const struct options *o, const char *name)
{
	for (size_t i = 0; i < o->n_overrides; i++)
		if (!strcmp(o->overrides[i].name, name))
			return true;
	return false;
}

/* What the command line says goes first. */
static int take_setting(const char *section, const char *key, const char *value, struct options *o,
			struct options_argv *kept)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s.%s", section, key);
	if (is_given(o, name))
		return 0;
	if (options_argv_add(kept, name) < 0 || options_argv_add(kept, value) < 0 ||
	    options_set(o, kept->argv[kept->n - 2], kept->argv[kept->n - 1]) < 0)
		return -1;
	setup_say("took %s = %s from the env file", name, value);
	return 0;
}

/*
 * Takes each setting of `changed` that is not the same in `plain`. Both were printed by
 * conf_print(), so they have the same lines in the same order; they are cut up here.
 */
static int take_differences(char *plain, char *changed, struct options *o,
			    struct options_argv *kept)
{
	const char *section = "";
	char *c, *p;

	while ((c = strsep(&changed, "\n")) && (p = strsep(&plain, "\n"))) {
		char *equals = strstr(c, " = ");

		if (c[0] == '[') {
			c[strcspn(c, "]")] = '\0';
			section = c + 1;
		}
		if (!equals || !strcmp(p, c))
			continue;
		*equals = '\0';
		if (take_setting(section, c, equals + 3, o, kept) < 0)
			return -1;
	}
	return 0;
}

static int print_settings(const char *const *env, struct buf *out, struct err *err)
{
	auto_conf struct conf conf = { 0 };

	if (conf_load(&conf, NULL, env, NULL, err) < 0)
		return -1;
	if (conf_print(&conf, out) < 0)
		return err_sys(err, ENOMEM, "print the configuration");
	return 0;
}

int setup_read_env_file(const char *path, struct options *o, struct options_argv *kept,
			struct err *err)
{
	const char *variables[ENV_MAX_VARIABLES + 1];
	auto_buf struct buf file = BUF_INIT(SETUP_MAX_TEXT), plain = BUF_INIT(SETUP_MAX_TEXT),
			    changed = BUF_INIT(SETUP_MAX_TEXT);
	int r = io_read_file(AT_FDCWD, path, &file);

	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	if (file.len == 0)
		return 0;
	read_variables(file.p, variables);
	if (print_settings(NULL, &plain, err) < 0)
		return -1;
	if (print_settings(variables, &changed, err) < 0)
		return err_wrap(err, "%s", path);
	if (take_differences(plain.p, changed.p, o, kept) < 0)
		return err_set(err, ERR_INVALID, "%s has too many settings", path);
	return 0;
}

/* ---- the file ---- */

static int make_folder(const char *path, struct err *err)
{
	char copy[PATH_MAX];
	char *folder;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	folder = dirname(copy);
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make %s", folder);
	return 0;
}

static int read_or_example(const char *path, struct buf *text, bool *ret_new, struct err *err)
{
	int r = io_read_file(AT_FDCWD, path, text);

	*ret_new = r == -ENOENT;
	if (r == -ENOENT)
		r = conf_print_example(text);
	return r < 0 ? err_sys(err, -r, "read %s", path) : 0;
}

static int apply(const struct conf_override *o, struct buf *text, struct err *err)
{
	struct buf out = BUF_INIT(SETUP_MAX_TEXT);
	const char *dot = strchr(o->name, '.');
	char section[64];
	int r = -EINVAL;

	if (dot &&
	    view_copy(view_of(o->name, (size_t)(dot - o->name)), section, sizeof(section)) == 0)
		r = conf_edit(buf_view(text), section, dot + 1, o->value, &out);
	if (r < 0) {
		buf_done(&out);
		return err_sys(err, -r, "set %s in the configuration", o->name);
	}
	buf_done(text);
	*text = out;
	return 0;
}

int setup_write_config(const char *path, const struct conf_override *overrides, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(SETUP_MAX_TEXT), before = BUF_INIT(SETUP_MAX_TEXT);
	bool is_new;
	int r;

	if (make_folder(path, err) < 0 || read_or_example(path, &text, &is_new, err) < 0)
		return -1;
	r = buf_add_view(&before, buf_view(&text));
	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	for (const struct conf_override *o = overrides; o->name; o++)
		if (apply(o, &text, err) < 0)
			return -1;
	if (!is_new && view_eq(buf_view(&before), buf_view(&text)))
		return 0;
	r = io_write_file(AT_FDCWD, path, buf_view(&text), 0644);
	if (r < 0)
		return err_sys(err, -r, "write %s", path);
	setup_say("%s %s", is_new ? "wrote" : "changed", path);
	return 0;
}
