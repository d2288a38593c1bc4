/* SPDX-License-Identifier: Apache-2.0 */
/* berth setup: prepares the host. Needs root; may be run again at any time. */
#include "cli/setup.h"

#include "cli/admin_client.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "slots/slots.h"

#include <stdio.h>
#include <unistd.h>

static const char help[] =
	"usage: berth setup [--state DIR | --config FILE] [--slots N] [--profile personal|public]\n"
	"                   [--storage auto|zfs|btrfs|dir] [--network internet|none|lan|allow]\n"
	"                   [--listen ADDRESS:PORT] [--set SECTION.KEY=VALUE]...\n"
	"                   [--env-file FILE] [--systemd] [--yes]\n"
	"       berth setup --remove [--state DIR | --config FILE]\n"
	"\n"
	"Prepares this host: the server's user, the configuration file (what the options say is "
	"kept "
	"in\n"
	"it), storage with quotas, places for sandboxes, network. Needs root; may be run again at "
	"any\n"
	"time, also to change the number of slots. Says what it changes.\n"
	"\n"
	"  --systemd      install, enable and start the service units (one server a host has "
	"them)\n"
	"  --env-file F   take the settings of an env file of mcp-linux-sandbox\n"
	"  --yes          apply proposals (ranges of package mirrors) without asking\n"
	"  --remove       undo everything but the user, the configuration and the workspaces;\n"
	"                 stop a server without units before\n";

struct setup {
	struct options options;
	char config[PATH_MAX];
	bool systemd, yes, remove;
	const char *env_file;
	struct options_argv kept; /* strings of the env file */
	const char *sign_key;     /* of it, or NULL */
	struct buf ranges;        /* network.allow_ranges with the mirrors */
};

void setup_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("  ", stdout);
	(void)vprintf(fmt, ap);
	(void)fputc('\n', stdout);
	va_end(ap);
	(void)fflush(stdout);
}

/* ---- package mirrors ---- */

static bool agreed(const struct setup *s)
{
	int c, first;

	if (s->yes)
		return true;
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		(void)puts("  (not applied: run it with --yes)");
		return false;
	}
	(void)fputs("  Apply? [y/N] ", stdout);
	(void)fflush(stdout);
	first = getchar();
	for (c = first; c != '\n' && c != EOF;)
		c = getchar();
	return first == 'y' || first == 'Y';
}

static int offer_mirrors(struct setup *s, struct conf *conf, struct err *err)
{
	size_t found;

	if (conf->network == CONF_NETWORK_NONE)
		return 0;
	if (setup_find_mirrors(conf, &s->ranges, &found, err) < 0)
		return -1;
	if (found == 0)
		return 0;
	setup_say("for apt and the like to work in sandboxes: network.allow_ranges = %s",
		  buf_str(&s->ranges));
	if (!agreed(s))
		return 0;
	if (options_set(&s->options, "network.allow_ranges", buf_str(&s->ranges)) < 0)
		return err_set(err, ERR_INVALID, "too many settings");
	conf_done(conf);
	*conf = (struct conf){ 0 };
	return options_conf(&s->options, conf, err);
}

/* ---- slots ---- */

static bool has_image(const struct conf *conf)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/image/current/rootfs", conf->state_dir);

	return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

static int make_slots(const struct conf *conf, struct err *err)
{
	struct cli_progress bar;
	struct slots_progress progress = { cli_progress_show, &bar };
	int r;

	cli_progress_init(&bar);
	r = slots_up(conf, &progress, err);
	cli_progress_end(&bar);
	if (r < 0)
		return -1;
	setup_say("%u slots are ready below %s", conf->slots, conf->state_dir);
	if (conf->network != CONF_NETWORK_NONE)
		setup_say("the host forwards packets of sandboxes (net.ipv4.ip_forward), filtered "
			  "by one nftables table");
	return 0;
}

/* ---- the subcommand ---- */

static int write_config(const struct setup *s, struct err *err)
{
	return setup_write_config(s->config, s->options.overrides, err);
}

