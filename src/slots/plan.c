/* SPDX-License-Identifier: Apache-2.0 */
/* Facts and open directories for all steps. */
#include "slots/plan.h"

#include "conf/slots_status.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

static int look_up_user(struct slots_plan *plan, struct err *err)
{
	const char *name = plan->conf->user;
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(name);
	if (!pw && errno != 0 && errno != ENOENT)
		return err_sys(err, errno, "look up the user %s", name);
	if (!pw)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no user %s (server.user): `berth setup` makes it", name);
	if (pw->pw_uid == 0)
		return err_set(err, ERR_INVALID, "server.user must not be root");
	plan->uid = pw->pw_uid;
	plan->gid = pw->pw_gid;
	return 0;
}

static int open_top(const char *path, int *ret_fd, struct err *err)
{
	struct stat st;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make %s", path);
	auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open %s", path);
	*ret_fd = take_fd(fd);
	return 0;
}

/* Two runs at once (berth setup while the host boots) would make everything twice. The lock ends
 * with the descriptor. */
static int wait_for_others(int state_fd, const char *path, struct err *err)
{
	while (flock(state_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(err, errno, "lock %s", path);
	return 0;
}

static int open_state(struct slots_plan *plan, struct err *err)
{
	const char *path = plan->conf->state_dir;
	struct stat st;

	/* It is also what tells this server from others on the host. */
	if (path[0] != '/')
		return err_set(err, ERR_INVALID, "server.state_dir must be an absolute path");
	if (open_top(path, &plan->state_fd, err) < 0)
		return -1;
	if (fstat(plan->state_fd, &st) < 0)
		return err_sys(err, errno, "look at %s", path);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return err_set(err, ERR_DENIED,
			       "%s must belong to root and be writable by nobody else, or its "
			       "owner could lead root astray: chown root %s; chmod go-w %s",
			       path, path, path);
	return wait_for_others(plan->state_fd, path, err);
}

/*
 * It may have been made for the server's user already. It becomes root's and sticky: else that user
 * could put a link in the place of the folder that root mounts on.
 */
static int open_runtime(struct slots_plan *plan, struct err *err)
{
	struct stat st;

	if (open_top(plan->runtime_dir, &plan->runtime_fd, err) < 0)
		return -1;
	if (fstat(plan->runtime_fd, &st) < 0)
		return err_sys(err, errno, "look at %s", plan->runtime_dir);
	if (st.st_uid != 0 && st.st_uid != plan->uid)
		return err_set(err, ERR_DENIED, "%s belongs neither to root nor to %s",
			       plan->runtime_dir, plan->conf->user);
	if (fchown(plan->runtime_fd, 0, plan->gid) < 0 || fchmod(plan->runtime_fd, 01770) < 0)
		return err_sys(err, errno, "set owner and mode of %s", plan->runtime_dir);
	return 0;
}

int plan_open_dir(int dirfd, const char *name, mode_t mode, gid_t gid, int *ret_fd, struct err *err)
{
	struct stat st;

	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make the directory %s", name);
	auto_fd int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open the directory %s", name);
	if (st.st_uid != 0)
		return err_set(err, ERR_DENIED, "the directory %s does not belong to root", name);
	if (fchown(fd, 0, gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, errno, "set owner and mode of %s", name);
	*ret_fd = take_fd(fd);
	return 0;
}

int plan_reopen_slots(struct slots_plan *plan, struct err *err)
{
	int fd;

	if (plan_open_dir(plan->state_fd, "slots", 0710, plan->gid, &fd, err) < 0)
		return err_wrap(err, "%s", plan->conf->state_dir);
	if (plan->slots_fd >= 0)
		(void)close(plan->slots_fd);
	plan->slots_fd = fd;
	return 0;
}

/* What only the server writes: its database and its keys. */
static int make_server_dir(const struct slots_plan *plan, struct err *err)
{
	struct stat st;

	if (mkdirat(plan->state_fd, SLOTS_SERVER_DIR, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make the directory " SLOTS_SERVER_DIR);
	auto_fd int fd = openat(plan->state_fd, SLOTS_SERVER_DIR,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open the directory " SLOTS_SERVER_DIR);
	if (st.st_uid != 0 && st.st_uid != plan->uid)
		return err_set(err, ERR_DENIED,
			       "the directory %s belongs neither to root nor to %s",
			       SLOTS_SERVER_DIR, plan->conf->user);
	if (fchown(fd, plan->uid, plan->gid) < 0 || fchmod(fd, 0700) < 0)
		return err_sys(err, errno, "set owner and mode of " SLOTS_SERVER_DIR);
	return 0;
}

int plan_init(struct slots_plan *ret, const struct conf *conf,
	      const struct slots_progress *progress, struct err *err)
{
	struct slots_plan plan = {
		.conf = conf, .count = conf->slots, .state_fd = -1, .slots_fd = -1, .runtime_fd = -1
	};
	struct buf dir = BUF_INIT(4096);

	if (progress)
		plan.progress = *progress;
	instance_tag(conf->state_dir, plan.instance);
	if (conf_runtime_dir(conf, &dir) < 0 || !(plan.runtime_dir = buf_take(&dir))) {
		buf_done(&dir);
		return err_set(err, ERR_INVALID, "server.runtime_dir is too long");
	}
	if (look_up_user(&plan, err) < 0 || open_state(&plan, err) < 0 ||
	    open_runtime(&plan, err) < 0 || plan_reopen_slots(&plan, err) < 0 ||
	    make_server_dir(&plan, err) < 0) {
		plan_done(&plan);
		return -1;
	}
	*ret = plan;
	return 0;
}

void plan_done(struct slots_plan *plan)
{
	int *const fds[] = { &plan->state_fd, &plan->slots_fd, &plan->runtime_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		cleanup_fd(fds[i]);
		*fds[i] = -1;
	}
	buf_done(&plan->inventory);
	free(plan->runtime_dir);
	plan->runtime_dir = NULL;
}

uid_t plan_slot_id(const struct slots_plan *plan, uint32_t n)
{
	return plan->conf->uid_base + n * SLOTS_IDS;
}

void plan_progress(const struct slots_plan *plan, const char *what, uint32_t done)
{
	if (plan->progress.fn)
		plan->progress.fn(plan->progress.userdata, what, done, plan->count);
}

int plan_open_namespaces(const struct slots_plan *plan)
{
	return openat(plan->runtime_fd, "slots", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}
