/* SPDX-License-Identifier: Apache-2.0 */
/* A place to run real containers in. */
#include "fixture.h"

#include "base/attr.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *const controllers[] = { "memory", "pids", "cpu", "cpuacct" };
static const char *const programs[] = { "berth-spawner", "berth-init", "berth-keeper" };

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static const char *rootfs(void)
{
	const char *given = getenv("BERTH_TEST_ROOTFS");

	return given ? given : "/var/cache/berth-test/minimal/rootfs";
}

const char *fixture_engine(void)
{
	const char *engine = getenv("BERTH_TEST_ENGINE");

	return engine ? engine : "native";
}

static bool has_runtime(void)
{
	const char *colon = strchr(fixture_engine(), ':');
	char path[160];

	if (!colon || colon[1] == '/')
		return true;
	(void)snprintf(path, sizeof(path), "/usr/bin/%.64s", colon + 1);
	if (access(path, X_OK) == 0)
		return true;
	(void)snprintf(path, sizeof(path), "/usr/sbin/%.64s", colon + 1);
	return access(path, X_OK) == 0;
}

static const char *missing(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (access(rootfs(), X_OK) < 0)
		return "needs a root file system in /var/cache/berth-test/minimal/rootfs";
	if (!getenv("BERTH_BIN_DIR"))
		return "needs BERTH_BIN_DIR, the folder with the programs";
	if (!has_runtime())
		return "needs the OCI runtime that BERTH_TEST_ENGINE names";
	return NULL;
}

bool fixture_can_enter(void)
{
	const char *why = missing();

	if (why)
		(void)fprintf(stderr, "skipped: %s\n", why);
	return !why;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	(void)close(fd);
}

static void make_dir(const char *path, mode_t mode, uid_t owner)
{
	if (mkdir(path, mode) < 0 || chown(path, owner, owner) < 0 || chmod(path, mode) < 0)
		die(path);
}

static void bind_file(const char *from, const char *to)
{
	int fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);

	if (fd < 0 || syscall(SYS_mount, from, to, NULL, MS_BIND, NULL) < 0)
		die(to);
	(void)close(fd);
}

