/* SPDX-License-Identifier: Apache-2.0 */
/* What all storage back ends have in common. */
#include "slots/storage.h"

#include "base/log.h"
#include "base/parse.h"
#include "conf/slots_status.h"
#include "slots/mounts.h"
#include "sys/io.h"
#include "sys/run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* In the order of preference for storage = auto. */
static const struct storage_backend *const backends[] = {
	&storage_zfs,
	&storage_btrfs,
	&storage_dir,
	&storage_btrfs_image,
};

static const struct storage_backend *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	return NULL;
}

/* What an earlier run settled on: a pool with data in it does not change its kind. */
static const struct storage_backend *settled(const struct slots_plan *plan)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	struct slots_status status;

	if (io_read_file(plan->state_fd, SLOTS_STATUS_FILE, &text) < 0 ||
	    slots_status_parse(buf_view(&text), &status) < 0)
		return NULL;
	return find(status.storage);
}

static const struct storage_backend *choose_auto(const struct slots_plan *plan)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (backends[i]->suits(plan))
			return backends[i];
	log_warning("no storage with quotas works on this host (btrfs-progs and a loop device "
		    "would do): workspaces are plain directories without limits");
	return &storage_dir;
}

static bool is_asked_for(const struct storage_backend *backend, enum conf_storage asked)
{
	switch (asked) {
	case CONF_STORAGE_AUTO:
		return true;
	case CONF_STORAGE_ZFS:
		return backend == &storage_zfs;
	case CONF_STORAGE_BTRFS:
		return backend == &storage_btrfs || backend == &storage_btrfs_image;
	case CONF_STORAGE_DIR:
		break;
	}
	return backend == &storage_dir;
}

/* NULL, with *err set, if what is asked for contradicts what is there. */
static const struct storage_backend *choose(const struct slots_plan *plan, struct err *err)
{
	enum conf_storage asked = (enum conf_storage)plan->conf->storage;
	const struct storage_backend *was = settled(plan);

	if (was && !is_asked_for(was, asked)) {
		(void)err_set(err, ERR_EXISTS,
			      "the workspaces are on %s already, and pool.storage asks for "
			      "something else: they are not moved by themselves",
			      was->name);
		return NULL;
	}
	if (was)
		return was;
	if (asked == CONF_STORAGE_AUTO)
		return choose_auto(plan);
	if (asked == CONF_STORAGE_BTRFS)
		return storage_btrfs.suits(plan) ? &storage_btrfs : &storage_btrfs_image;
	return asked == CONF_STORAGE_ZFS ? &storage_zfs : &storage_dir;
}

