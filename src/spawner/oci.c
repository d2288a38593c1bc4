/* SPDX-License-Identifier: Apache-2.0 */
/* The child that prepares a bundle and becomes an OCI runtime. */
#include "spawner/oci.h"

#include "spawner/child.h"
#include "spawner/dev.h"
#include "spawner/mounts.h"
#include "spawner/tree.h"
#include "sys/jail.h"
#include "sys/programs.h"
#include "sys/run.h"
#include "wire/init.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DIR_MODE = 0755, STATE_MODE = 0700, FILE_MODE = 0644, MAX_LINK = 256 };

struct oci_dialect {
	const char *name;
	char *const *argv;
	bool passes_fds; /* more than the standard streams */
	bool needs_cgroups;
	bool reads_init; /* as root of the slot, which the host's kernel need not */
	uint32_t own_pids;
};

#define ARG(text) ((char *)(uintptr_t)(text))

/* clang-format off */

/* The container is born in its control group: crun need not care. */
static char *const crun_argv[] = {
	ARG("crun"), ARG("--root"), ARG("/state"), ARG("--cgroup-manager"), ARG("disabled"),
	ARG("run"), ARG("--bundle"), ARG("/"), ARG("--preserve-fds"), ARG("1"), ARG("box"), NULL
};
static char *const runc_argv[] = {
	ARG("runc"), ARG("--root"), ARG("/state"),
	ARG("run"), ARG("--bundle"), ARG("/"), ARG("--preserve-fds"), ARG("1"), ARG("box"), NULL
};
/* Its "host" network is the one it is in: the slot's. */
static char *const runsc_argv[] = {
	ARG("runsc"), ARG("--root"), ARG("/state"), ARG("--network"), ARG("host"),
	ARG("--ignore-cgroups"), ARG("run"), ARG("--bundle"), ARG("/"), ARG("box"), NULL
};

/* clang-format on */

/* The last one is for all that have another name. */
static const struct oci_dialect dialects[] = {
	{ "crun", crun_argv, true, false, false, 4 },
	{ "runsc", runsc_argv, false, false, true, 64 },
	{ "runc", runc_argv, true, true, false, 32 },
};

/* ---- once ---- */

static int try(const char *path, struct err *err)
{
	const char *const argv[] = { path, "--version", NULL };
	auto_buf struct buf output = BUF_INIT(1024);
	int status, r = run_program(argv, &output, &status);

	if (r < 0)
		return err_sys(err, -r, "run the OCI runtime %s", path);
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "%s --version ends with status %d: %.200s", path,
			       status, buf_str(&output));
	return 0;
}

int oci_find(const char *name, struct oci_runtime *ret, struct err *err)
{
	int r = program_find(name, ret->path, sizeof(ret->path));
	const char *file;

	if (r < 0)
		return err_sys(err, -r, "the OCI runtime %s (install it, or give its path)", name);
	if (try(ret->path, err) < 0)
		return -1;
	ret->fd = open(ret->path, O_PATH | O_CLOEXEC);
	if (ret->fd < 0)
		return err_sys(err, errno, "open %s", ret->path);
	file = strrchr(ret->path, '/') + 1;
	for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
		ret->dialect = &dialects[i];
		if (strcmp(file, dialects[i].name) == 0)
			break;
	}
	return 0;
}

bool oci_reads_init(const struct oci_runtime *runtime)
{
	return runtime->dialect->reads_init;
}

uint32_t oci_own_pids(const struct oci_runtime *runtime)
{
	return runtime->dialect->own_pids;
}

/* ---- in the child: only system calls ---- */

static int make_jail(void)
{
	static const struct mount_option options[] = {
		{ "source", "tmpfs" }, { "size", "4m" }, { "nr_inodes", "1k" },
		{ "mode", "755" },     { NULL, NULL },
	};
	/* Over the slot's folder, which as our working directory stays reachable below it. */
	auto_fd int jail = mounts_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int r = jail < 0 ? jail : mounts_attach(jail, AT_FDCWD, ".");

	if (r < 0)
		return r;
	if (mkdirat(jail, "rootfs", DIR_MODE) < 0 || mkdirat(jail, "state", STATE_MODE) < 0 ||
	    mkdirat(jail, "tmp", STATE_MODE) < 0)
		return -errno;
	return take_fd(jail);
}

