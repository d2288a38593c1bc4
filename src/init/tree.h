/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that descends from a process, by /proc.
 */
#ifndef BERTH_INIT_TREE_H
#define BERTH_INIT_TREE_H

#include <stdbool.h>
#include <sys/types.h>

enum tree_scope { TREE_WITH_ROOT, TREE_BELOW_ROOT };

/*
 * Sends `sig` once to each living descendant of `root`, and to what they fork meanwhile as long as
 * that stays in its parent's process group. Returns how many were found; what has left its group is
 * missed, so to kill all, repeat without reaping until this is 0: the dead keep their places under
 * the process limit, and a fork bomb starves.
 */
int tree_signal(pid_t root, enum tree_scope scope, int sig);

/* State letter, parent and process group of one line of /proc/PID/stat; false if it is not one. */
bool tree_parse_stat(const char *line, char *ret_state, pid_t *ret_parent, pid_t *ret_group);

#endif
