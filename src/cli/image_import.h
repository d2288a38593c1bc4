/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making an image from what somebody else built: a root file system (tar archive or directory), or
 * an OCI or Docker image (archive or directory).
 */
#ifndef BERTH_CLI_IMAGE_IMPORT_H
#define BERTH_CLI_IMAGE_IMPORT_H

#include "base/err.h"

/*
 * Unpacks `source` into the new directory `rootfs`, beside which it may use a directory "layout"
 * meanwhile. ERR_INVALID if it has no shell.
 */
int image_import(const char *source, const char *rootfs, struct err *err) MUST_CHECK;

#endif
