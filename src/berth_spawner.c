/* SPDX-License-Identifier: Apache-2.0 */
/* berth-spawner: starts and kills containers and keepers for berthd. */
#include "base/log.h"
#include "base/parse.h"
#include "spawner/spawner.h"

#include <getopt.h>
#include <stdio.h>

static const char usage[] =
	"usage: berth-spawner --runtime DIR --state DIR [options]\n"
	"  --runtime DIR   namespaces and disks of the slots, resolv.conf; makes DIR/spawner.sock\n"
	"  --state DIR     folders of the slots\n"
	"  --cgroup NAME   version 2: path of a delegated control group, default: our own;\n"
	"                  version 1: a folder's name below each controller, default: berth-TAG,\n"
	"                  as berth-slots makes it for this state folder\n"
	"  --engine NAME   native, or oci:RUNTIME with the name or path of an OCI runtime\n"
	"  --uid-base N    first id of slot 0, where newuidmap has to be used\n"
	"  --new-privs     for sandbox.no_new_privs = no: do not give up setuid programs\n"
	"  --fd N          listen on this descriptor instead of making a socket\n"
	"  --log LEVEL     error, warning, info or debug\n";

enum {
	OPT_RUNTIME = 1,
	OPT_STATE,
	OPT_CGROUP,
	OPT_ENGINE,
	OPT_UID_BASE,
	OPT_NEW_PRIVS,
	OPT_FD,
	OPT_LOG,
	OPT_HELP
};

static const struct option options[] = {
	{ "runtime", required_argument, NULL, OPT_RUNTIME },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "cgroup", required_argument, NULL, OPT_CGROUP },
	{ "engine", required_argument, NULL, OPT_ENGINE },
	{ "uid-base", required_argument, NULL, OPT_UID_BASE },
	{ "new-privs", no_argument, NULL, OPT_NEW_PRIVS },
	{ "fd", required_argument, NULL, OPT_FD },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static int take_option(struct spawner_config *config, enum log_level *level, int option)
{
	uint32_t fd;

	switch (option) {
	case OPT_RUNTIME:
		config->runtime_dir = optarg;
		return 0;
	case OPT_STATE:
		config->state_dir = optarg;
		return 0;
	case OPT_CGROUP:
		if (optarg[0] == '/')
			config->cgroup2 = optarg;
		else
			config->cgroup1 = optarg;
		return 0;
	case OPT_ENGINE:
		config->engine = optarg;
		return 0;
	case OPT_UID_BASE:
		return parse_u32(view_str(optarg), 0, INT32_MAX, &config->uid_base);
	case OPT_NEW_PRIVS:
		config->may_gain_privs = true;
		return 0;
	case OPT_FD:
		if (parse_u32(view_str(optarg), 3, 1023, &fd) < 0)
			return -EINVAL;
		config->listen_fd = (int)fd;
		return 0;
	case OPT_LOG:
		return log_level_parse(view_str(optarg), level);
	default:
		return -EINVAL;
	}
}

int main(int argc, char **argv)
{
	struct spawner_config config = {
		.cgroup2 = "", .cgroup1 = "", .engine = "native", .listen_fd = -1
	};
	enum log_level level = LOG_LEVEL_INFO;
	struct err err;
	int option;

	log_init("berth-spawner", level);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_HELP) {
			(void)fputs(usage, stdout);
			return 0;
		}
		if (take_option(&config, &level, option) < 0) {
			(void)fputs(usage, stderr);
			return 2;
		}
	}
	if (!config.runtime_dir || !config.state_dir || optind != argc) {
		(void)fputs(usage, stderr);
		return 2;
	}
	log_init("berth-spawner", level);
	if (geteuid() == 0) {
		log_error("will not run as root: start it as the server's user");
		return 1;
	}
	if (spawner_run(&config, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	return 0;
}