int storage_make_dir(int slot, const char *name, struct err *err)
{
	if (mkdirat(slot, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make %s", name);
	return 0;
}

int storage_remove_tree(const struct slots_plan *plan, uint32_t n, const char *name,
			struct err *err)
{
	auto_buf struct buf path = BUF_INIT(4096), output = BUF_INIT(256);
	const char *argv[] = { "rm", "-rf", "--", NULL, NULL };
	int status = 0, r;

	/* All folders above belong to root. rm(1) does not follow links, and copes with any depth.
	 */
	r = buf_addf(&path, "%s/slots/%u/%s", plan->conf->state_dir, n, name);
	argv[3] = buf_str(&path);
	if (r == 0)
		r = run_program(argv, &output, &status);
	if (r < 0)
		return err_sys(err, -r, "remove %s", name);
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "remove %s: %s", name, buf_str(&output));
	return 0;
}

static bool is_empty(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool empty = true;

	if (!list) {
		cleanup_fd(&fd);
		return errno == ENOENT;
	}
	for (struct dirent *e; (e = readdir(list));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			empty = false;
	(void)closedir(list);
	return empty;
}

static bool is_of_slot(const struct stat *st, uid_t id)
{
	return st->st_uid >= id && st->st_uid - id < SLOTS_IDS;
}

bool storage_is_own(const struct slots_plan *plan, uint32_t n, int slot, const char *name)
{
	struct stat st;

	return fstatat(slot, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_of_slot(&st, plan_slot_id(plan, n));
}

/* True if it was given to other ids, by a run with another pool.uid_base. */
static bool is_of_others(int slot, const char *name, uid_t id)
{
	struct stat st;

	return fstatat(slot, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != 0 &&
	       !is_of_slot(&st, id);
}

/* A layer may be dropped at any time; the files of a workspace would belong to nobody. */
int storage_check_ids(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	uid_t id = plan_slot_id(plan, n);

	if (is_of_others(slot, "workspace", id) && !is_empty(slot, "workspace"))
		return err_set(err, ERR_BUSY,
			       "its workspace has files of other ids than those that start at %u: "
			       "set pool.uid_base back, or empty the slots first",
			       id);
	return is_of_others(slot, "layer", id) ? storage_remove_tree(plan, n, "layer", err) : 0;
}

/* Gives a directory to the slot's root, if it is not the slot's already. */
static int give(int dirfd, const char *name, uid_t id, mode_t mode, struct err *err)
{
	struct stat st;

	auto_fd int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open %s", name);
	if (is_of_slot(&st, id))
		return 0;
	/* The owner last: a run that is killed in between finds that this is still to be done. */
	if (fchmod(fd, mode) < 0 || fchown(fd, id, id) < 0)
		return err_sys(err, errno, "set owner and mode of %s", name);
	return 0;
}

static int give_layer(int slot, uid_t id, struct err *err)
{
	static const char *const names[] = { "upper", "work" };
	int r = 0;

	auto_fd int layer = openat(slot, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (layer < 0)
		return err_sys(err, errno, "open layer");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		r = storage_make_dir(layer, names[i], err);
		if (r == 0)
			r = give(layer, names[i], id, i == 0 ? 0755 : 0700, err);
	}
	return r < 0 ? r : give(slot, "layer", id, 0700, err);
}

static int make_slot(const struct slots_plan *plan, const struct storage_backend *backend,
		     uint32_t n, struct storage_facts *facts, struct err *err)
{
	uid_t id = plan_slot_id(plan, n);
	char name[16];
	int fd;

	(void)snprintf(name, sizeof(name), "%u", n);
	if (plan_open_dir(plan->slots_fd, name, 0711, 0, &fd, err) < 0)
		return -1;
	auto_fd int slot = fd;
	if (storage_make_dir(slot, "lower", err) < 0 || storage_check_ids(plan, n, slot, err) < 0 ||
	    backend->make_slot(plan, n, slot, facts, err) < 0)
		return -1;
	if (give(slot, "workspace", id, 0755, err) < 0 || give_layer(slot, id, err) < 0)
		return -1;
	return 0;
}

struct shrink {
	const struct slots_plan *plan;
	const struct storage_backend *backend;
};

static int check_unused(void *userdata, uint32_t n, int slot, struct err *err)
{
	const struct shrink *shrink = userdata;

	if (n >= shrink->plan->count && !is_empty(slot, "workspace"))
		return err_set(err, ERR_BUSY,
			       "slot %u has files in its workspace, so there cannot be fewer than "
			       "%u slots: empty it first (berth empty)",
			       n, n + 1);
	return 0;
}

static int drop_unused(void *userdata, uint32_t n, int slot, struct err *err)
{
	const struct shrink *shrink = userdata;
	char name[16];

	if (n < shrink->plan->count)
		return 0;
	(void)snprintf(name, sizeof(name), "%u", n);
	if (mount_take_off(slot, "lower", err) < 0 ||
	    shrink->backend->drop_slot(shrink->plan, n, slot, err) < 0)
		return err_wrap(err, "remove slot %u", n);
	if (unlinkat(slot, "lower", AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove slot %u", n);
	if (unlinkat(shrink->plan->slots_fd, name, AT_REMOVEDIR) < 0)
		return err_sys(err, errno, "remove slot %u", n);
	return 0;
}

/* All are looked at before the first is removed. */
static int drop_surplus(const struct slots_plan *plan, const struct storage_backend *backend,
			struct err *err)
{
	struct shrink shrink = { plan, backend };

	if (storage_each_slot(plan, check_unused, &shrink, err) < 0)
		return -1;
	return storage_each_slot(plan, drop_unused, &shrink, err);
}

int storage_up(struct slots_plan *plan, struct storage_facts *ret, struct err *err)
{
	const struct storage_backend *backend = choose(plan, err);
	struct storage_facts facts = { .workspace_bounded = true, .layer_bounded = true };

	if (!backend)
		return -1;
	facts.name = backend->name;
	if (backend->attach(plan, err) < 0)
		return err_wrap(err, "storage %s", backend->name);
	for (uint32_t n = 0; n < plan->count; n++) {
		if (make_slot(plan, backend, n, &facts, err) < 0)
			return err_wrap(err, "slot %u", n);
		plan_progress(plan, "storage", n + 1);
	}
	if (drop_surplus(plan, backend, err) < 0)
		return -1;
	*ret = facts;
	return 0;
}

int storage_down(struct slots_plan *plan, struct err *err)
{
	const struct storage_backend *backend = settled(plan);

	if (backend)
		return backend->detach(plan, err);
	/* Nothing was ever completed: at most a pool is mounted. */
	return mount_take_off(plan->state_fd, "slots", err);
}

int storage_open_slot(const struct slots_plan *plan, uint32_t n, int *ret_fd, struct err *err)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", n);
	auto_fd int fd =
		openat(plan->slots_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, errno, "open the directory of slot %u", n);
	*ret_fd = take_fd(fd);
	return 0;
}

int storage_each_slot(const struct slots_plan *plan, storage_slot_fn *fn, void *userdata,
		      struct err *err)
{
	DIR *list = io_list(plan->slots_fd);
	int r = 0;

	if (!list)
		return err_sys(err, errno, "list the slots");
	for (struct dirent *e; r == 0 && (e = readdir(list));) {
		uint32_t n;
		int fd;

		if (parse_u32(view_str(e->d_name), 0, UINT32_MAX, &n) < 0)
			continue;
		r = storage_open_slot(plan, n, &fd, err);
		if (r == 0) {
			r = fn(userdata, n, fd, err);
			(void)close(fd);
		}
	}
	(void)closedir(list);
	return r;
}
