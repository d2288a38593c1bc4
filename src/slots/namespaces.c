/* SPDX-License-Identifier: Apache-2.0 */
/* The pooled namespaces. */
#include "slots/namespaces.h"

#include "base/log.h"
#include "base/parse.h"
#include "slots/mounts.h"
#include "sys/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What the namespaces in the directory were made for; they are useless for anything else. */
#define STAMP "stamp"

enum { NAME_SIZE = 32 }; /* "4294967295.user" */

static void file_name(char ret[NAME_SIZE], uint32_t n, const char *kind)
{
	(void)snprintf(ret, NAME_SIZE, "%u.%s", n, kind);
}

static bool lo_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return sock >= 0 && ioctl(sock, SIOCSIFFLAGS, &request) == 0;
}

/*
 * The namespace outlives its containers and goes from one tenant to the next, who must not find the
 * connections of the one before. The spawner ends them where the kernel can (spawner/sockets.c);
 * where it cannot, none waits for a minute after its end, and one whose far end is silent is given
 * up after seconds.
 */
static bool forget_connections(void)
{
	static const char *const settings[][2] = {
		{ "tcp_max_tw_buckets", "0" },
		{ "tcp_fin_timeout", "5" },
		{ "tcp_orphan_retries", "3" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", settings[i][0]);
		if (io_put(AT_FDCWD, path, settings[i][1]) < 0)
			return false;
	}
	return true;
}

/* Tells the parent how far we are, and waits until it has done its part. */
static bool meet_parent(int sock)
{
	char c = 0;

	return write(sock, &c, 1) == 1 && read(sock, &c, 1) == 1;
}

/*
 * The child whose namespaces are kept. The user namespace is made with the server's ids: its owner
 * is who makes it. The network namespace belongs to the user namespace made before.
 */
static _Noreturn void child(const struct slots_plan *plan, int sock)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(plan->gid, plan->gid, plan->gid) < 0 ||
	    setresuid(plan->uid, plan->uid, plan->uid) < 0 || unshare(CLONE_NEWUSER) < 0 ||
	    !meet_parent(sock))
		_exit(1);
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || unshare(CLONE_NEWNET) < 0 ||
	    !lo_up() || !forget_connections() || !meet_parent(sock))
		_exit(1);
	_exit(0);
}

static int wait_child(int sock, struct err *err)
{
	char c;

	if (read(sock, &c, 1) != 1)
		return err_set(err, ERR_SYSTEM,
			       "the kernel refused a user or network namespace: see "
			       "/proc/sys/user/max_user_namespaces and max_net_namespaces "
			       "(in a chroot it never allows one: use the host or a container)");
	return 0;
}

static int write_map(pid_t pid, uid_t base, struct err *err)
{
	static const char *const files[] = { "uid_map", "gid_map" };
	char path[64], map[64];
	int r;

	(void)snprintf(map, sizeof(map), "0 %u %u\n", base, (unsigned)SLOTS_IDS);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		r = io_put(AT_FDCWD, path, map);
		if (r < 0)
			return err_sys(err, -r, "write the %s of a slot", files[i]);
	}
	return 0;
}

