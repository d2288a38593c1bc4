/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups for a server that no service manager delegates any to: a directory
 * "berth-<tag>" that belongs to the server's user, so that it can make a group for each container
 * and set its limits.
 *
 *   version 1  one in the memory, pids, cpu and freezer hierarchies; no service manager ever
 *              delegates these
 *   version 2  one at the top, where there is no systemd; `berth serve` enters it while it is
 *              root (cli/delegation.h), because the user may not move processes out of groups that
 *              are not its own
 */
#ifndef BERTH_SLOTS_CGROUPS_H
#define BERTH_SLOTS_CGROUPS_H

#include "slots/plan.h"

enum cgroups_kind { CGROUPS_NONE, CGROUPS_V1, CGROUPS_V2, CGROUPS_NUM_KINDS };

const char *cgroups_kind_name(enum cgroups_kind kind);

int cgroups_up(const struct slots_plan *plan, enum cgroups_kind *ret, struct err *err) MUST_CHECK;
/* Removes the directories and the groups below; ERR_SYSTEM if processes are left in one. */
int cgroups_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

/*
 * Finds where a hierarchy is mounted in the text of /proc/self/mountinfo: that of version 1 with
 * this controller, or for NULL that of version 2. Exported for its tests. False if there is none.
 */
bool cgroups_find_mount(struct view mountinfo, const char *controller, char *ret, size_t size);

#endif
