/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pooled namespaces: per slot a user namespace that the server's user owns (so that it has
 * every capability in it, and nowhere else) and a network namespace, kept alive by bind mounts of
 * their nsfs files in runtime_dir/slots.
 */
#ifndef BERTH_SLOTS_NAMESPACES_H
#define BERTH_SLOTS_NAMESPACES_H

#include "slots/plan.h"

/*
 * Makes those that are missing for all slots. *ret_dir is runtime_dir/slots, the private mount.
 * Namespaces made for another user or another range (pool.uid_base was changed) are replaced.
 */
int namespaces_up(const struct slots_plan *plan, int *ret_dir, struct err *err) MUST_CHECK;
int namespaces_down(struct slots_plan *plan, struct err *err) MUST_CHECK;

/* Opens slot n's namespace file; `kind` is "user" or "net". */
int namespaces_open(int dir, uint32_t n, const char *kind, int *ret_fd, struct err *err) MUST_CHECK;

#endif
