/* SPDX-License-Identifier: Apache-2.0 */
/* Names of uploaded files, as browsers and strangers send them. */
#ifndef BERTH_LINKS_FILE_NAME_H
#define BERTH_LINKS_FILE_NAME_H

#include "base/buf.h"

enum { FILE_NAME_MAX = 255 }; /* bytes; NAME_MAX */

/*
 * Makes a name that can do no harm: the last component ('/' and '\\'), valid UTF-8, control
 * characters as '_', at most FILE_NAME_MAX bytes (cut before the extension). -EINVAL if nothing
 * usable is left ("", ".", "..").
 */
int file_name_clean(struct view name, char out[FILE_NAME_MAX + 1]) MUST_CHECK;

#endif
