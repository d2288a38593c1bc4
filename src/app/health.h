/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /health: the pool, the queue and what is enforced, as one JSON object. Every number is
 * explained in docs/OPERATIONS.md.
 */
#ifndef BERTH_APP_HEALTH_H
#define BERTH_APP_HEALTH_H

#include "app/snapshot.h"

/* Appends the object and sets *ret_http_status: 503 when nobody can be served, else 200. */
int health_print(const struct snapshot *s, struct buf *out, unsigned *ret_http_status,
		 struct err *err) MUST_CHECK;

#endif
