/* SPDX-License-Identifier: Apache-2.0 */
/* Getting a control group of our own. */
#include "cli/delegation.h"

#include "base/instance.h"
#include "base/parse.h"
#include "cli/options.h"
#include "sys/cgroup_fs.h"
#include "sys/io.h"
#include "sys/run.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>

static void warn(const char *what)
{
	(void)fprintf(stderr, "berth serve: no control group for sandboxes: %s\n", what);
}

/* ---- without systemd ---- */

/* The group of slots/cgroups.h. */
static void enter_made_by_setup(const struct conf *conf)
{
	char tag[INSTANCE_LEN + 1], path[64];

	instance_tag(conf->state_dir, tag);
	(void)snprintf(path, sizeof(path), "%s/berth-%s", CGROUP_FS_ROOT, tag);
	auto_fd int group = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group < 0)
		return;
	/* Once the server has divided it, it takes no processes itself. */
	if (io_put(group, CGROUP_FS_SERVER "/cgroup.procs", "0") < 0 &&
	    io_put(group, "cgroup.procs", "0") < 0)
		warn("that of setup cannot be entered");
}

/* ---- with systemd ---- */

/* Ours are named after this process, which keeps its number. */
static void scope_name(char *ret, size_t size)
{
	(void)snprintf(ret, size, "berth-serve-%d.scope", (int)getpid());
}

static bool is_delegated(int group, const char *path)
{
	char name[48], value[4] = "";

	scope_name(name, sizeof(name));
	return view_eq(view_base_name(view_str(path)), view_str(name)) ||
	       (fgetxattr(group, "trusted.delegate", value, sizeof(value) - 1) > 0 &&
		strcmp(value, "1") == 0);
}

/* The main process of a unit stays where its manager looks for it. */
static bool is_unit(void)
{
	const char *started_by = getenv("SYSTEMD_EXEC_PID");
	uint32_t pid;

	return started_by && parse_u32(view_str(started_by), 1, INT32_MAX, &pid) == 0 &&
	       pid == (uint32_t)getpid();
}

static bool has_scopes(void)
{
	static const char *const attempt[] = {
		"systemd-run", "--scope", "--quiet", "--collect", "--property=Delegate=yes",
		"true",        NULL,
	};
	int status;

	return run_program(attempt, NULL, &status) == 0 && status == 0;
}

/* Returns only if that fails. */
static void execute_in_scope(const struct options *o)
{
	auto_argv struct options_argv words = { 0 };
	char self[PATH_MAX], unit[64] = "--unit=";
	const char *const command[] = {
		"systemd-run",
		"--scope",
		"--quiet",
		"--collect",
		unit,
		"--description=Berth: private sandboxes for MCP clients",
		"--property=Delegate=yes",
		"--property=TasksMax=infinity",
		"--",
		self,
	};
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return;
	self[len] = '\0';
	scope_name(unit + strlen(unit), sizeof(unit) - strlen(unit));
	for (size_t i = 0; i < ARRAY_SIZE(command); i++)
		if (options_argv_add(&words, command[i]) < 0)
			return;
	if (options_forward(o, "serve", &words) == 0)
		(void)execvp(words.argv[0], words.argv);
}

static void enter_scope(const struct passwd *user, const struct options *o)
{
	char path[PATH_MAX];

	if (!cgroup_fs_own(path, sizeof(path))) {
		warn("systemd has put this process into none");
		return;
	}
	auto_fd int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group >= 0 && is_delegated(group, path)) {
		if (cgroup_fs_give(group, user->pw_uid, user->pw_gid) < 0)
			warn("that of systemd cannot be given away");
	} else if (is_unit()) {
		warn("the unit that starts this needs Delegate=yes");
	} else {
		if (has_scopes())
			execute_in_scope(o);
		warn("systemd-run gives no scope with Delegate=yes");
	}
}

void delegation_enter(const struct options *o, const struct conf *conf)
{
	const struct passwd *user;

	auto_fd int root = open(CGROUP_FS_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() != 0 || root < 0 || !cgroup_fs_is_v2(root))
		return;
	user = getpwnam(conf->user);
	if (!user)
		return; /* the caller says so when it becomes the user */
	if (access("/run/systemd/system", F_OK) == 0)
		enter_scope(user, o);
	else
		enter_made_by_setup(conf);
}
