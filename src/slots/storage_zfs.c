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
	PROPERTIES_SIZE = 256,
};

/*
 * What each slot's dataset has beside its quota, whatever it would inherit from the parent, which
 * others may have made: snapshots would keep the files of who had the slot and be in the way of a
 * rollback, set-user-ID programs and devices have no use there.
 */
static const char *const fixed_properties[] = {
	"com.sun:auto-snapshot=false",
	"setuid=off",
	"devices=off",
	"atime=off",
};

/* Property of the parent dataset: the properties that all slots were given last. */
#define GIVEN_PROPERTY "berth:given"

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
				     plan->conf->zfs_dataset,
				     NULL };

	return exists(plan->conf->zfs_dataset) ? 0 : zfs(argv, NULL, err);
}

/* What the unprivileged server does with a slot later: roll it back, which takes mounting. It holds
 * for all that is below the parent. */
static int delegate(const struct slots_plan *plan, struct err *err)
{
	const char *const argv[] = {
		"zfs", "allow", "-u", plan->conf->user, "rollback,mount", plan->conf->zfs_dataset,
		NULL
	};

	return zfs(argv, NULL, err);
}

static void print_quota(const struct slots_plan *plan, char ret[QUOTA_SIZE])
{
	(void)snprintf(ret, QUOTA_SIZE, "quota=%" PRIu64, plan->conf->workspace);
}

static int give_properties(const struct slots_plan *plan, const char *dataset, struct err *err)
{
	char quota[QUOTA_SIZE];
	const char *argv[3 + ARRAY_SIZE(fixed_properties) + 2] = { "zfs", "set", quota };
	size_t n = 3;

	print_quota(plan, quota);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_properties); i++)
		argv[n++] = fixed_properties[i];
	argv[n] = dataset;
	return zfs(argv, NULL, err);
}

/* Gives the slots that are there a quota that was changed, and what is new in this version. */
static int renew_properties(const struct slots_plan *plan, const char *given, struct err *err)
{
	const char *const list[] = { "zfs",
				     "list",
				     "-H",
				     "-t",
				     "filesystem",
				     "-o",
				     "name",
				     "-r",
				     "-d",
				     "1",
				     plan->conf->zfs_dataset,
				     NULL };
	const char *const remember[] = { "zfs", "set", given, plan->conf->zfs_dataset, NULL };
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
		if (give_properties(plan, name, err) < 0)
			return -1;
	}
	return zfs(remember, NULL, err);
}

static int check_properties(const struct slots_plan *plan, struct err *err)
{
	const char *const get[] = {
		"zfs", "get", "-H", "-o", "value", GIVEN_PROPERTY, plan->conf->zfs_dataset, NULL
	};
	auto_buf struct buf was = BUF_INIT(PROPERTIES_SIZE), given = BUF_INIT(PROPERTIES_SIZE);
	struct view rest, line = { 0 };
	char quota[QUOTA_SIZE];
	int r;

	print_quota(plan, quota);
	r = buf_addf(&given, GIVEN_PROPERTY "=%s", quota);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fixed_properties); i++)
		r = buf_addf(&given, " %s", fixed_properties[i]);
	if (r < 0)
		return err_sys(err, -r, "list the properties of the slots");
	if (zfs(get, &was, err) < 0)
		return -1;
	rest = buf_view(&was);
	(void)view_split(&rest, '\n', &line);
	if (view_eq(line, view_from(buf_view(&given), strlen(GIVEN_PROPERTY "="))))
		return 0;
	return renew_properties(plan, buf_str(&given), err);
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
	if (make_parent(plan, err) < 0 || delegate(plan, err) < 0 ||
	    check_properties(plan, err) < 0)
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
	const char *argv[6 + 2 * ARRAY_SIZE(fixed_properties) + 2] = {
		"zfs", "create", "-o", quota, "-o", mountpoint
	};
	size_t n_args = 6;
	int len = snprintf(mountpoint, sizeof(mountpoint), "mountpoint=%s/slots/%u/workspace",
			   plan->conf->state_dir, n);

	if (len < 0 || (size_t)len >= sizeof(mountpoint))
		return err_set(err, ERR_INVALID, "server.state_dir is too long");
	print_quota(plan, quota);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_properties); i++) {
		argv[n_args++] = "-o";
		argv[n_args++] = fixed_properties[i];
	}
	argv[n_args] = dataset;
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
