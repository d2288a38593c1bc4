/* SPDX-License-Identifier: Apache-2.0 */
/* What the spawner opens once. */
#include "spawner/setup.h"

#include "base/instance.h"
#include "base/log.h"
#include "sys/programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* A few descriptors for each of hundreds of containers. Children get limits of their own. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warning("cannot raise the limit of open files");
}

/*
 * Who owns the user namespaces has the processes in them counted, too (since Linux 5.14). At the
 * limit no container, keeper or rollback would start, for nobody.
 */
static void raise_process_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NPROC, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_max != RLIM_INFINITY)
		log_warning("all sandboxes together may have %llu processes (ulimit -u): some that "
			    "use up theirs keep all others from starting",
			    (unsigned long long)limit.rlim_max);
}

static int occupy_low_fds(int *ret_null, struct err *err)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return err_sys(err, errno, "open /dev/null");
	} while (fd < CONTAINER_MIN_FD);
	*ret_null = fd;
	return 0;
}

/*
 * Of a program that mapped root cannot read, the kernel keeps the memory from tenants even if they
 * had every capability. Without that, two other fences remain.
 */
static int check_init(const struct task_host *host, struct err *err)
{
	struct stat st;

	if (fstat(host->init_fd, &st) < 0)
		return err_sys(err, errno, "look at %s", host->init_path);
	if (host->runtime && oci_reads_init(host->runtime)) {
		if (st.st_mode & S_IROTH)
			return 0;
		return err_set(err, ERR_DENIED, "%s has to read berth-init: chmod 0755 %s",
			       host->runtime->path, host->init_path);
	}
	if (st.st_uid != 0 || (st.st_mode & 0066))
		log_warning("berth-init should belong to root with mode 0711; it is %03o of uid %u",
			    (unsigned)st.st_mode & 0777, (unsigned)st.st_uid);
	return 0;
}

static bool socket_address(const char *runtime_dir, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/spawner.sock", runtime_dir);
	return n >= 0 && n < (int)sizeof(ret->sun_path);
}

static int listen_at(const char *runtime_dir, int *ret, struct err *err)
{
	struct sockaddr_un address;
	mode_t mask;
	int r;

	if (!socket_address(runtime_dir, &address))
		return err_set(err, ERR_INVALID, "the runtime folder's name is too long: %s",
			       runtime_dir);
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, errno, "socket");
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove the old %s", address.sun_path);
	mask = umask(S_IXUSR | S_IRWXG | S_IRWXO);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (r < 0 || listen(fd, 4) < 0)
		return err_sys(err, errno, "listen on %s", address.sun_path);
	*ret = take_fd(fd);
	return 0;
}

static int open_cgroups(const struct spawner_config *config, struct cgroups **ret, struct err *err)
{
	char tag[INSTANCE_LEN + 1], name[sizeof("berth-") + INSTANCE_LEN];

	instance_tag(config->state_dir, tag);
	(void)snprintf(name, sizeof(name), "berth-%s", tag);
	return cgroups_new(config->cgroup2, *config->cgroup1 ? config->cgroup1 : name, ret, err);
}

static int open_programs(struct task_host *host, struct err *err)
{
	char keeper[OCI_MAX_PATH];
	int r = program_path("berth-init", host->init_path, sizeof(host->init_path));

	if (r == 0)
		host->init_fd = open(host->init_path, O_PATH | O_CLOEXEC);
	if (host->init_fd < 0)
		return err_sys(err, r < 0 ? -r : errno, "find berth-init");
	if (program_path("berth-keeper", keeper, sizeof(keeper)) == 0)
		host->keeper_fd = open(keeper, O_PATH | O_CLOEXEC);
	if (host->keeper_fd < 0)
		log_warning("berth-keeper is not installed: no files, no emptying");
	return 0;
}

static int choose_engine(struct task_host *host, const char *engine, struct err *err)
{
	static struct oci_runtime runtime;
	struct view rest = view_str(engine);

	if (strcmp(engine, "native") == 0)
		return 0;
	if (!view_starts(rest, VIEW("oci:")) || rest.len == 4)
		return err_set(err, ERR_INVALID,
			       "there is no engine %s: it is native, or oci:RUNTIME", engine);
	if (oci_find(engine + 4, &runtime, err) < 0)
		return -1;
	host->runtime = &runtime;
	return 0;
}

static bool pool_has(const struct task_host *host, const char *name)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/slots/%s", host->runtime_dir, name) <
		       (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool pool_has_namespace(const struct task_host *host, const char *kind)
{
	auto_fd int fd = task_open_namespace(host, 0, kind);

	return fd >= 0;
}

/* A restart of the host takes the mounts and leaves the files. */
static int check_pool(const struct task_host *host, struct err *err)
{
	if (!pool_has(host, "0.user") || pool_has_namespace(host, "user"))
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "the slots' namespaces and mounts are gone, as after a restart of the host: "
		       "run berth setup (as root) with the same options");
}

int setup_host(struct task_host *host, const struct spawner_config *config, int *ret_listen_fd,
	       struct err *err)
{
	raise_fd_limit();
	raise_process_limit();
	if (occupy_low_fds(&host->null_fd, err) < 0)
		return -1;
	if (open_programs(host, err) < 0 || choose_engine(host, config->engine, err) < 0 ||
	    check_init(host, err) < 0 || check_pool(host, err) < 0)
		return -1;
	/* newuidmap is setuid; no_new_privs takes that away. */
	host->has_newuidmap = launch_has_newuidmap() && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
	if (open_cgroups(config, &host->groups, err) < 0)
		return -1;
	if (config->listen_fd < 0)
		return listen_at(config->runtime_dir, ret_listen_fd, err);
	*ret_listen_fd = fcntl(config->listen_fd, F_DUPFD_CLOEXEC, CONTAINER_MIN_FD);
	if (*ret_listen_fd < 0)
		return err_sys(err, errno, "take over the listening socket");
	/* Its number stays occupied, too. */
	if (dup3(host->null_fd, config->listen_fd, O_CLOEXEC) < 0)
		return err_sys(err, errno, "take over the listening socket");
	return 0;
}

void setup_stop_listening(const struct spawner_config *config)
{
	struct sockaddr_un address;

	if (config->listen_fd < 0 && socket_address(config->runtime_dir, &address))
		(void)unlink(address.sun_path);
}

void setup_read_facts(const struct task_host *host, struct spawner_facts *ret)
{
	bool is_pool = pool_has_namespace(host, "user");

	*ret = (struct spawner_facts){ .limiter = cgroups_limiter(host->groups),
				       .limited = cgroups_limited(host->groups) };
	if (!pool_has(host, "disks"))
		ret->limited &= ~(uint32_t)SPAWNER_LIMITS_IO;
	if (is_pool)
		ret->namespaces = SPAWNER_NS_POOL;
	else if (host->has_newuidmap)
		ret->namespaces = SPAWNER_NS_UIDMAP;
	if (is_pool && pool_has_namespace(host, "net"))
		ret->network = SPAWNER_NET_VETH;
}

int setup_give_up(const struct spawner_config *config, const struct spawner_facts *facts,
		  struct err *err)
{
	if (facts->namespaces != SPAWNER_NS_POOL)
		return 0;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    (!config->may_gain_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		return err_sys(err, errno, "give up privileges");
	return 0;
}
