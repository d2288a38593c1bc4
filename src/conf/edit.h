/* SPDX-License-Identifier: Apache-2.0 */
/* Sets keys in the text of a configuration file, and leaves everything else as the operator wrote
 * it. */
#ifndef BERTH_CONF_EDIT_H
#define BERTH_CONF_EDIT_H

#include "base/buf.h"

/*
 * Appends `text` to `out` with "key = value" in [section]: in the place of the line that sets it,
 * else below the commented-out line of the example, else at the end of the section, which is added
 * if it is missing. -EINVAL for a value that a line cannot hold; otherwise as buf_add().
 */
int conf_edit(struct view text, const char *section, const char *key, const char *value,
	      struct buf *out) MUST_CHECK;

#endif
