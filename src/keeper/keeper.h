/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-keeper: one process for an occupied slot, "root" of that slot's user namespace and nothing
 * else. It holds two directories, the slot's workspace and layer, and does to their files what
 * berthd asks over one socket (wire/keeper.h). Single-threaded: short requests are answered at
 * once and in order; what may take long runs in a forked child that sends its reply itself.
 *
 * What it keeps in memory (all bounded): files created and not yet committed, which version of
 * which file the client has seen, and how to undo its edits.
 */
#ifndef BERTH_KEEPER_KEEPER_H
#define BERTH_KEEPER_KEEPER_H

#include "base/err.h"
#include "wire/keeper.h"

struct keeper;

/* Of the program's own descriptors, behind those that it is started with. */
enum { KEEPER_SELF_FD = KEEPER_ROOT_FD + 1 };

/*
 * Opens the folder of the process's own descriptors as KEEPER_SELF_FD, in a mount of its own, so
 * that nothing else of /proc is reached through it. -1 where that is not possible. Before the root
 * is changed and privileges are given up.
 */
int keeper_open_self(void) MUST_CHECK;

/*
 * Borrows the descriptors, which must outlive it; without the last (-1) files that are being made
 * have temporary names. NULL when out of memory.
 */
struct keeper *keeper_new(int socket_fd, int workspace_fd, int layer_fd, int self_fd) MUST_CHECK;
/* Removes files that were never committed and ends its children. */
void keeper_free(struct keeper *keeper);
DEFINE_CLEANUP(keeper)

/*
 * Deletes what an earlier keeper left of old layers (in the background), then serves until the
 * other side closes the socket: 0. -1 on a broken socket or message.
 */
int keeper_serve(struct keeper *keeper, struct err *err) MUST_CHECK;

/*
 * Gives up whatever the program does not need: privileges but those over the slot's files, new
 * privileges, other descriptors, other system calls. The process dies with its parent.
 */
int keeper_confine(struct err *err) MUST_CHECK;

#endif
