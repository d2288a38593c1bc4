/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the network of sandboxes right. */
#include "cli/refresh.h"

#include "cli/cli.h"
#include "sys/run.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* As in berth-refresh.timer; an address is dropped after an hour (slots/rules.h). */
enum { PAUSE_MS = 60 * 1000 };

/* Until `caller`, the reading end of a pipe, closes: the caller is not root much longer, and a
 * death signal of it would not be allowed to reach us. */
static _Noreturn void keep_fresh(const struct options_argv *argv, int caller)
{
	struct pollfd end = { .fd = caller, .events = POLLIN };
	int status, r;

	for (;;) {
		if (poll(&end, 1, PAUSE_MS) != 0)
			_exit(0);
		r = run_program((const char *const *)argv->argv, NULL, &status);
		if (r < 0)
			(void)fprintf(stderr, "berth serve: run %s: %s\n", argv->argv[0],
				      strerror(-r));
		else if (status != 0)
			(void)fprintf(stderr,
				      "berth serve: the network of sandboxes could not be looked "
				      "after (%s ended with %d)\n",
				      argv->argv[0], status);
	}
}

int refresh_start(const struct options *o, const struct conf *conf, struct err *err)
{
	auto_argv struct options_argv argv = { 0 };
	char program[PATH_MAX];
	int pair[2];
	pid_t pid;

	if (conf->network == CONF_NETWORK_NONE)
		return 0;
	if (geteuid() != 0) {
		(void)fprintf(
			stderr,
			"berth serve: not root: have `berth-slots --refresh` run every minute. It "
			"puts back network rules that others flush, and looks allowed hosts up\n");
		return 0;
	}
	if (cli_program("berth-slots", program, sizeof(program), err) < 0)
		return -1;
	if (options_argv_add(&argv, program) < 0 ||
	    (o->config[0] &&
	     (options_argv_add(&argv, "--config") < 0 || options_argv_add(&argv, o->config) < 0)) ||
	    options_argv_add(&argv, "--state") < 0 ||
	    options_argv_add(&argv, conf->state_dir) < 0 ||
	    options_argv_add(&argv, "--refresh") < 0)
		return err_sys(err, ENOMEM, "start berth-slots");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	auto_fd int reading = pair[0];
	pid = fork();
	if (pid == 0) {
		(void)close(pair[1]);
		keep_fresh(&argv, reading);
	}
	if (pid < 0) {
		(void)close(pair[1]);
		return err_sys(err, errno, "fork");
	}
	/* The writing end is left open: it closes when this process ends. */
	return 0;
}