/* A child in a user namespace owned by the server's user and a network namespace below it. */
static pid_t hold_namespaces(uid_t base, int *ret_release)
{
	char path[64], map[64], byte;
	int told[2], go[2];
	pid_t pid;

	if (pipe2(told, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		if (setgroups(0, NULL) < 0 ||
		    setresgid(FIXTURE_UID, FIXTURE_UID, FIXTURE_UID) < 0 ||
		    setresuid(FIXTURE_UID, FIXTURE_UID, FIXTURE_UID) < 0 ||
		    unshare(CLONE_NEWUSER) < 0 || write(told[1], "", 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(1);
		if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || unshare(CLONE_NEWNET) < 0 ||
		    write(told[1], "", 1) != 1)
			_exit(1);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	(void)close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		die("make a user namespace");
	(void)snprintf(map, sizeof(map), "0 %u %d\n", base, FIXTURE_SLOT_IDS);
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	put(path, map);
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	put(path, map);
	if (write(go[1], "", 1) != 1 || read(told[0], &byte, 1) != 1)
		die("make a network namespace");
	(void)close(told[0]);
	(void)close(go[0]);
	*ret_release = go[1];
	return pid;
}

static void mount_image(pid_t holder, const char *lower)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY |
					       MOUNT_ATTR_NODEV };
	char path[64];
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, rootfs(),
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", holder);
	int user = open(path, O_RDONLY | O_CLOEXEC);
	attr.userns_fd = (uint64_t)user;
	if (tree < 0 || user < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
	    syscall(SYS_move_mount, tree, "", AT_FDCWD, lower, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die("id-mapped mount of the image");
	(void)close(user);
	(void)close(tree);
}

static void make_slot(const struct fixture *f, unsigned n, enum fixture_pool pool)
{
	static const char *const kinds[] = { "user", "net" };
	uid_t base = FIXTURE_BASE + n * FIXTURE_SLOT_IDS;
	char path[160], from[64];
	int release;
	pid_t holder = hold_namespaces(base, &release);

	(void)snprintf(path, sizeof(path), "%s/state/slots/%u", f->dir, n);
	make_dir(path, 0711, 0);
	(void)snprintf(path, sizeof(path), "%s/state/slots/%u/workspace", f->dir, n);
	make_dir(path, 0755, base);
	(void)snprintf(path, sizeof(path), "%s/state/slots/%u/layer", f->dir, n);
	make_dir(path, 0700, base);
	(void)snprintf(path, sizeof(path), "%s/state/slots/%u/lower", f->dir, n);
	make_dir(path, 0755, 0);
	mount_image(holder, path);
	for (size_t i = 0; pool == FIXTURE_POOL && i < ARRAY_SIZE(kinds); i++) {
		(void)snprintf(path, sizeof(path), "%s/run/slots/%u.%s", f->dir, n, kinds[i]);
		(void)snprintf(from, sizeof(from), "/proc/%d/ns/%s", holder, kinds[i]);
		bind_file(from, path);
	}
	(void)close(release);
	(void)waitpid(holder, NULL, 0);
}

static void copy_program(const struct fixture *f, const char *name)
{
	char from[PATH_MAX], to[160], bytes[65536];
	/* gVisor is a kernel of its own and reads what it runs. */
	bool is_secret = strcmp(name, "berth-init") == 0 && !strstr(fixture_engine(), "runsc");
	ssize_t n;

	(void)snprintf(from, sizeof(from), "%s/%s", getenv("BERTH_BIN_DIR"), name);
	(void)snprintf(to, sizeof(to), "%s/bin/%s", f->dir, name);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return; /* not built (yet): its tests skip */
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			die(to);
	if (fchmod(out, is_secret ? 0711 : 0755) < 0)
		die(to);
	(void)close(in);
	(void)close(out);
}

static void cgroup_path(const struct fixture *f, size_t i, const char *more, char out[256])
{
	(void)snprintf(out, 256, "/sys/fs/cgroup/%s/%s%s", controllers[i], f->cgroup, more);
}

static void make_cgroups(struct fixture *f)
{
	char path[256];

	(void)snprintf(f->cgroup, sizeof(f->cgroup), "berth-test-%d", getpid());
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		cgroup_path(f, i, "", path);
		if (mkdir(path, 0755) < 0)
			continue;
		f->has_cgroups = true;
		if (chown(path, FIXTURE_UID, FIXTURE_UID) < 0)
			die(path);
		cgroup_path(f, i, "/tasks", path);
		(void)!chown(path, FIXTURE_UID, FIXTURE_UID);
		cgroup_path(f, i, "/cgroup.procs", path);
		(void)!chown(path, FIXTURE_UID, FIXTURE_UID);
	}
}

static void remove_tree(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", "--one-file-system", dir, (char *)NULL);
		_exit(1);
	}
	(void)waitpid(pid, NULL, 0);
}

/* Waits for the test's end in the outer mount namespace, where none of its mounts are. */
static void leave_cleaner(const struct fixture *f)
{
	int alive[2];
	char byte, path[256];

	if (pipe2(alive, O_CLOEXEC) < 0)
		die("pipe");
	if (fork() != 0) {
		(void)close(alive[0]);
		return; /* alive[1] stays open as long as this process lives */
	}
	(void)setsid();
	for (int fd = 0; fd < 3; fd++) /* meson waits for the end of the output */
		(void)close(fd);
	(void)close(alive[1]);
	(void)!read(alive[0], &byte, 1);
	for (int i = 0; i < 100; i++) {
		for (size_t c = 0; f->has_cgroups && c < ARRAY_SIZE(controllers); c++) {
			cgroup_path(f, c, "", path);
			(void)rmdir(path);
		}
		if (fixture_count_processes() == 0)
			break;
		(void)usleep(20000);
	}
	remove_tree(f->dir);
	_exit(0);
}

/* Appends a line to a copy of `path` that only this mount namespace sees. */
static void shadow(const struct fixture *f, const char *path, const char *line)
{
	char copy[160], bytes[65536];
	const char *name = strrchr(path, '/') + 1;
	int in = open(path, O_RDONLY | O_CLOEXEC), out;
	ssize_t n = in < 0 ? 0 : read(in, bytes, sizeof(bytes));

	(void)snprintf(copy, sizeof(copy), "%s/%s", f->dir, name);
	out = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (n < 0 || out < 0 || write(out, bytes, (size_t)n) != n ||
	    write(out, line, strlen(line)) < 0 ||
	    syscall(SYS_mount, copy, path, NULL, MS_BIND, NULL) < 0)
		die(path);
	(void)close(out);
	(void)close(in);
}

/* newuidmap wants a user with a name and with ids of its own. */
static void add_user(const struct fixture *f)
{
	char passwd[128], ids[64];

	(void)snprintf(passwd, sizeof(passwd), "berthtest:x:%d:%d::/:/bin/false\n", FIXTURE_UID,
		       FIXTURE_UID);
	(void)snprintf(ids, sizeof(ids), "berthtest:%d:%d\n", FIXTURE_BASE,
		       FIXTURE_SLOTS * FIXTURE_SLOT_IDS);
	shadow(f, "/etc/passwd", passwd);
	shadow(f, "/etc/subuid", ids);
	shadow(f, "/etc/subgid", ids);
}

void fixture_enter(struct fixture *ret, enum fixture_pool pool)
{
	char path[160];

	*ret = (struct fixture){ .dir = "/var/tmp/berth-engine-XXXXXX" };
	if (!mkdtemp(ret->dir) || chmod(ret->dir, 0755) < 0)
		die("make a folder");
	make_cgroups(ret);
	leave_cleaner(ret);
	if (unshare(CLONE_NEWNS) < 0 ||
	    syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("make a mount namespace");
	static const char *const dirs[] = { "state", "state/slots", "run", "run/slots", "bin" };
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", ret->dir, dirs[i]);
		make_dir(path, 0755, strcmp(dirs[i], "run") == 0 ? FIXTURE_UID : 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		copy_program(ret, programs[i]);
	for (unsigned n = 0; n < FIXTURE_SLOTS; n++)
		make_slot(ret, n, pool);
	if (pool == FIXTURE_NO_POOL)
		add_user(ret);
	if (setgroups(0, NULL) < 0 || setresgid(FIXTURE_UID, FIXTURE_UID, FIXTURE_UID) < 0 ||
	    setresuid(FIXTURE_UID, FIXTURE_UID, FIXTURE_UID) < 0)
		die("become the server's user");
}

pid_t fixture_spawner(const struct fixture *fixture)
{
	char program[160], runtime[160], state[160], log[160], base[16];
	pid_t pid;

	(void)snprintf(program, sizeof(program), "%s/bin/berth-spawner", fixture->dir);
	(void)snprintf(runtime, sizeof(runtime), "%s/run", fixture->dir);
	(void)snprintf(state, sizeof(state), "%s/state", fixture->dir);
	(void)snprintf(log, sizeof(log), "%s/run/spawner.log", fixture->dir);
	(void)snprintf(base, sizeof(base), "%d", FIXTURE_BASE);
	pid = fork();
	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
		(void)dup2(fd, 2);
		(void)execl(program, program, "--runtime", runtime, "--state", state, "--cgroup",
			    fixture->cgroup, "--uid-base", base, "--new-privs", "--engine",
			    fixture_engine(), (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Not the owner of /proc/PID: that is root for a process that is not dumpable. */
static bool has_slot_uid(int proc_fd, const char *pid)
{
	char path[64], text[1024], *line;
	unsigned uid;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.32s/status", pid);
	auto_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid:%u", &uid) == 1 && uid >= FIXTURE_BASE &&
	       uid < FIXTURE_BASE + FIXTURE_SLOTS * FIXTURE_SLOT_IDS;
}

int fixture_count_processes(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    has_slot_uid(dirfd(dir), entry->d_name))
			count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

int fixture_count_groups(const struct fixture *fixture)
{
	int count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		char path[256];
		struct stat st;

		cgroup_path(fixture, i, "", path);
		/* A folder's links: itself, its name, and one a folder in it. */
		if (stat(path, &st) == 0)
			count += (int)st.st_nlink - 2;
	}
	return count;
}
