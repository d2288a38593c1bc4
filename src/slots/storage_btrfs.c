/* SPDX-License-Identifier: Apache-2.0 */
/* btrfs: a workspace and a layer are subvolumes, each with a limit of its own. */
#include "slots/btrfs.h"
#include "slots/storage.h"

#include <fcntl.h>

static int make_bounded(int slot, const char *name, uint64_t bytes, struct err *err)
{
	int r = btrfs_make_subvolume(slot, name);

	if (r == -EEXIST && !btrfs_is_subvolume(slot, name))
		return err_set(err, ERR_EXISTS, "%s is there but is no subvolume", name);
	if (r < 0 && r != -EEXIST)
		return err_sys(err, -r, "make the subvolume %s", name);

	auto_fd int fd = openat(slot, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, errno, "open %s", name);
	r = btrfs_limit(fd, bytes);
	return r < 0 ? err_sys(err, -r, "set the limit of %s", name) : 0;
}

int storage_btrfs_make_slot(const struct slots_plan *plan, uint32_t n, int slot,
			    struct storage_facts *facts, struct err *err)
{
	(void)n;
	(void)facts; /* both bounded, or it fails */
	if (make_bounded(slot, "workspace", plan->conf->workspace, err) < 0)
		return -1;
	return make_bounded(slot, "layer", plan->conf->layer, err);
}

int storage_btrfs_drop_slot(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	int r;

	if (unlinkat(slot, "workspace", AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove workspace");
	r = btrfs_remove_subvolume(slot, "layer");
	if (r == 0 || r == -ENOENT)
		return 0;
	return storage_remove_tree(plan, n, "layer", err);
}

static bool suits(const struct slots_plan *plan)
{
	return btrfs_is_here(plan->state_fd);
}

static int attach(struct slots_plan *plan, struct err *err)
{
	int r;

	if (!suits(plan))
		return err_set(err, ERR_INVALID, "%s is not on btrfs", plan->conf->state_dir);
	r = btrfs_enable_quota(plan->slots_fd);
	return r < 0 ? err_sys(err, -r, "turn on btrfs quotas") : 0;
}

static int detach(struct slots_plan *plan, struct err *err)
{
	(void)plan;
	(void)err;
	return 0;
}

const struct storage_backend storage_btrfs = {
	.name = "btrfs",
	.suits = suits,
	.attach = attach,
	.make_slot = storage_btrfs_make_slot,
	.drop_slot = storage_btrfs_drop_slot,
	.detach = detach,
};
