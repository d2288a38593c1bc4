/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of workspaces, on the operator's word only: which were untouched for long. The
 * age is counted from the later of the server's own record of the last use and the newest change in
 * the tree; it is null where one of them is not known. One that is in use, or cannot be looked at,
 * is kept, also one that came into use while it was looked at.
 */
#ifndef BERTH_APP_GC_H
#define BERTH_APP_GC_H

#include "app/admin.h"

/* {"command": "gc", "age": seconds (default: gc.age), "delete": true|false}. Takes `call`. */
int cmd_gc(struct server *server, const json_t *request, struct admin_call *call,
	   struct err *err) MUST_CHECK;

#endif
