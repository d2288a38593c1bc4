/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross-origin access for the machine endpoints. They use no cookies, so any origin may call
 * ("*", never with credentials); what protects them is the bearer token.
 */
#ifndef BERTH_HTTP_CORS_H
#define BERTH_HTTP_CORS_H

#include "http/http.h"

struct cors_policy {
	const char *methods; /* "POST, OPTIONS" */
	const char *expose;  /* response headers a script may read; NULL: none */
};

enum {
	CORS_MAX_HEADERS = 2,            /* what cors_headers() writes at most */
	CORS_MAX_REQUEST_HEADERS = 1024, /* bytes of Access-Control-Request-Headers echoed */
};

/* Writes what every answer of the endpoint carries, errors too; returns how many. */
size_t cors_headers(const struct cors_policy *policy, struct http_header out[CORS_MAX_HEADERS]);

/*
 * Answers an OPTIONS request with 204. The headers asked for are allowed as they are if they are
 * a list of tokens of a sane length, else a fixed list is.
 */
void cors_preflight(struct http_request *req, const struct cors_policy *policy);

#endif
