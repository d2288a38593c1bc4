/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where programs are: berth's own beside this one, else in the place they were installed to; others
 * in the usual folders.
 */
#ifndef BERTH_SYS_PROGRAMS_H
#define BERTH_SYS_PROGRAMS_H

#include "base/attr.h"

/* The directory of this program, at most `size` - 1 bytes. -errno. */
int program_own_dir(char *out, size_t size) MUST_CHECK;
/* The path of e.g. "berth-spawner" in `out`. -ENOENT if it is in neither place. */
int program_path(const char *name, char *out, size_t size) MUST_CHECK;
/*
 * The path of another program: `name` itself if it has a slash, else in the folders of a usual
 * PATH, whatever the environment says. -ENOENT, -EACCES if it cannot be run.
 */
int program_find(const char *name, char *out, size_t size) MUST_CHECK;

#endif
