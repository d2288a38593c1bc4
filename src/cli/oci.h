/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of an image: an OCI image layout (index.json, blobs/), or what `docker save` and
 * `podman save` write (manifest.json). Blobs of an OCI layout are checked against their digests.
 */
#ifndef BERTH_CLI_OCI_H
#define BERTH_CLI_OCI_H

#include "base/err.h"

#include <stdbool.h>

/* True if the directory holds such an image. */
bool oci_is_layout(int dir_fd);
/* Unpacks the layers of the image for this machine's architecture, in order, into root_fd. */
int oci_unpack(int dir_fd, int root_fd, struct err *err) MUST_CHECK;

#endif
