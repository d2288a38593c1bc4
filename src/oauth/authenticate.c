/* SPDX-License-Identifier: Apache-2.0 */
/* Whose request it is: access tokens, static tokens, or nobody in particular. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/media.h"
#include "oauth/reply.h"

#include <stdio.h>

/* Clients start to sign in when they see this, and only then. */
static void challenge(struct oauth *oauth, struct http_request *req, unsigned status,
		      const char *description)
{
	char value[1024];
	const struct http_header extra[] = { { "WWW-Authenticate", value }, { NULL, NULL } };
	int n = snprintf(value, sizeof(value),
			 "Bearer error=\"invalid_token\", error_description=\"%s\"", description);

	if (oauth->modes & OAUTH_MODE_SIGN_IN)
		(void)snprintf(value + n, sizeof(value) - (size_t)n,
			       ", resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp\""
			       ", scope=\"sandbox\"",
			       oauth->issuer);
	oauth->counts.challenges++;
	reply_error(req, status, &reply_resource_policy, "invalid_token", description, extra);
}

static void fill(const struct oauth *oauth, const char *prefix, const char *id,
		 struct oauth_principal *ret)
{
	struct oauth_principal p = { .may_use_labels = oauth->may_use_labels };

	(void)snprintf(p.id, sizeof(p.id), "%s%s", prefix, id);
	*ret = p;
}

/* Notes that the newest pair arrived, and now and then that the sign-in is in use. */
static void note_use(struct oauth *oauth, const struct store_access *access)
{
	uint64_t now = oauth_seconds(oauth);
	bool is_news = access->is_newest && !access->successor_used;
	struct err err;

	if ((is_news || access->last_call + OAUTH_TOUCH_S <= now) &&
	    store_family_used(oauth->store, access->family, now, access->is_newest, &err) < 0)
		log_warning("note the use of a sign-in: %s", err.msg);
}

/* 1: an access token of ours; 0: not; -1 with err. */
static int try_access(struct oauth *oauth, const uint8_t hash[SECRET_HASH_BYTES],
		      struct oauth_principal *ret, struct err *err)
{
	struct store_access access;
	int r = store_access_get(oauth->store, hash, &access, err);

	if (r != 1)
		return r;
	if (access.expires <= oauth_seconds(oauth))
		return 0;
	note_use(oauth, &access);
	fill(oauth, "", access.principal, ret);
	return 1;
}

static int try_static(struct oauth *oauth, const uint8_t hash[SECRET_HASH_BYTES],
		      struct oauth_principal *ret, struct err *err)
{
	uint64_t now = oauth_seconds(oauth);
	struct store_bearer bearer;
	struct err touch_err;
	int r = store_bearer_get(oauth->store, hash, &bearer, err);

	if (r != 1 || !secret_equal(bearer.hash, hash, SECRET_HASH_BYTES))
		return r < 0 ? -1 : 0;
	if (bearer.last_used + OAUTH_TOUCH_S <= now &&
	    store_bearer_touch(oauth->store, hash, now, &touch_err) < 0)
		log_warning("note the use of a token: %s", touch_err.msg);
	fill(oauth, "owner-", bearer.owner, ret);
	return 1;
}

static int try_token(struct oauth *oauth, struct view token, struct oauth_principal *ret,
		     struct err *err)
{
	uint8_t hash[SECRET_HASH_BYTES];
	int r = 0;

	secret_hash(token, hash);
	if ((oauth->modes & OAUTH_MODE_SIGN_IN) && view_starts(token, VIEW("sba_")))
		r = try_access(oauth, hash, ret, err);
	if (r == 0 && (oauth->modes & OAUTH_MODE_TOKEN))
		r = try_static(oauth, hash, ret, err);
	return r;
}

int oauth_authenticate(struct oauth *oauth, struct http_request *req, struct oauth_principal *ret)
{
	struct view header = http_request_header(req, "Authorization"), token;
	struct err err;
	int r;

	if (http_request_header_count(req, "Authorization") > 1) {
		challenge(oauth, req, 400, "There is more than one Authorization header.");
		return -1;
	}
	if (!(oauth->modes & (OAUTH_MODE_TOKEN | OAUTH_MODE_SIGN_IN)) ||
	    (!header.p && (oauth->modes & OAUTH_MODE_NONE))) {
		fill(oauth, "", "local", ret);
		return 0;
	}
	if (!header.p || media_bearer(header, &token) < 0) {
		challenge(oauth, req, 401,
			  oauth->modes & OAUTH_MODE_SIGN_IN ? "Sign in to get a sandbox."
							    : "A bearer token is needed.");
		return -1;
	}
	r = try_token(oauth, token, ret, &err);
	if (r == 1)
		return 0;
	if (r < 0) {
		log_error("check a token: %s", err.msg);
		/* Not a 401: the token may be good, and clients would drop it. */
		reply_slow_down(req, &reply_resource_policy, 5 * USEC_PER_SEC,
				"The server is in trouble. Try again.");
		return -1;
	}
	challenge(oauth, req, 401, "The token is expired, revoked or unknown.");
	return -1;
}
