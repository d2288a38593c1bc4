/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that builds a container around itself and becomes berth-init; and the smaller one that
 * becomes berth-keeper. Both run between clone3 and exec (see launch.h).
 */
#ifndef BERTH_SPAWNER_CONTAINER_H
#define BERTH_SPAWNER_CONTAINER_H

#include "base/buf.h"
#include "spawner/confine.h"
#include "spawner/launch.h"

/* Descriptors that are placed at fixed numbers must be at or above this. */
enum { CONTAINER_MIN_FD = 16 };

struct container_plan {
	int init_fd;   /* the program, O_PATH */
	int socket_fd; /* becomes INIT_SOCKET_FD; at least CONTAINER_MIN_FD, like null_fd */
	int null_fd;
	bool is_fresh;     /* set the layer aside and begin a new one */
	char aside[2][64]; /* names in layer/trash for upper and work */
	char shm_size[24], tmp_size[24];
	struct view hosts, resolv; /* contents of /etc/hosts and /etc/resolv.conf */
	struct confine_plan confine;
};

/* What is done to the namespaces with /proc and /sys in place, but writable still. */
void container_prepare_namespaces(const struct launch_plan *launch);

/* launch_plan.child of the native engine; userdata is the struct container_plan. */
void container_child(const struct launch_plan *launch, void *userdata);

struct keeper_plan {
	int program_fd;         /* O_PATH */
	int socket_fd, null_fd; /* at least CONTAINER_MIN_FD */
};
/* launch_plan.child; userdata is the struct keeper_plan. What the keeper gets: wire/keeper.h. */
void keeper_child(const struct launch_plan *launch, void *userdata);

#endif
