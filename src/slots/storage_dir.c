/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain directories. Where the file system counts projects, each workspace and each layer is a
 * project with a limit; elsewhere nothing is bounded by the kernel, and the facts say so.
 */
#include "slots/project_quota.h"
#include "slots/storage.h"

#include <fcntl.h>

/* A slot's ids are unique on the host, so its projects are numbered after them. */
enum { PROJECT_WORKSPACE, PROJECT_LAYER };

static bool suits(const struct slots_plan *plan)
{
	return project_quota_is_here(plan->slots_fd);
}

static int attach(struct slots_plan *plan, struct err *err)
{
	(void)plan;
	(void)err;
	return 0;
}

static int make_one(int slot, const char *name, uint32_t project, uint64_t bytes, bool *ret_bounded,
		    struct err *err)
{
	int r;

	if (storage_make_dir(slot, name, err) < 0)
		return -1;
	auto_fd int fd = openat(slot, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, errno, "open %s", name);
	/* What cannot be counted in whole is measured. */
	if (!project_quota_is_here(fd) || project_quota_cover(fd, project) < 0) {
		*ret_bounded = false;
		return 0;
	}
	r = project_quota_set(fd, project, bytes);
	return r < 0 ? err_sys(err, -r, "set the quota of %s", name) : 0;
}

int storage_dir_make_layer(const struct slots_plan *plan, uint32_t n, int slot,
			   struct storage_facts *facts, struct err *err)
{
	return make_one(slot, "layer", plan_slot_id(plan, n) + PROJECT_LAYER, plan->conf->layer,
			&facts->layer_bounded, err);
}

static int make_slot(const struct slots_plan *plan, uint32_t n, int slot,
		     struct storage_facts *facts, struct err *err)
{
	if (make_one(slot, "workspace", plan_slot_id(plan, n) + PROJECT_WORKSPACE,
		     plan->conf->workspace, &facts->workspace_bounded, err) < 0)
		return -1;
	return storage_dir_make_layer(plan, n, slot, facts, err);
}

static int drop_slot(const struct slots_plan *plan, uint32_t n, int slot, struct err *err)
{
	if (unlinkat(slot, "workspace", AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove workspace");
	return storage_remove_tree(plan, n, "layer", err);
}

static int detach(struct slots_plan *plan, struct err *err)
{
	(void)plan;
	(void)err;
	return 0;
}

const struct storage_backend storage_dir = {
	.name = "dir",
	.suits = suits,
	.attach = attach,
	.make_slot = make_slot,
	.drop_slot = drop_slot,
	.detach = detach,
};