static int keep(pid_t pid, int dir, uint32_t n, const char *kind, struct err *err)
{
	char name[NAME_SIZE], source[64], target[64];

	file_name(name, n, kind);
	if (mount_take_off(dir, name, err) < 0)
		return -1;
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (fd < 0)
		return err_sys(err, errno, "make the file %s", name);
	(void)snprintf(source, sizeof(source), "/proc/%d/ns/%s", pid, kind);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	if (mount(source, target, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, errno, "keep the namespace %s", name);
	return 0;
}

static int build(const struct slots_plan *plan, int dir, uint32_t n, pid_t pid, int sock,
		 struct err *err)
{
	if (wait_child(sock, err) < 0 || write_map(pid, plan_slot_id(plan, n), err) < 0)
		return -1;
	if (write(sock, "", 1) != 1 || wait_child(sock, err) < 0)
		return err_wrap(err, "the network namespace");
	if (keep(pid, dir, n, "net", err) < 0 || keep(pid, dir, n, "user", err) < 0)
		return -1;
	return 0;
}

static int make_slot(const struct slots_plan *plan, int dir, uint32_t n, struct err *err)
{
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		child(plan, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0)
		r = err_sys(err, errno, "fork");
	else
		r = build(plan, dir, n, pid, pair[0], err);
	(void)close(pair[0]); /* ends the child, whatever it was waiting for */
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return r < 0 ? err_wrap(err, "slot %u", n) : 0;
}

/* "user" is mounted last: where it is, the slot is complete. */
static bool is_made(int dir, uint32_t n)
{
	char user[NAME_SIZE], net[NAME_SIZE];

	file_name(user, n, "user");
	file_name(net, n, "net");
	auto_fd int user_fd = io_open_namespace(dir, user);
	auto_fd int net_fd = io_open_namespace(dir, net);
	return user_fd >= 0 && net_fd >= 0;
}

/* Takes off the namespace files of slot `from` and up; their names start with the slot's number. */
static int drop(int dir, uint32_t from, struct err *err)
{
	DIR *list = io_list(dir);
	int r = 0;

	if (!list)
		return err_sys(err, errno, "list the namespaces");
	for (struct dirent *e; r == 0 && (e = readdir(list));) {
		struct view name = view_str(e->d_name);
		uint32_t n;

		if (parse_u32(view_first(name, view_find(name, '.')), from, UINT32_MAX, &n) < 0)
			continue;
		r = mount_take_off(dir, e->d_name, err);
		if (r == 0)
			(void)unlinkat(dir, e->d_name, 0);
	}
	(void)closedir(list);
	return r;
}

static int check_stamp(const struct slots_plan *plan, int dir, struct err *err)
{
	auto_buf struct buf was = BUF_INIT(128);
	char want[128];
	int r;

	(void)snprintf(want, sizeof(want), "uid=%u base=%u\n", plan->uid, plan->conf->uid_base);
	if (io_read_file(dir, STAMP, &was) == 0 && view_is(buf_view(&was), want))
		return 0;
	if (drop(dir, 0, err) < 0)
		return -1;
	r = io_write_file(dir, STAMP, view_str(want), 0444);
	return r < 0 ? err_sys(err, -r, "write the stamp of the namespaces") : 0;
}

/*
 * What the maker of a user namespace may have is what all its processes together may have, and is
 * counted for its owner: the same for all slots. No bound there, then; each process has its own
 * (spawner/confine.c), and its memory is the sandbox's.
 */
static void unbind_limits(void)
{
	static const int shared[] = { RLIMIT_NPROC, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING,
				      RLIMIT_MEMLOCK };
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (setrlimit((__rlimit_resource_t)shared[i], &none) < 0) {
			log_warning("one sandbox can take the message queues and queued signals of "
				    "all: root may not raise its limits here (CAP_SYS_RESOURCE)");
			return;
		}
}

int namespaces_up(const struct slots_plan *plan, int *ret_dir, struct err *err)
{
	int plain;

	if (plan_open_dir(plan->runtime_fd, "slots", 0755, 0, &plain, err) < 0)
		return err_wrap(err, "%s", plan->runtime_dir);
	(void)close(plain);
	if (mount_private_dir(plan->runtime_fd, "slots", err) < 0)
		return -1;

	auto_fd int dir = plan_open_namespaces(plan);
	if (dir < 0)
		return err_sys(err, errno, "open %s/slots", plan->runtime_dir);
	if (check_stamp(plan, dir, err) < 0 || drop(dir, plan->count, err) < 0)
		return -1;
	unbind_limits();
	for (uint32_t n = 0; n < plan->count; n++) {
		if (!is_made(dir, n) && make_slot(plan, dir, n, err) < 0)
			return -1;
		plan_progress(plan, "namespaces", n + 1);
	}
	*ret_dir = take_fd(dir);
	return 0;
}

int namespaces_down(struct slots_plan *plan, struct err *err)
{
	auto_fd int dir = plan_open_namespaces(plan);

	if (dir < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "open the namespaces");
	if (drop(dir, 0, err) < 0)
		return -1;
	(void)unlinkat(dir, STAMP, 0);
	if (mount_take_off(plan->runtime_fd, "slots", err) < 0)
		return -1;
	(void)unlinkat(plan->runtime_fd, "slots", AT_REMOVEDIR);
	return 0;
}

int namespaces_open(int dir, uint32_t n, const char *kind, int *ret_fd, struct err *err)
{
	char name[NAME_SIZE];

	file_name(name, n, kind);
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, errno, "open the namespace %s", name);
	*ret_fd = take_fd(fd);
	return 0;
}
