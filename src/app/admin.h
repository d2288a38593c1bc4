/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The administration socket, runtime_dir/admin.sock: one JSON object a line in, one a line out.
 * Only the server's own user and root may connect (mode of the socket, SO_PEERCRED).
 *
 *   {"command": "recycle", "key": "amber-otter-3f9a1c"}
 *   {"ok": true, …}   or   {"ok": false, "code": "not found", "error": "there is no …"}
 */
#ifndef BERTH_APP_ADMIN_H
#define BERTH_APP_ADMIN_H

#include "app/server.h"
#include "json/json.h"

struct admin;

int admin_new(struct server *server, const char *path, struct admin **ret,
	      struct err *err) MUST_CHECK;
void admin_free(struct admin *admin);

/*
 * A request that is answered later. Whoever has it calls admin_finish() exactly once, also if the
 * client has left meanwhile.
 */
struct admin_call;

/*
 * Carries out one command (`request` is the line) and appends the answer's line, without its line
 * feed. Failures are answers too. Works offline for the commands that need no running server.
 * `call` is for commands that take their time (NULL: those are refused); 1 is returned when one of
 * them has taken it, else 0.
 */
int admin_execute(struct server *server, struct view request, struct admin_call *call,
		  struct buf *answer);

/* `result` is an object, taken; or NULL with err. */
void admin_finish(struct admin_call *call, json_t *result, const struct err *err);

#endif