static int set_up(struct setup *s, struct conf *conf, struct err *err)
{
	bool shrinks = false;

	if (s->systemd && units_check(conf, s->config, err) < 0)
		return -1;
	if (setup_check_shrink(&s->options, conf, &shrinks, err) < 0 ||
	    offer_mirrors(s, conf, err) < 0 || setup_user(conf, err) < 0 ||
	    slots_make_state(conf, err) < 0 ||
	    (s->sign_key && setup_link_key(conf, s->sign_key, err) < 0))
		return -1;
	/* First, so that an interrupted run is gone on with; but fewer slots may yet be refused. */
	if (!shrinks && write_config(s, err) < 0)
		return -1;
	if (!has_image(conf)) {
		(void)printf("There is no image yet. Next: berth image build --config %s, then "
			     "this command again.\n",
			     s->config);
		return 0;
	}
	if (make_slots(conf, err) < 0 || (shrinks && write_config(s, err) < 0))
		return -1;
	if (!s->systemd)
		return 0;
	if (units_install(conf, s->config, err) < 0)
		return -1;
	setup_say("installed, enabled and started the service units");
	return 0;
}

static int undo(const struct conf *conf, struct err *err)
{
	auto_buf struct buf other = BUF_INIT(PATH_MAX);
	bool is_running = false;

	if (units_remove(conf, &other, err) < 0 || admin_is_running(conf, &is_running, err) < 0)
		return -1;
	/* Its sandboxes would lose their mounts under their feet. */
	if (is_running)
		return err_set(err, ERR_BUSY, "a server runs on %s: stop it first",
			       conf->state_dir);
	if (slots_down(conf, err) < 0)
		return -1;
	if (other.len)
		setup_say("left the service units alone: they are those of the server on %s",
			  buf_str(&other));
	setup_say("took off mounts, namespaces, network and control groups");
	setup_say("kept: %s with the workspaces, and the user %s with its ids (userdel %s)",
		  conf->state_dir, conf->user, conf->user);
	return 0;
}

static int act(struct setup *s, struct err *err)
{
	auto_conf struct conf conf = { 0 };

	if (geteuid() != 0)
		return err_set(err, ERR_DENIED, "this needs root");
	if (s->env_file &&
	    setup_read_env_file(s->env_file, &s->options, &s->kept, &s->sign_key, err) < 0)
		return -1;
	options_config_path(&s->options, s->config);
	/* A file that --config names may not exist yet. */
	if (access(s->config, F_OK) < 0)
		s->options.config[0] = '\0';
	if (options_conf(&s->options, &conf, err) < 0)
		return -1;
	return s->remove ? undo(&conf, err) : set_up(s, &conf, err);
}

static int read_options(struct setup *s, int argc, char **argv)
{
	const char *slots = NULL, *storage = NULL, *network = NULL;
	const struct options_extra extra[] = {
		{ .name = "slots", .argument = &slots },
		{ .name = "storage", .argument = &storage },
		{ .name = "network", .argument = &network },
		{ .name = "env-file", .argument = &s->env_file },
		{ .name = "systemd", .flag = &s->systemd },
		{ .name = "yes", .flag = &s->yes },
		{ .name = "remove", .flag = &s->remove },
		{ 0 },
	};

	if (options_read(&s->options, argc, argv, extra) < 0 || optind != argc)
		return -1;
	if ((slots && options_set(&s->options, "pool.slots", slots) < 0) ||
	    (storage && options_set(&s->options, "pool.storage", storage) < 0) ||
	    (network && options_set(&s->options, "network.mode", network) < 0))
		return -1;
	return 0;
}

int cmd_setup(int argc, char **argv)
{
	struct setup s = { .ranges = BUF_INIT(SETUP_MAX_TEXT) };
	struct err err;
	int r;

	if (read_options(&s, argc, argv) < 0)
		return cli_help(help, CLI_USAGE);
	if (s.options.help)
		return cli_help(help, CLI_OK);
	r = act(&s, &err);
	buf_done(&s.ranges);
	options_argv_done(&s.kept);
	return r < 0 ? cli_fail("setup", &err) : CLI_OK;
}
