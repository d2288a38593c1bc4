/* SPDX-License-Identifier: Apache-2.0 */
/* The image's root file system, shown to each slot with the owners of the slot's range. */
#ifndef BERTH_SLOTS_IMAGE_H
#define BERTH_SLOTS_IMAGE_H

#include "slots/plan.h"

/*
 * Mounts image/current/rootfs on every slots/<n>/lower. A mount of an older image, or with other
 * owners, is replaced; containers that run keep theirs. `namespaces` is from namespaces_up().
 */
int image_up(const struct slots_plan *plan, int namespaces, struct err *err) MUST_CHECK;
/* Takes the mounts off, of all slots that there are on disk. */
int image_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

#endif
