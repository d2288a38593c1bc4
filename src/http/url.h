/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-encoding (RFC 3986 2.1) and the pairs of queries and forms
 * (application/x-www-form-urlencoded). Exact in both directions: a bad escape is an error, never
 * taken literally.
 */
#ifndef BERTH_HTTP_URL_H
#define BERTH_HTTP_URL_H

#include "base/buf.h"

enum {
	URL_MAX_PAIRS = 64, /* name=value pairs in one query or form */
};

/* Appends `in` with every byte but the unreserved ones (A-Z a-z 0-9 - . _ ~) as %XX. As buf_add().
 */
int url_encode(struct buf *out, struct view in) MUST_CHECK;
/* The same, but '/' stays: for whole paths. */
int url_encode_path(struct buf *out, struct view in) MUST_CHECK;
/* Appends `in` with %XX decoded. -EINVAL for a bad escape; on failure `out` is unchanged. */
int url_decode(struct buf *out, struct view in) MUST_CHECK;

struct url_pair {
	struct view name, value; /* decoded */
};

/* Zero-initialise; release with url_form_done(). */
struct url_form {
	struct buf text; /* what the views below point into */
	struct url_pair pairs[URL_MAX_PAIRS];
	size_t n;
};
#define auto_url_form CLEANUP(url_form_done)

/*
 * Reads "a=1&b=x+y" ('+' is a space; an empty part is skipped; no '=' means an empty value).
 * -EINVAL: a bad escape, a NUL, or not UTF-8. -E2BIG: more than URL_MAX_PAIRS. -ENOMEM. On failure
 * the form is empty.
 */
int url_form_parse(struct url_form *form, struct view in) MUST_CHECK;
void url_form_done(struct url_form *form);
/* The first value of that name; the empty view with p == NULL when absent. */
struct view url_form_get(const struct url_form *form, const char *name);
/* How often that name was sent. */
unsigned url_form_count(const struct url_form *form, const char *name);
/* True when any name was sent twice; *ret (may be NULL) is the first such name. */
bool url_form_has_duplicate(const struct url_form *form, struct view *ret);

/* True when `v` holds a control character (below 0x20, or 0x7f). */
bool url_has_control(struct view v);

#endif
