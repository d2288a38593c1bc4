/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into HTML: safe as element content and inside quoted attributes.
 */
#ifndef BERTH_HTTP_HTML_H
#define BERTH_HTTP_HTML_H

#include "base/buf.h"

/* Appends `text` with & < > " ' as character references. As buf_add(). */
int html_escape(struct buf *out, struct view text) MUST_CHECK;

#endif
