/* SPDX-License-Identifier: Apache-2.0 */
/* What `berth status` shows: pool, queue, engine, sandboxes with their containers and jobs. */
#ifndef BERTH_APP_STATUS_H
#define BERTH_APP_STATUS_H

#include "app/admin.h"

/*
 * {"command": "status", "disk": true|false}. Takes `call`, since the memory of containers is asked
 * of the spawner. With "disk" every workspace is measured as well, one after the other.
 */
int cmd_status(struct server *server, const json_t *request, struct admin_call *call,
	       struct err *err) MUST_CHECK;

#endif
