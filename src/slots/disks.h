/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which disks the slots are on: control groups limit what a sandbox reads and writes by the number
 * of each disk. Root looks, in advance, because what is in a slot is closed to the server's user.
 * The spawner finds the numbers in runtime_dir/slots/disks, "8:0" a line, whenever it starts a
 * container; where they are not to be had there is no such file.
 */
#ifndef BERTH_SLOTS_DISKS_H
#define BERTH_SLOTS_DISKS_H

#include "slots/btrfs.h"
#include "slots/plan.h"

enum { DISKS_MAX = 32 };

struct disks {
	dev_t list[DISKS_MAX]; /* no disk twice */
	size_t n;
};

/*
 * The disks of a slot's workspace and layer; `slot` is its open folder. ERR_NOT_FOUND says which of
 * them is on a file system that cannot be limited.
 */
int disks_find(int slot, struct disks *ret, struct err *err) MUST_CHECK;

/* Writes the file into runtime_dir/slots, open as `dir`, or removes it and warns if it matters. */
int disks_up(const struct slots_plan *plan, int dir, struct err *err) MUST_CHECK;
int disks_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

/*
 * Adds the disk that a block device is or is a part of, or those that a btrfs is made of. `sys` is
 * /sys. -ENOENT if it does not know them, -E2BIG if they are too many. Exported for their tests.
 */
int disks_add_device(int sys, dev_t device, struct disks *disks) MUST_CHECK;
int disks_add_btrfs(int sys, const uint8_t id[BTRFS_ID_LEN], struct disks *disks) MUST_CHECK;

#endif
