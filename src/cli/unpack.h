/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking an archive that somebody else made into a directory that becomes a sandbox's root.
 * Every path is resolved as it will be in the sandbox, so neither ".." nor a link in the archive
 * reaches out of the directory. Device nodes, sockets and extended attributes (capabilities,
 * overlay marks) are left out; an owner that no sandbox has is an error.
 */
#ifndef BERTH_CLI_UNPACK_H
#define BERTH_CLI_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	UNPACK_MAX_OWNER = 65535,     /* a sandbox has the ids 0 to 65535 */
	UNPACK_MAX_ENTRIES = 4000000, /* in one archive */
};
#define UNPACK_MAX_BYTES (64ULL << 30) /* what the files of one archive may add up to */

enum unpack_kind {
	UNPACK_PLAIN,
	UNPACK_LAYER, /* names with ".wh." remove what lower layers brought (OCI image spec) */
};

/* `archive_fd` is at its start, seekable, any compression (gzip, bzip2, xz, zstd, none). */
int unpack_tar(int archive_fd, int root_fd, enum unpack_kind kind, struct err *err) MUST_CHECK;
/* Copies a directory, without what is mounted below it. */
int unpack_directory(const char *path, int root_fd, struct err *err) MUST_CHECK;

/* What a tar archive holds, by the names at its top. */
enum unpack_contents { UNPACK_ROOTFS, UNPACK_IMAGE_LAYOUT };
int unpack_look(int archive_fd, enum unpack_contents *ret, struct err *err) MUST_CHECK;

#endif
