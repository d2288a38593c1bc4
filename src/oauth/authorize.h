/* SPDX-License-Identifier: Apache-2.0 */
/* What showing the button and pressing it share. */
#ifndef BERTH_OAUTH_AUTHORIZE_H
#define BERTH_OAUTH_AUTHORIZE_H

#include "oauth/internal.h"
#include "oauth/redirect.h"

/* "__Host-…" where the browser accepts it. */
const char *authorize_cookie_name(const struct oauth *oauth);
/* The hash of the browser's cookie; false when it sent none. */
bool authorize_cookie(const struct oauth *oauth, const struct http_request *req,
		      uint8_t ret[SECRET_HASH_BYTES]);

/* The client, to release by the caller. -1 after having replied. */
int authorize_client(struct oauth *oauth, struct http_request *req,
		     const uint8_t id[SECRET_HASH_BYTES], struct store_client *ret) MUST_CHECK;

/*
 * Where the answer goes: the redirect URI with two parameters (a NULL value is left out), state and
 * iss. `out` is initialised here and released by the caller. As buf_add().
 */
int authorize_location(const struct oauth *oauth, const struct request *request,
		       const struct redirect_param lead[2], struct buf *out) MUST_CHECK;
void authorize_redirect(struct http_request *req, const char *location);

/* How the page is shown this time. */
struct authorize_showing {
	unsigned status;
	struct view bad_mail;      /* what was typed and is no address, or empty */
	const char *cookie_header; /* value of Set-Cookie, or NULL */
};
void authorize_show(struct oauth *oauth, struct http_request *req, const struct request *request,
		    const struct store_client *client, const struct authorize_showing *how);

#endif
