/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /: how to connect, how many sandboxes are free, how long the wait is. The page asks for
 * itself again every INDEX_REFRESH_SECONDS; it works without JavaScript.
 */
#ifndef BERTH_APP_INDEX_PAGE_H
#define BERTH_APP_INDEX_PAGE_H

#include "app/snapshot.h"

#define INDEX_REFRESH_SECONDS "30"

/* Appends the page; send it with page_security_headers. */
int index_page_print(const struct snapshot *s, struct buf *out, struct err *err) MUST_CHECK;

#endif
