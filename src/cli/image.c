/* SPDX-License-Identifier: Apache-2.0 */
/* berth image: makes the root file system that every sandbox starts from. */
#include "cli/cli.h"
#include "cli/image_import.h"
#include "cli/image_store.h"
#include "cli/options.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SCRIPT_ARGS = 16 };

struct image_options {
	const char *recipe, *with, *mirror, *suite; /* for image/build */
};

/* ---- build ---- */

static int spawn_interruptible(const char *const *argv, pid_t *ret)
{
	posix_spawnattr_t attr;
	sigset_t interrupt;
	int r = posix_spawnattr_init(&attr);

	if (r)
		return r;
	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	r = posix_spawnattr_setsigdefault(&attr, &interrupt);
	if (r == 0)
		r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	/* posix_spawn() takes the arguments without const, but does not change them. */
	if (r == 0)
		r = posix_spawn(ret, argv[0], NULL, &attr, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawnattr_destroy(&attr);
	return r;
}

/*
 * With this terminal, so that its progress shows. An interrupt from the keyboard is the script's,
 * which cleans up; we wait for it.
 */
static int run_script(const char *const *argv, struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int status = 0, r;
	pid_t pid;

	(void)sigaction(SIGINT, &ignore, &before);
	r = spawn_interruptible(argv, &pid);
	if (r == 0)
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR) {
				r = errno;
				break;
			}
	(void)sigaction(SIGINT, &before, NULL);
	if (r)
		return err_sys(err, r, "run %s", argv[0]);
	if (status)
		return err_set(err, ERR_SYSTEM, "the image was not built");
	return 0;
}

static int run_build(const struct image_options *o, const char *out, struct err *err)
{
	char script[PATH_MAX];
	const char *argv[MAX_SCRIPT_ARGS + 1] = { script };
	const char *const pairs[][2] = { { "--recipe", o->recipe },
					 { "--with", o->with },
					 { "--mirror", o->mirror },
					 { "--suite", o->suite },
					 { "--out", out } };
	size_t n = 1;

	if (cli_program("image/build", script, sizeof(script), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (pairs[i][1]) {
			argv[n++] = pairs[i][0];
			argv[n++] = pairs[i][1];
		}
	return run_script(argv, err);
}

static int build(const struct image_options *o, const char *state_dir, struct err *err)
{
	auto_image_draft struct image_draft draft = { .images_fd = -1 };
	auto_buf struct buf rootfs = BUF_INIT(4096), info = BUF_INIT(4096);

	if (image_draft_begin(&draft, state_dir, o->recipe, err) < 0)
		return -1;
	if (buf_addf(&rootfs, "%s/rootfs", draft.path) < 0 ||
	    buf_addf(&info, "recipe = %s\nwith = %s\n", o->recipe, o->with ? o->with : "") < 0)
		return err_set(err, ERR_INVALID, "the path of the state directory is too long");
	if (run_build(o, buf_str(&rootfs), err) < 0)
		return -1;
	return image_draft_commit(&draft, buf_view(&info), err);
}

/* ---- import ---- */

static int import(const char *source, const char *state_dir, struct err *err)
{
	auto_image_draft struct image_draft draft = { .images_fd = -1 };
	auto_buf struct buf rootfs = BUF_INIT(4096), info = BUF_INIT(8192);

	if (image_draft_begin(&draft, state_dir, "import", err) < 0)
		return -1;
	if (buf_addf(&rootfs, "%s/rootfs", draft.path) < 0 ||
	    buf_addf(&info, "imported = %s\n", source) < 0)
		return err_set(err, ERR_INVALID, "the path is too long");
	if (image_import(source, buf_str(&rootfs), err) < 0)
		return -1;
	return image_draft_commit(&draft, buf_view(&info), err);
}

/* ---- the subcommand ---- */

static const char help[] =
	"usage: berth image build [--recipe standard|minimal] [--with ffmpeg]\n"
	"                         [--mirror URL --suite NAME]\n"
	"       berth image import FILE|DIR\n"
	"\n"
	"build makes a Debian image from the package mirrors that this machine uses, and fails "
	"when\n"
	"a tool that the recipe promises does not work. import takes a root file system, as a tar\n"
	"archive in any compression or as a directory, or an OCI or Docker archive, for example "
	"from\n"
	"`podman save`. The image becomes the current one; running containers keep theirs.\n"
	"\n"
	"  --state DIR    state directory, instead of server.state_dir\n"
	"  --config FILE  configuration\n";

static int act(const struct image_options *o, const char *source, const struct options *common,
	       struct err *err)
{
	auto_conf struct conf conf = { 0 };

	if (options_conf(common, &conf, err) < 0)
		return -1;
	if (geteuid() != 0)
		return err_set(err, ERR_DENIED, "making an image needs root");
	return source ? import(source, conf.state_dir, err) : build(o, conf.state_dir, err);
}

int cmd_image(int argc, char **argv)
{
	struct image_options o = { .recipe = "standard" };
	const struct options_extra extra[] = { { .name = "recipe", .argument = &o.recipe },
					       { .name = "with", .argument = &o.with },
					       { .name = "mirror", .argument = &o.mirror },
					       { .name = "suite", .argument = &o.suite },
					       { 0 } };
	const char *action, *source;
	struct options common;
	struct err err;

	if (options_read(&common, argc, argv, extra) < 0)
		return cli_help(help, CLI_USAGE);
	if (common.help)
		return cli_help(help, CLI_OK);
	action = optind < argc ? argv[optind] : "";
	source = !strcmp(action, "import") && optind + 1 < argc ? argv[optind + 1] : NULL;
	if (optind + (source ? 2 : 1) != argc || (!source && strcmp(action, "build") != 0))
		return cli_help(help, CLI_USAGE);
	if (act(&o, source, &common, &err) < 0)
		return cli_fail("image", &err);
	(void)puts("the image is current; berth setup (or the next boot) shows it to the slots");
	return CLI_OK;
}
