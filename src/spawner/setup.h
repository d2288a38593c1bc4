/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the spawner opens once, before it serves; and what it can say about the host.
 */
#ifndef BERTH_SPAWNER_SETUP_H
#define BERTH_SPAWNER_SETUP_H

#include "spawner/spawner.h"
#include "spawner/task.h"

/*
 * Fills in the descriptors and control groups of *host, and makes or takes the listening socket.
 * Descriptors below CONTAINER_MIN_FD are occupied for good, so that none of a child's plan can be
 * in the way of the fixed numbers that programs are given.
 */
int setup_host(struct task_host *host, const struct spawner_config *config, int *ret_listen_fd,
	       struct err *err) MUST_CHECK;
/* Removes the socket's file, if it was made here. */
void setup_stop_listening(const struct spawner_config *config);

/*
 * Gives up what starting sandboxes does not need: no setuid program, no debugger of the same user.
 * Where ids are mapped by newuidmap, which is one, all of that is needed.
 */
int setup_give_up(const struct spawner_config *config, const struct spawner_facts *facts,
		  struct err *err) MUST_CHECK;
void setup_read_facts(const struct task_host *host, struct spawner_facts *ret);

#endif
