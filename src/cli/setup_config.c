/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file, and what comes from an env file. */
#include "cli/cli.h"
#include "cli/setup.h"
#include "conf/edit.h"
#include "conf/slots_status.h"
#include "sys/io.h"

#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

static bool is_given(const struct options *o, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(o->overrides[i].name, name))
			return true;
	return false;
}

struct env_file {
	struct options *options;
	struct options_argv *kept;
	size_t n_given; /* overrides of the command line, which go first */
};

static int on_setting(void *userdata, const struct conf_env_setting *setting, struct err *err)
{
	struct env_file *file = userdata;
	struct options_argv *kept = file->kept;
	char name[128];

	(void)snprintf(name, sizeof(name), "%s.%s", setting->section, setting->name);
	if (is_given(file->options, file->n_given, name))
		return 0;
	if (options_argv_add(kept, name) < 0 || options_argv_add(kept, setting->value) < 0 ||
	    options_set(file->options, kept->argv[kept->n - 2], kept->argv[kept->n - 1]) < 0)
		return err_set(err, ERR_INVALID, "too many settings");
	setup_say("took %s = %s from the env file", name, setting->value);
	return 0;
}

/* What is no setting of ours. */
static int take_others(const char *const *variables, struct options_argv *kept,
		       const char **ret_sign_key, struct err *err)
{
	const char *key = conf_env_get(variables, "MCP_SIGN_KEY");
	const char *image = conf_env_get(variables, "SANDBOX_IMAGE");

	if (image && *image)
		setup_say("did not take SANDBOX_IMAGE = %s: podman save --format oci-archive -o "
			  "image.tar %s, then berth image import image.tar",
			  image, image);
	if (!key || !*key)
		return 0;
	if (options_argv_add(kept, key) < 0)
		return err_set(err, ERR_INVALID, "too many settings");
	*ret_sign_key = kept->argv[kept->n - 1];
	return 0;
}

int setup_read_env_file(const char *path, struct options *o, struct options_argv *kept,
			const char **ret_sign_key, struct err *err)
{
	const char *variables[ENV_MAX_VARIABLES + 1];
	struct env_file env_file = { .options = o, .kept = kept, .n_given = o->n_overrides };
	auto_buf struct buf file = BUF_INIT(SETUP_MAX_TEXT);
	int r = io_read_file(AT_FDCWD, path, &file);

	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	if (file.len == 0)
		return 0;
	read_variables(file.p, variables);
	if (conf_env_each(variables, on_setting, &env_file, err) < 0 ||
	    take_others(variables, kept, ret_sign_key, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

/* ---- the key of links ---- */

/* As the server's user, who owns the folder: root follows nothing in there. */
static _Noreturn void write_link_key(const char *user, const char *path, struct view key)
{
	cli_become_user(user);
	_exit(io_write_file(AT_FDCWD, path, key, 0600) < 0 ? CLI_FAILED : CLI_OK);
}

int setup_link_key(const struct conf *conf, const char *sign_key, struct err *err)
{
	uint8_t key[crypto_hash_sha256_BYTES];
	char path[PATH_MAX];
	int status, n = snprintf(path, sizeof(path), "%s/" SLOTS_SERVER_DIR "/link.key",
				 conf->state_dir);
	pid_t pid;

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, ERR_INVALID, "server.state_dir is too long");
	/* As berthd derives it from the variable. */
	(void)crypto_hash_sha256(key, (const unsigned char *)sign_key, strlen(sign_key));
	pid = fork();
	if (pid == 0)
		write_link_key(conf->user, path, view_of(key, sizeof(key)));
	sodium_memzero(key, sizeof(key));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_sys(err, errno, "write %s", path);
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "%s could not be written as %s", path, conf->user);
	setup_say("took MCP_SIGN_KEY from the env file, into %s (from the next start on)", path);
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
