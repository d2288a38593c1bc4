/* SPDX-License-Identifier: Apache-2.0 */
/* Small readings of request headers. */
#ifndef BERTH_OAUTH_MEDIA_H
#define BERTH_OAUTH_MEDIA_H

#include "http/http.h"

/* Is the body of this media type (parameters aside)? */
bool media_is(const struct http_request *req, const char *type);

/* The value of a cookie in a Cookie header: the first of that name, or the empty view. */
struct view media_cookie(struct view header, const char *name);

enum { MEDIA_BASIC_ID_BYTES = 128 };
/*
 * The user of "Basic …" credentials, form-decoded (RFC 6749 2.3.1). -ENOENT: another scheme;
 * -EINVAL: not what Basic looks like.
 */
int media_basic_user(struct view authorization, char ret[MEDIA_BASIC_ID_BYTES]);

/*
 * The token of "Bearer …" (any case). -ENOENT: another scheme; -EINVAL: empty, too long, or with
 * characters that no token has.
 */
int media_bearer(struct view authorization, struct view *ret);

#endif
