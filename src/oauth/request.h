/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One authorization request: its parameters checked in two phases, and sealed into the page's form.
 *
 * Phase 1 is everything until the redirect URI is known to be the client's; a failure there is
 * shown, never redirected. A failure in phase 2 goes back to the client. Pure but for randomness.
 */
#ifndef BERTH_OAUTH_REQUEST_H
#define BERTH_OAUTH_REQUEST_H

#include "base/err.h"
#include "http/url.h"
#include "oauth/limits.h"
#include "oauth/secret.h"
#include "sys/clock.h"

struct request {
	char redirect_uri[OAUTH_MAX_REDIRECT + 1];
	char state[OAUTH_MAX_STATE + 1];
	bool has_state;
	char challenge[SECRET_CHALLENGE + 1];
	bool offline;                      /* offline_access was asked for */
	uint8_t client[SECRET_HASH_BYTES]; /* hash of the client id */
	uint8_t cookie[SECRET_HASH_BYTES]; /* hash of the browser's cookie */
	usec shown;                        /* monotonic */
};

/* True if a parameter that means something was sent twice. */
bool request_has_duplicate(const struct url_form *query);

/* Phase 1, after the client was found: `registered` are its URIs, separated by newlines. -EINVAL
 * when redirect_uri is missing or not one of them. */
int request_check_redirect(const struct url_form *query, const char *registered,
			   struct request *ret) MUST_CHECK;

/* Phase 2. 0, or -1 with the error code of RFC 6749 in *ret_error (a literal) and a text in err. */
int request_check(const struct url_form *query, const char *issuer, struct request *ret,
		  const char **ret_error, struct err *err) MUST_CHECK;

/* Is `resource` this server: its origin, or its /mcp, spelled in any equivalent way? */
bool request_is_resource(struct view resource, const char *issuer);

/* The same for every `resource` of a form; true when there is none. */
bool request_resources_are(const struct url_form *form, const char *issuer);

enum {
	REQUEST_KEY_BYTES = 32,
	/* The longest sealed request, as base64url. */
	REQUEST_MAX_SEALED = 5 * 1024,
};

/* Appends `request`, encrypted and authenticated with `key`, as base64url. */
int request_seal(const struct request *request, const uint8_t key[REQUEST_KEY_BYTES],
		 struct buf *out, struct err *err) MUST_CHECK;
/* -EINVAL for anything that request_seal() with the same key did not make. */
int request_open(struct view sealed, const uint8_t key[REQUEST_KEY_BYTES],
		 struct request *ret) MUST_CHECK;

/*
 * The same for two presses that answer the same authorization request of the same browser, even
 * if the page was loaded twice in between.
 */
void request_identity(const struct request *request, uint8_t ret[SECRET_HASH_BYTES]);

#endif
