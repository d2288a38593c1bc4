/* SPDX-License-Identifier: Apache-2.0 */
/* berth-slots: the only program that needs root; makes the slots ready and ends. */
#include "base/log.h"
#include "slots/slots.h"

#include <getopt.h>
#include <stdio.h>

enum action { ACTION_UP, ACTION_DOWN, ACTION_REFRESH };
enum { MAX_OVERRIDES = 8 };

static const char usage[] =
	"berth-slots [--config FILE] [--state DIR] [--slots N] [--remove | --refresh]\n"
	"Makes every slot ready: storage, namespaces, image, network. Needs root; run it once per\n"
	"boot, again after a change of the configuration or of the image.\n"
	"  --config FILE  configuration (berth.conf)\n"
	"  --state DIR    state directory, instead of server.state_dir\n"
	"  --slots N      number of slots, instead of pool.slots\n"
	"  --remove       undo everything but the workspaces\n"
	"  --refresh      keep the network right: rules, resolvers, allowed hosts\n";

static int act(enum action action, const char *config, const struct conf_override *overrides,
	       struct err *err)
{
	CLEANUP(conf_done) struct conf conf = { 0 };

	if (conf_load(&conf, config, (const char *const *)environ, overrides, err) < 0)
		return -1;
	switch (action) {
	case ACTION_UP:
		return slots_up(&conf, NULL, err);
	case ACTION_DOWN:
		return slots_down(&conf, err);
	case ACTION_REFRESH:
		break;
	}
	return slots_refresh(&conf, err);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "state", required_argument, NULL, 's' },
		{ "slots", required_argument, NULL, 'n' },
		{ "remove", no_argument, NULL, 'r' },
		{ "refresh", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	/* Filled in the order of what was given; the last one ends the list. */
	struct conf_override overrides[MAX_OVERRIDES + 1] = { 0 };
	size_t n_overrides = 0;
	const char *config = NULL;
	enum action action = ACTION_UP;
	struct err err;
	int c;

	log_init("berth-slots", LOG_LEVEL_INFO);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			config = optarg;
			break;
		case 's':
		case 'n':
			if (n_overrides == MAX_OVERRIDES)
				return 2;
			overrides[n_overrides++] = (struct conf_override){
				c == 's' ? "server.state_dir" : "pool.slots", optarg
			};
			break;
		case 'r':
			action = ACTION_DOWN;
			break;
		case 'f':
			action = ACTION_REFRESH;
			break;
		case 'h':
			(void)fputs(usage, stdout);
			return 0;
		default:
			(void)fputs(usage, stderr);
			return 2;
		}
	}
	if (act(action, config, overrides, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	return 0;
}
