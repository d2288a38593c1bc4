/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends to register (RFC 7591), reduced to what is kept. Pure: no store, no request.
 */
#ifndef BERTH_OAUTH_REGISTRATION_H
#define BERTH_OAUTH_REGISTRATION_H

#include "oauth/limits.h"
#include "json/json.h"

enum registration_kind { REGISTRATION_UNSAID, REGISTRATION_NATIVE, REGISTRATION_WEB };

struct registration {
	json_t *document;                           /* owned; the views below point into it */
	char name[OAUTH_MAX_NAME + 1];              /* never empty */
	struct view redirects[OAUTH_MAX_REDIRECTS]; /* the acceptable ones, as sent */
	size_t n_redirects;                         /* at least 1 */
	enum registration_kind kind;                /* only said back */
};

void registration_done(struct registration *reg);
#define auto_registration CLEANUP(registration_done)

/*
 * -1 with ERR_INVALID, a text for the client's author, and in *ret_error the error code of RFC 7591
 * (a literal). Unacceptable redirect URIs are dropped as long as one is left.
 */
int registration_parse(struct view body, struct registration *ret, const char **ret_error,
		       struct err *err) MUST_CHECK;

/*
 * The client id: equal for everything that registers with the same name, kind and set of redirect
 * URIs (loopback ports aside) at the same issuer. Hosted clients that register again and again thus
 * cost one row.
 */
enum { REGISTRATION_ID_TEXT = 3 + 40 + 1 };
int registration_id(const struct registration *reg, const char *issuer,
		    char ret[REGISTRATION_ID_TEXT], struct err *err) MUST_CHECK;
/* Is it shaped like one? */
bool registration_is_id(struct view id);

#endif
