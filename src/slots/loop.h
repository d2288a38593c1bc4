/* SPDX-License-Identifier: Apache-2.0 */
/* Loop devices: a file as a disk. */
#ifndef BERTH_SLOTS_LOOP_H
#define BERTH_SLOTS_LOOP_H

#include "base/err.h"

enum { LOOP_PATH_SIZE = 32 };

/*
 * Attaches the open file to a free device, which lets go of it when the last user of the device is
 * gone. *ret_fd keeps it until it is mounted; `path` becomes the device's.
 */
int loop_attach(int file, char path[LOOP_PATH_SIZE], int *ret_fd, struct err *err) MUST_CHECK;
/* Tells the device at `path` that its file has grown. */
int loop_grow(const char *path, struct err *err) MUST_CHECK;

#endif
