/* SPDX-License-Identifier: Apache-2.0 */
/* The options that subcommands share. */
#include "cli/options.h"

#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EXTRA = 16, FIRST_EXTRA = 256 };

int options_set(struct options *o, const char *name, const char *value)
{
	if (o->n_overrides == OPTIONS_MAX_OVERRIDES) {
		(void)fprintf(stderr, "berth: too many settings\n");
		return -1;
	}
	o->overrides[o->n_overrides++] = (struct conf_override){ .name = name, .value = value };
	return 0;
}

/* For other programs, which run elsewhere. */
static int make_absolute(const char *path, char ret[PATH_MAX])
{
	char here[PATH_MAX] = "";
	int n;

	while (!strncmp(path, "./", 2))
		path += 2;
	if (path[0] != '/' && !getcwd(here, sizeof(here))) {
		(void)fprintf(stderr, "berth: the present directory is not known\n");
		return -1;
	}
	n = snprintf(ret, PATH_MAX, "%s%s%s", here, here[0] ? "/" : "", path);
	if (n < 0 || n >= PATH_MAX) {
		(void)fprintf(stderr, "berth: the path %s is too long\n", path);
		return -1;
	}
	return 0;
}

/* The one spelling of it: it is what tells this server from others on the host. */
static int set_state(struct options *o, const char *path)
{
	size_t len;

	if (make_absolute(path, o->state) < 0)
		return -1;
	for (len = strlen(o->state); len > 1 && o->state[len - 1] == '/'; len--)
		o->state[len - 1] = '\0';
	return options_set(o, "server.state_dir", o->state);
}

/* Cuts "server.listen=…" in two, in place. */
static int override_text(struct options *o, char *text)
{
	char *equals = strchr(text, '=');

	if (!equals || !memchr(text, '.', (size_t)(equals - text))) {
		(void)fprintf(stderr, "berth: --set takes SECTION.KEY=VALUE, not %s\n", text);
		return -1;
	}
	*equals = '\0';
	return options_set(o, text, equals + 1);
}

static int take_extra(const struct options_extra *extra, const char *argument)
{
	if (extra->flag)
		*extra->flag = true;
	if (extra->argument)
		*extra->argument = argument;
	return 0;
}

static int take(struct options *o, int c, char *argument, const struct options_extra *extra)
{
	switch (c) {
	case 'c':
		return make_absolute(argument, o->config);
	case 's':
		return set_state(o, argument);
	case 'l':
		return options_set(o, "server.listen", argument);
	case 'p':
		return options_set(o, "server.profile", argument);
	case 'S':
		return override_text(o, argument);
	case 'j':
		o->json = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	default:
		return extra && c >= FIRST_EXTRA ? take_extra(&extra[c - FIRST_EXTRA], argument)
						 : -1;
	}
}

void options_config_path(const struct options *o, char ret[PATH_MAX])
{
	const char *state = NULL;

	for (size_t i = 0; i < o->n_overrides; i++)
		if (!strcmp(o->overrides[i].name, "server.state_dir"))
			state = o->overrides[i].value;
	if (o->config[0])
		(void)snprintf(ret, PATH_MAX, "%s", o->config);
	else if (state)
		(void)snprintf(ret, PATH_MAX, "%s/berth.conf", state);
	else
		(void)snprintf(ret, PATH_MAX, "%s", cli_default_config());
}

/* Without --config: the one that belongs to the state, else that of the only server there is. */
static void find_config(struct options *o)
{
	options_config_path(o, o->config);
	if (access(o->config, F_OK) < 0)
		o->config[0] = '\0';
}

int options_read(struct options *o, int argc, char **argv, const struct options_extra *extra)
{
	static const struct option common[] = { { "config", required_argument, NULL, 'c' },
						{ "state", required_argument, NULL, 's' },
						{ "listen", required_argument, NULL, 'l' },
						{ "profile", required_argument, NULL, 'p' },
						{ "set", required_argument, NULL, 'S' },
						{ "json", no_argument, NULL, 'j' },
						{ "help", no_argument, NULL, 'h' } };
	struct option longs[ARRAY_SIZE(common) + MAX_EXTRA + 1] = { 0 };
	size_t n = ARRAY_SIZE(common);
	int c;

	*o = (struct options){ 0 };
	memcpy(longs, common, sizeof(common));
	for (size_t i = 0; extra && extra[i].name && i < MAX_EXTRA; i++)
		longs[n++] = (struct option){ .name = extra[i].name,
					      .has_arg = extra[i].argument ? required_argument
									   : no_argument,
					      .val = FIRST_EXTRA + (int)i };
	optind = 1;
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		if (take(o, c, optarg, extra) < 0)
			return -1;
	if (!o->config[0])
		find_config(o);
	return 0;
}

int options_conf(const struct options *o, struct conf *ret, struct err *err)
{
	return conf_load(ret, o->config[0] ? o->config : NULL, (const char *const *)environ,
			 o->overrides, err);
}

int options_argv_add(struct options_argv *a, const char *argument)
{
	char *copy;

	if (a->n + 1 == ARRAY_SIZE(a->argv))
		return -ENOSPC;
	copy = strdup(argument);
	if (!copy)
		return -ENOMEM;
	a->argv[a->n++] = copy;
	a->argv[a->n] = NULL;
	return 0;
}

void options_argv_done(struct options_argv *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->argv[i]);
	a->n = 0;
}

int options_forward(const struct options *o, const char *program, struct options_argv *ret)
{
	int r = options_argv_add(ret, program);

	if (r == 0 && o->config[0]) {
		r = options_argv_add(ret, "--config");
		if (r == 0)
			r = options_argv_add(ret, o->config);
	}
	for (size_t i = 0; r == 0 && i < o->n_overrides; i++) {
		auto_buf struct buf text = BUF_INIT(8192);

		r = buf_addf(&text, "%s=%s", o->overrides[i].name, o->overrides[i].value);
		if (r == 0)
			r = options_argv_add(ret, "--set");
		if (r == 0)
			r = options_argv_add(ret, buf_str(&text));
	}
	return r;
}