static int add_file(int jail, const char *path, const char *name)
{
	const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	auto_fd int tree = mounts_clone(AT_FDCWD, path, attributes);
	int fd;

	if (tree < 0)
		return tree;
	fd = openat(jail, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return mounts_attach(tree, jail, name);
}

/* The host's /NAME, a folder or a link to one. */
static int add_folder(int jail, const char *path)
{
	const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const char *name = path + 1;
	char target[MAX_LINK];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n >= 0) {
		target[n] = '\0';
		return symlinkat(target, jail, name) < 0 ? -errno : 0;
	}
	if (errno == ENOENT)
		return 0;
	auto_fd int tree = mounts_clone_all(AT_FDCWD, path, attributes);
	if (tree < 0)
		return tree;
	if (mkdirat(jail, name, DIR_MODE) < 0)
		return -errno;
	return mounts_attach(tree, jail, name);
}

/*
 * Runtimes insist on looking there, although the container is in its control group already: at the
 * host's, which they cannot change, or at an empty place, if they can be told not to use any.
 */
static int add_cgroups(int jail, bool needs_cgroups)
{
	static const struct mount_option options[] = {
		{ "source", "tmpfs" },
		{ "size", "4k" },
		{ "nr_inodes", "1" },
		{ NULL, NULL },
	};
	auto_fd int tree = needs_cgroups
				   ? mounts_clone_all(AT_FDCWD, "/sys/fs/cgroup", MOUNT_ATTR_RDONLY)
				   : mounts_make("tmpfs", options, MOUNT_ATTR_RDONLY);

	return tree < 0 ? tree : mounts_attach(tree, jail, "sys/fs/cgroup");
}

/* What a program needs to run. */
static int add_programs(int jail)
{
	static const char *const folders[] = {
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
		r = add_folder(jail, folders[i]);
	if (r == 0 && mkdirat(jail, "etc", DIR_MODE) < 0)
		r = -errno;
	if (r == 0)
		r = add_file(jail, "/etc/ld.so.cache", "etc/ld.so.cache");
	return r == -ENOENT ? 0 : r;
}

/* A tenant's layer can hold links where the runtime mounts. */
static int clear_targets(int root)
{
	static const char *const names[] = { "proc", "dev" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_fd int target = mounts_target(root, names[i]);

		if (target < 0)
			return target;
	}
	return 0;
}

static int write_config(int jail, struct view config)
{
	auto_fd int fd =
		openat(jail, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);

	if (fd < 0)
		return -errno;
	return write(fd, config.p, config.len) == (ssize_t)config.len ? 0 : -ENOSPC;
}

static int place_fds(const struct oci_plan *plan)
{
	const struct container_plan *container = plan->container;
	bool passes_fds = plan->runtime->dialect->passes_fds;
	int r = child_place_fd(passes_fds ? container->null_fd : container->socket_fd, 0);

	for (int fd = 1; r == 0 && fd <= 2; fd++)
		r = child_place_fd(plan->said_fd, fd);
	return r < 0 || !passes_fds ? r : child_place_fd(container->socket_fd, INIT_SOCKET_FD);
}

void oci_child(const struct launch_plan *launch, void *userdata)
{
	const struct oci_plan *plan = userdata;
	const struct oci_dialect *dialect = plan->runtime->dialect;
	int jail, root;

	launch_check(launch, LAUNCH_ROOT, mounts_make_private());
	jail = make_jail();
	launch_check(launch, LAUNCH_BUNDLE, jail);
	root = tree_make(launch, plan->container, jail, "rootfs");
	launch_check(launch, LAUNCH_BUNDLE, clear_targets(root));
	launch_check(launch, LAUNCH_MOUNT_DEV, dev_make(jail, plan->container->shm_size));
	launch_check(launch, LAUNCH_MOUNT_PROC, tree_mount_proc(jail));
	launch_check(launch, LAUNCH_MOUNT_SYS, tree_mount_sys(jail));
	launch_check(launch, LAUNCH_MOUNT_SYS, add_cgroups(jail, dialect->needs_cgroups));
	launch_check(launch, LAUNCH_BUNDLE, add_programs(jail));
	launch_check(launch, LAUNCH_BUNDLE, add_file(jail, plan->init_path, "berth-init"));
	launch_check(launch, LAUNCH_BUNDLE, write_config(jail, plan->config));
	launch_check(launch, LAUNCH_ROOT, jail_enter(jail));

	container_prepare_namespaces(launch);
	launch_check(launch, LAUNCH_EXEC, place_fds(plan));
	child_exec(launch, plan->runtime->fd, dialect->passes_fds ? INIT_SOCKET_FD + 1 : 3,
		   dialect->argv);
}
