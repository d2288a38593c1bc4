/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZFS: a workspace is a dataset pool.zfs_dataset/<n> with a quota, mounted on the slot's workspace
 * (by the system at boot, or here), and a snapshot @empty to which the server's user may roll it
 * back. Layers stay on the state directory's file system: overlayfs does not work on OpenZFS before
 * 2.2.
 *
 * The snapshot is made last, so where it is the dataset is complete.
 */
#include "slots/mounts.h"
#include "slots/storage.h"
#include "sys/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	NAME_SIZE = 256, /* of a dataset; the limit of ZFS */
	PATH_SIZE = 4096,
	LIST_MAX = 8 * 1024 * 1024,
	QUOTA_SIZE = 32,
};

/* Property of the parent dataset: the quota that all slots were given last. */
#define QUOTA_PROPERTY "berth:workspace"

static int zfs(const char *const *argv, struct buf *output, struct err *err)
{
	auto_buf struct buf own = BUF_INIT(400);
	struct buf *to = output ? output : &own;
	int status = 0;
	int r = run_program(argv, to, &status);

	if (r == -ENOENT)
		return err_set(err, ERR_NOT_FOUND,
			       "the program zfs is missing: install zfsutils-linux");
	if (r < 0)
		return err_sys(err, -r, "run zfs");
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "zfs %s: %.300s", argv[1], buf_str(to));
	return 0;
}

static int dataset_name(const struct slots_plan *plan, uint32_t n, const char *suffix,
			char ret[NAME_SIZE], struct err *err)
{
	int len = snprintf(ret, NAME_SIZE, "%s/%u%s", plan->conf->zfs_dataset, n, suffix);

	if (len < 0 || len >= NAME_SIZE)
		return err_set(err, ERR_INVALID, "pool.zfs_dataset is too long");
	return 0;
}

static bool suits(const struct slots_plan *plan)
{
	return plan->conf->zfs_dataset[0] != '\0';
}

/* ---- the parent ---- */

static bool exists(const char *dataset)
{
	const char *const argv[] = { "zfs", "list", "-H", "-o", "name", dataset, NULL };
	struct err ignored;

	return zfs(argv, NULL, &ignored) == 0;
}

static int make_parent(const struct slots_plan *plan, struct err *err)
{
	const char *const argv[] = { "zfs",
				     "create",
				     "-p",
				     "-o",
				     "canmount=off",
				     "-o",
				     "mountpoint=none",
				     "-o",
				     "setuid=off",
				     "-o",
				     "devices=off",
				     "-o",
				     "atime=off",
				     "-o",
				     "com.sun:auto-snapshot=false", /* it would keep their files */
				     plan->conf->zfs_dataset,
				     NULL };

	return exists(plan->conf->zfs_dataset) ? 0 : zfs(argv, NULL, err);
}

/* What the unprivileged server does with a slot later: roll it back, nothing else. */
static int delegate(const struct slots_plan *plan, struct err *err)
{
	const char *const argv[] = {
		"zfs", "allow", "-u", plan->conf->user, "rollback,mount", plan->conf->zfs_dataset,
		NULL
	};

	return zfs(argv, NULL, err);
}

static int set_property(const char *name, const char *value, const char *dataset, struct err *err)
{
	char text[QUOTA_SIZE * 2];
	const char *const argv[] = { "zfs", "set", text, dataset, NULL };

	(void)snprintf(text, sizeof(text), "%s=%s", name, value);
	return zfs(argv, NULL, err);
}

/* Gives a quota that was changed in the configuration to the slots that are there. */
static int renew_quotas(const struct slots_plan *plan, const char *quota, struct err *err)
{
	const char *const list[] = {
		"zfs", "list", "-H", "-o", "name", "-r", "-d", "1", plan->conf->zfs_dataset, NULL
	};
	auto_buf struct buf names = BUF_INIT(LIST_MAX);
	struct view rest, line;
	char name[NAME_SIZE];

	if (zfs(list, &names, err) < 0)
		return -1;
	rest = buf_view(&names);
	while (view_split(&rest, '\n', &line)) {
		if (view_is(line, plan->conf->zfs_dataset) ||
		    view_copy(line, name, sizeof(name)) < 0)
			continue;
		if (set_property("quota", quota, name, err) < 0)
			return -1;
	}
	return set_property(QUOTA_PROPERTY, quota, plan->conf->zfs_dataset, err);
}

static int check_quotas(const struct slots_plan *plan, struct err *err)
{
	const char *const get[] = {
		"zfs", "get", "-H", "-o", "value", QUOTA_PROPERTY, plan->conf->zfs_dataset, NULL
	};
	auto_buf struct buf was = BUF_INIT(QUOTA_SIZE + 1);
	char quota[QUOTA_SIZE], line[QUOTA_SIZE + 1];

	(void)snprintf(quota, sizeof(quota), "%" PRIu64, plan->conf->workspace);
	(void)snprintf(line, sizeof(line), "%s\n", quota);
	if (zfs(get, &was, err) < 0)
		return -1;
	return view_is(buf_view(&was), line) ? 0 : renew_quotas(plan, quota, err);
}

