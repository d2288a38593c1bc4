/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart/form-data (RFC 7578), read as it comes, in bounded memory: a pure state machine over
 * bytes that gives out events one by one, so that its caller may stop between any two.
 */
#ifndef BERTH_LINKS_MULTIPART_H
#define BERTH_LINKS_MULTIPART_H

#include "base/buf.h"

enum {
	MULTIPART_MAX_BOUNDARY = 70,   /* RFC 2046 5.1.1 */
	MULTIPART_MAX_HEAD = 8 * 1024, /* the header lines of a part */
	MULTIPART_MAX_NAME = 1024,     /* a field's or a file's name */
};

enum multipart_event {
	MULTIPART_MORE, /* all was taken, more is needed */
	MULTIPART_PART, /* a part begins: `field` and `file` are set */
	MULTIPART_DATA, /* `data` belongs to the part */
	MULTIPART_PART_END,
	MULTIPART_END, /* the last boundary; what follows is ignored */
	MULTIPART_BAD,
};

struct multipart {
	char delimiter[MULTIPART_MAX_BOUNDARY + 5]; /* CRLF "--" boundary */
	size_t delimiter_len;
	enum { MP_PREAMBLE, MP_AFTER_BOUNDARY, MP_HEAD, MP_BODY, MP_DONE, MP_FAILED } state;
	struct buf head;
	char field[MULTIPART_MAX_NAME];
	char file[MULTIPART_MAX_NAME]; /* "" for a plain field */
	bool has_file;
};

/* `content_type` is the request's. -EINVAL if it is no multipart/form-data with a boundary. */
int multipart_init(struct multipart *m, struct view content_type) MUST_CHECK;
void multipart_done(struct multipart *m);

/*
 * Looks at `in`, the bytes not yet taken, and says what comes next. *taken is how many of them are
 * used up; *data is set for DATA. A part's data may come in many pieces. After MORE the same bytes,
 * less what was taken, must be offered again with more behind them.
 */
enum multipart_event multipart_next(struct multipart *m, struct view in, size_t *taken,
				    struct view *data);

#endif
