/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range and validator headers (RFC 9110 13 and 14).
 */
#ifndef BERTH_HTTP_RANGE_H
#define BERTH_HTTP_RANGE_H

#include "base/buf.h"

enum range_answer {
	RANGE_WHOLE,         /* no range, one that makes no sense, or several: send everything */
	RANGE_PART,          /* *ret_first to *ret_last, both included */
	RANGE_UNSATISFIABLE, /* 416 */
};

/* `header` is the value of Range, `size` that of the file. */
enum range_answer range_parse(struct view header, uint64_t size, uint64_t *ret_first,
			      uint64_t *ret_last);

/* True if the comma-separated list of entity tags names `etag` (quoted), or is "*". Weak ones
 * count by their text: right for If-None-Match. */
bool etag_list_has(struct view list, struct view etag);

#endif
