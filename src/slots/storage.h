/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where workspaces and writable layers live. One back end a file (storage_<name>.c), all behind
 * struct storage_backend; what is common (owners, growing, shrinking) is in storage.c.
 */
#ifndef BERTH_SLOTS_STORAGE_H
#define BERTH_SLOTS_STORAGE_H

#include "slots/plan.h"

/* What the kernel enforces, not what we hope for. */
struct storage_facts {
	const char *name; /* "zfs", "btrfs", "btrfs-image", "dir" */
	bool workspace_bounded, layer_bounded;
};

/* What a back end is asked to do; `userdata` of a back end does not exist: the plan says it all. */
struct storage_backend {
	const char *name;
	/* True where it would work on this host with quotas: for storage = auto. */
	bool (*suits)(const struct slots_plan *plan);
	/* Makes the pool if it is missing, and brings it to state_dir/slots. */
	int (*attach)(struct slots_plan *plan, struct err *err);
	/* Makes slot n's workspace/ and layer/ in the open directory if missing, sets their limits.
	 */
	int (*make_slot)(const struct slots_plan *plan, uint32_t n, int slot,
			 struct storage_facts *facts, struct err *err);
	/* Removes both; called only for empty workspaces. */
	int (*drop_slot)(const struct slots_plan *plan, uint32_t n, int slot, struct err *err);
	/* Takes the pool off state_dir/slots. */
	int (*detach)(struct slots_plan *plan, struct err *err);
};

/*
 * Chooses the back end (a pool that exists decides, then pool.storage), attaches it, makes missing
 * slots. Slots beyond the number wanted are removed if their workspace is empty: ERR_BUSY if not.
 */
int storage_up(struct slots_plan *plan, struct storage_facts *ret, struct err *err) MUST_CHECK;
/* Takes everything off again; the data stays. */
int storage_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

/* Opens slots/<n>, which must exist. */
int storage_open_slot(const struct slots_plan *plan, uint32_t n, int *ret_fd,
		      struct err *err) MUST_CHECK;

/* Calls `fn` for each slot there is on disk, in no order, until one call fails. */
typedef int storage_slot_fn(void *userdata, uint32_t n, int slot, struct err *err);
int storage_each_slot(const struct slots_plan *plan, storage_slot_fn *fn, void *userdata,
		      struct err *err) MUST_CHECK;

/* Helper of back ends: a directory of slot n's own. */
int storage_make_dir(int slot, const char *name, struct err *err) MUST_CHECK;

/* Helper of back ends: removes a directory of slot n's own with all that a tenant left in it. */
int storage_remove_tree(const struct slots_plan *plan, uint32_t n, const char *name,
			struct err *err) MUST_CHECK;

/* Whether a directory of slot n's belongs to one of its ids: its tenant may have chosen which. */
bool storage_is_own(const struct slots_plan *plan, uint32_t n, int slot, const char *name);

/* ERR_BUSY if the workspace holds files of other ids than the slot's; drops such a layer. */
int storage_check_ids(const struct slots_plan *plan, uint32_t n, int slot,
		      struct err *err) MUST_CHECK;

/* Both btrfs back ends. */
int storage_btrfs_make_slot(const struct slots_plan *plan, uint32_t n, int slot,
			    struct storage_facts *facts, struct err *err) MUST_CHECK;
int storage_btrfs_drop_slot(const struct slots_plan *plan, uint32_t n, int slot,
			    struct err *err) MUST_CHECK;

/* A layer on the state directory's own file system, for back ends that cannot hold one. */
int storage_dir_make_layer(const struct slots_plan *plan, uint32_t n, int slot,
			   struct storage_facts *facts, struct err *err) MUST_CHECK;

extern const struct storage_backend storage_zfs, storage_dir, storage_btrfs, storage_btrfs_image;

#endif
