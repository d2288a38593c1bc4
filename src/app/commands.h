/* SPDX-License-Identifier: Apache-2.0 */
/* What the administration socket and its commands share. */
#ifndef BERTH_APP_COMMANDS_H
#define BERTH_APP_COMMANDS_H

#include "app/admin.h"

/* Appends the answer: `result` (an object, borrowed, gets "ok"), or NULL with err. */
void admin_print(json_t *result, const struct err *err, struct buf *answer);

#endif
