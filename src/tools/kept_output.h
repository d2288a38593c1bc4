/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole output of a command in a file of its sandbox, /workspace/.berth/output/…, made through
 * the keeper, bounded in size. It survives the container and the server.
 */
#ifndef BERTH_TOOLS_KEPT_OUTPUT_H
#define BERTH_TOOLS_KEPT_OUTPUT_H

#include "engine/engine.h"

struct kept_output;

/* Bytes written before the file is there. */
enum { KEPT_OUTPUT_MAX_EARLY = 1024 * 1024 };

/*
 * Opens a file; `opened` runs once, later: on success and on failure (writing is then a no-op).
 * `name` is the file's name. `files` is borrowed until kept_output_close().
 */
int kept_output_open(struct engine_files *files, const char *name, uint64_t max_bytes,
		     void (*opened)(void *userdata), void *userdata, struct kept_output **ret,
		     struct err *err) MUST_CHECK;
void kept_output_free(struct kept_output *k);
/* Writes no more; path and gap can still be asked for. */
void kept_output_close(struct kept_output *k);
/* From kept_output_open() on: what comes before the file is there is written to it then. Past the
 * limit, or when the disk is full, the rest is dropped and the reason is kept. */
void kept_output_write(struct kept_output *k, struct view bytes);
/* "/workspace/.berth/output/NAME", or NULL when there is no such file. */
const char *kept_output_path(const struct kept_output *k);
/* NULL, or why the file does not hold everything. */
const char *kept_output_gap(const struct kept_output *k);

#endif