/* Which slots are complete: one question for all of them, for each takes a while. */
static int list_complete(struct slots_plan *plan, struct err *err)
{
	const char *const argv[] = { "zfs",
				     "list",
				     "-H",
				     "-t",
				     "snapshot",
				     "-o",
				     "name",
				     "-r",
				     "-d",
				     "2",
				     plan->conf->zfs_dataset,
				     NULL };

	buf_done(&plan->inventory);
	buf_init(&plan->inventory, LIST_MAX);
	if (buf_add_char(&plan->inventory, '\n') < 0)
		return err_sys(err, ENOMEM, "list the datasets");
	return zfs(argv, &plan->inventory, err);
}

static int attach(struct slots_plan *plan, struct err *err)
{
	if (!suits(plan))
		return err_set(err, ERR_INVALID,
			       "pool.zfs_dataset is not set: name a dataset to make slots in, "
			       "such as tank/berth");
	if (make_parent(plan, err) < 0 || delegate(plan, err) < 0 || check_quotas(plan, err) < 0)
		return -1;
	return list_complete(plan, err);
}

/* ---- slots ---- */

static bool has_snapshot(const struct slots_plan *plan, const char *dataset)
{
	char line[NAME_SIZE + 16];

	(void)snprintf(line, sizeof(line), "\n%s@empty\n", dataset);
	return strstr(buf_str(&plan->inventory), line) != NULL;
}

static int mount_dataset(int slot, const char *dataset, struct err *err)
{
	const char *const argv[] = { "zfs", "mount", dataset, NULL };

	return mount_is_here(slot, "workspace") ? 0 : zfs(argv, NULL, err);
}

static int create(const struct slots_plan *plan, uint32_t n, const char *dataset, struct err *err)
{
	char quota[QUOTA_SIZE], mountpoint[PATH_SIZE];
	const char *const argv[] = {
		"zfs", "create", "-o", quota, "-o", mountpoint, dataset, NULL
	};
	int len = snprintf(mountpoint, sizeof(mountpoint), "mountpoint=%s/slots/%u/workspace",
			   plan->conf->state_dir, n);

	if (len < 0 || (size_t)len >= sizeof(mountpoint))
		return err_set(err, ERR_INVALID, "server.state_dir is too long");
	(void)snprintf(quota, sizeof(quota), "quota=%" PRIu64, plan->conf->workspace);
	return zfs(argv, NULL, err);
}

/* The owner is part of what @empty goes back to. */
static int give_and_snapshot(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	char snapshot[NAME_SIZE];
	const char *const argv[] = { "zfs", "snapshot", snapshot, NULL };
	uid_t id = plan_slot_id(plan, n);

	if (dataset_name(plan, n, "@empty", snapshot, err) < 0)
		return -1;
	auto_fd int fd = openat(slot, "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, id, id) < 0 || fchmod(fd, 0755) < 0)
		return err_sys(err, errno, "set owner and mode of workspace");
	return zfs(argv, NULL, err);
}

/* pool.uid_base has changed: the old snapshot would give the workspace to its old owner. */
static int drop_snapshot(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	char snapshot[NAME_SIZE];
	const char *const argv[] = { "zfs", "destroy", snapshot, NULL };

	if (storage_check_ids(plan, n, slot, err) < 0 ||
	    dataset_name(plan, n, "@empty", snapshot, err) < 0)
		return -1;
	return zfs(argv, NULL, err);
}

static int make_slot(const struct slots_plan *plan, uint32_t n, int slot,
		     struct storage_facts *facts, struct err *err)
{
	char dataset[NAME_SIZE];

	if (dataset_name(plan, n, "", dataset, err) < 0 ||
	    storage_make_dir(slot, "workspace", err) < 0)
		return -1;
	bool is_complete = has_snapshot(plan, dataset);

	if (!is_complete && !exists(dataset) && create(plan, n, dataset, err) < 0)
		return -1;
	if (mount_dataset(slot, dataset, err) < 0)
		return -1;
	if (is_complete && !storage_is_own(plan, n, slot, "workspace")) {
		if (drop_snapshot(plan, n, slot, err) < 0)
			return -1;
		is_complete = false;
	}
	if (!is_complete && give_and_snapshot(plan, n, slot, err) < 0)
		return -1;
	return storage_dir_make_layer(plan, n, slot, facts, err);
}

static int drop_slot(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	char dataset[NAME_SIZE];
	const char *const argv[] = { "zfs", "destroy", "-r", dataset, NULL };

	if (dataset_name(plan, n, "", dataset, err) < 0)
		return -1;
	if (exists(dataset) && zfs(argv, NULL, err) < 0)
		return -1;
	if (unlinkat(slot, "workspace", AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove workspace");
	return storage_remove_tree(plan, n, "layer", err);
}

static int take_off(void *userdata, uint32_t n, int slot, struct err *err)
{
	(void)userdata;
	return mount_take_off(slot, "workspace", err) < 0 ? err_wrap(err, "slot %u", n) : 0;
}

static int detach(struct slots_plan *plan, struct err *err)
{
	return storage_each_slot(plan, take_off, NULL, err);
}

const struct storage_backend storage_zfs = {
	.name = "zfs",
	.suits = suits,
	.attach = attach,
	.make_slot = make_slot,
	.drop_slot = drop_slot,
	.detach = detach,
};
