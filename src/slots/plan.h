/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every step of preparing slots needs to know, worked out once, with the directories held
 * open: all paths below them are relative to these descriptors and never followed through a link.
 */
#ifndef BERTH_SLOTS_PLAN_H
#define BERTH_SLOTS_PLAN_H

#include "base/instance.h"
#include "slots/slots.h"

#include <sys/types.h>

struct slots_plan {
	const struct conf *conf; /* borrowed; outlives the plan */
	struct slots_progress progress;
	char instance[INSTANCE_LEN + 1];
	uint32_t count; /* of slots */
	uid_t uid;      /* of the server's user */
	gid_t gid;
	char *runtime_dir; /* owned */
	int state_fd;      /* state_dir */
	int slots_fd;   /* state_dir/slots; after plan_reopen_slots() that of the pool mounted on it
			 */
	int runtime_fd; /* runtime_dir */
	/* What the storage back end found when it was attached, for its use on each slot. */
	struct buf inventory;
};

/* Looks up the user, makes the directories that are missing, opens them. */
int plan_init(struct slots_plan *ret, const struct conf *conf,
	      const struct slots_progress *progress, struct err *err) MUST_CHECK;
void plan_done(struct slots_plan *plan);
#define auto_plan CLEANUP(plan_done)

/* After something was mounted over, or taken off, state_dir/slots. */
int plan_reopen_slots(struct slots_plan *plan, struct err *err) MUST_CHECK;

/* First id of slot n's range. */
uid_t plan_slot_id(const struct slots_plan *plan, uint32_t n);

void plan_progress(const struct slots_plan *plan, const char *what, uint32_t done);

/*
 * Makes (if missing) and opens a directory below `dirfd` that belongs to root or, at first, to
 * nobody else; sets owner and mode. ERR_DENIED if somebody else's stands there.
 */
int plan_open_dir(int dirfd, const char *name, mode_t mode, gid_t gid, int *ret_fd,
		  struct err *err) MUST_CHECK;
/* Opens runtime_dir/slots, where the namespaces are: a descriptor, or -1 with errno. */
int plan_open_namespaces(const struct slots_plan *plan) MUST_CHECK;

#endif
