/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What berth-slots made ready, and what of it the kernel enforces: written by root into the state
 * directory, read by the server for /health, sandbox_info and its checks at start. Lines of
 * "key=value"; unknown keys are skipped, so that either side may be newer.
 */
#ifndef BERTH_CONF_SLOTS_STATUS_H
#define BERTH_CONF_SLOTS_STATUS_H

#include "base/buf.h"

#define SLOTS_STATUS_FILE "slots.status"
/* In the state directory too: the one folder that the server's user owns. */
#define SLOTS_SERVER_DIR "server"
enum { SLOTS_STATUS_MAX = 4096, SLOTS_STATUS_WORD = 16 };

struct slots_status {
	uint32_t slots;
	char storage[SLOTS_STATUS_WORD]; /* "zfs", "btrfs", "btrfs-image", "dir" */
	bool workspace_bounded;          /* by the kernel */
	bool layer_bounded;
	char network[SLOTS_STATUS_WORD]; /* "internet", "none", "lan", "allow" */
	bool connections_bounded;
	bool bandwidth_bounded;
	char settings[SLOTS_STATUS_WORD]; /* conf_setup_tag() of what was applied; "": not known */
	char cgroups[SLOTS_STATUS_WORD];  /* made for the server: "v1", "v2" or "none" */
};

int slots_status_print(const struct slots_status *status, struct buf *out) MUST_CHECK;
/* -EINVAL if a known key has a value that makes no sense, or "slots" is missing. */
int slots_status_parse(struct view text, struct slots_status *ret) MUST_CHECK;

#endif
