/* SPDX-License-Identifier: Apache-2.0 */
/* The process berthd: arguments, configuration, privileges, run. */
#include "app/main.h"

#include "app/admin.h"
#include "base/log.h"

#include <getopt.h>
#include <malloc.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static const char usage[] =
	"usage: berthd [--config FILE] [--set SECTION.KEY=VALUE]... [--check | --offline REQUEST]\n"
	"\n"
	"  --config FILE      read FILE; without it the built-in defaults hold\n"
	"  --set KEY=VALUE    override one setting, e.g. --set server.state_dir=/srv/berth\n"
	"  --check            check the configuration, print what is in effect, and end\n"
	"  --offline REQUEST  carry out one administration command (JSON) on a state that no\n"
	"                     server uses, and end\n";

enum { MAX_OVERRIDES = 64, LARGE_BYTES = 128 * 1024 };

struct options {
	const char *config, *offline;
	bool check;
	struct conf_override overrides[MAX_OVERRIDES + 1];
	size_t n_overrides;
};

/* Cuts "server.listen=…" in two, in place. */
static int add_override(struct options *o, char *text)
{
	char *equals = strchr(text, '=');

	if (!equals || !memchr(text, '.', (size_t)(equals - text)) ||
	    o->n_overrides == MAX_OVERRIDES)
		return -1;
	*equals = '\0';
	o->overrides[o->n_overrides++] =
		(struct conf_override){ .name = text, .value = equals + 1 };
	return 0;
}

/* 0 go on, else the exit status + 1. */
static int read_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = { { "config", required_argument, NULL, 'c' },
					       { "set", required_argument, NULL, 's' },
					       { "check", no_argument, NULL, 'k' },
					       { "offline", required_argument, NULL, 'o' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'v' },
					       { NULL, 0, NULL, 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			if (add_override(o, optarg) < 0)
				goto bad;
			break;
		case 'k':
			o->check = true;
			break;
		case 'o':
			o->offline = optarg;
			break;
		case 'h':
			(void)fputs(usage, stdout);
			return 1;
		case 'v':
			(void)puts("berthd " BERTH_VERSION);
			return 1;
		default:
			goto bad;
		}
	}
	if (optind == argc)
		return 0;
bad:
	(void)fputs(usage, stderr);
	return 3;
}

static int check_config(const struct conf *conf, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(64UL * 1024);

	if (conf_print(conf, &text) < 0)
		return err_sys(err, ENOMEM, "print the configuration");
	(void)fputs(buf_str(&text), stdout);
	return 0;
}

static int run_offline(struct conf *conf, const char *request, struct err *err)
{
	auto_of(server) struct server *server = NULL;
	auto_buf struct buf answer = BUF_INIT(8UL * 1024 * 1024);

	if (server_new_offline(conf, &server, err) < 0)
		return -1;
	(void)admin_execute(server, view_str(request), NULL, &answer);
	(void)puts(buf_str(&answer));
	return 0;
}

/*
 * What is larger has pages of its own and gives them back when it is freed. By default glibc takes
 * the largest that was ever freed for the limit: after some project maps tens of megabytes stayed.
 */
static void give_memory_back(void)
{
	if (mallopt(M_MMAP_THRESHOLD, LARGE_BYTES) == 0)
		log_warning("memory that was used once will not be given back");
}

static int serve(struct conf *conf, struct err *err)
{
	auto_of(server) struct server *server = NULL;

	give_memory_back();
	if (geteuid() == 0)
		return err_set(err, ERR_DENIED,
			       "berthd does not run as root: use `berth serve`, which starts it as "
			       "user %s, or the systemd units",
			       conf->user);
	/* Whatever it may be tricked into executing gains nothing. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, errno, "give up privileges");
	if (server_new(conf, &server, err) < 0 || server_confine(server, err) < 0)
		return -1;
	return server_run(server, err);
}

static int run(const struct options *o, const char *const *env, struct err *err)
{
	auto_conf struct conf conf = { 0 };
	enum log_level level;

	if (conf_load(&conf, o->config, env, o->overrides, err) < 0)
		return -1;
	if (log_level_parse(view_str(conf.log_level), &level) < 0)
		return err_set(err, ERR_INVALID,
			       "server.log_level must be error, warning, info or debug");
	log_init("berthd", level);
	if (o->check)
		return check_config(&conf, err);
	if (sodium_init() < 0)
		return err_set(err, ERR_SYSTEM, "libsodium does not start: no randomness");
	(void)umask(0077);
	return o->offline ? run_offline(&conf, o->offline, err) : serve(&conf, err);
}

int app_main(int argc, char **argv)
{
	struct options options = { 0 };
	struct err err;
	int r;

	log_init("berthd", LOG_LEVEL_INFO);
	r = read_options(argc, argv, &options);
	if (r != 0)
		return r - 1;
	if (run(&options, (const char *const *)environ, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	return 0;
}
