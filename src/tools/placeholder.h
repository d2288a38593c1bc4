/* SPDX-License-Identifier: Apache-2.0 */
/* "… rest unchanged …": text that stands for code the model left out. */
#ifndef BERTH_TOOLS_PLACEHOLDER_H
#define BERTH_TOOLS_PLACEHOLDER_H

#include "base/buf.h"

/* The 1-based number of the first line that looks like one, and the line; 0 if none does. */
uint64_t placeholder_find(struct view text, struct view *ret_line);

#endif
