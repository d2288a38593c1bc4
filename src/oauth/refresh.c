/* SPDX-License-Identifier: Apache-2.0 */
/* POST /token with a refresh token. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/reply.h"
#include "oauth/rotation.h"

static void reply_trouble(struct http_request *req, const struct err *err)
{
	log_error("refresh: %s", err->msg);
	/* Never a 5xx: clients would sign in anew, and lose their sandbox. */
	reply_slow_down(req, &reply_post_policy, 5 * USEC_PER_SEC,
			"The server is in trouble. Try again with the same refresh token.");
}

static void deny(struct oauth *oauth, struct http_request *req)
{
	oauth_refuse(oauth, req, "invalid_grant",
		     "The refresh token is not valid (any more). Sign in again.");
}

static void answer_reuse(struct oauth *oauth, struct http_request *req,
			 const struct store_family *family)
{
	struct err err;

	oauth->counts.reuses++;
	if (oauth->reuse == OAUTH_REUSE_REVOKE) {
		if (oauth_end_family(oauth, family, "an old refresh token was used again", &err) <
		    0) {
			reply_trouble(req, &err);
			return;
		}
	} else {
		log_info("an old refresh token of %s was refused", family->principal);
	}
	deny(oauth, req);
}

/* A new pair: after the current token, or in place of one that was never seen. */
static void answer_new_pair(struct oauth *oauth, struct http_request *req,
			    const struct store_family *before, enum rotation how,
			    const uint8_t presented[SECRET_HASH_BYTES])
{
	struct store_family family = *before;
	uint8_t next[SECRET_HASH_BYTES];
	struct token_pair pair;
	struct err err;

	secret_prefixed("sba_", pair.access);
	secret_refresh(family.id, pair.refresh);
	secret_hash(view_str(pair.refresh), next);
	if (how == ROTATION_ROTATE)
		rotation_rotate(&family, next, oauth_seconds(oauth));
	else
		rotation_replace(&family, next, oauth_seconds(oauth));
	if (oauth_store_rotation(oauth, &family, how == ROTATION_REPLACE ? before : NULL,
				 pair.access, &err) < 0) {
		reply_trouble(req, &err);
	} else {
		oauth->counts.refreshes++;
		oauth_touch_client(oauth, family.client);
		replays_put(oauth->replays, presented, &pair, oauth_now(oauth));
		oauth_reply_tokens(req, &pair, family.offline, OAUTH_ACCESS_TTL_S);
	}
	secret_wipe(&pair, sizeof(pair));
}

/* The answer that this token got already; false when it is not in memory any more. */
static bool answer_again(struct oauth *oauth, struct http_request *req,
			 const struct store_family *family,
			 const uint8_t presented[SECRET_HASH_BYTES])
{
	usec age = 0;
	const struct token_pair *pair =
		replays_get(oauth->replays, presented, oauth_now(oauth), &age);

	if (!pair)
		return false;
	oauth->counts.replays++;
	oauth_reply_tokens(req, pair, family->offline, OAUTH_ACCESS_TTL_S - age / USEC_PER_SEC);
	return true;
}

static void answer(struct oauth *oauth, struct http_request *req, const struct store_family *family,
		   const uint8_t presented[SECRET_HASH_BYTES])
{
	enum rotation verdict = rotation_judge(family, presented, oauth_seconds(oauth));

	if (verdict == ROTATION_REPLAY) {
		if (answer_again(oauth, req, family, presented))
			return;
		verdict = rotation_without_answer(family);
	}
	if (verdict == ROTATION_ROTATE || verdict == ROTATION_REPLACE)
		answer_new_pair(oauth, req, family, verdict, presented);
	else if (verdict == ROTATION_LATER)
		reply_slow_down(req, &reply_post_policy, USEC_PER_SEC,
				"This refresh token was used a moment ago. Use its successor.");
	else if (verdict == ROTATION_REUSE)
		answer_reuse(oauth, req, family);
	else
		deny(oauth, req);
}

void oauth_grant_refresh(struct oauth *oauth, struct http_request *req, const struct url_form *form,
			 const uint8_t client[SECRET_HASH_BYTES])
{
	struct view token = url_form_get(form, "refresh_token");
	uint8_t id[STORE_FAMILY_ID_BYTES], presented[SECRET_HASH_BYTES];
	struct store_family family;
	struct err err;
	int r = 0;

	if (token.len == 0) {
		oauth_refuse(oauth, req, "invalid_request", "refresh_token is missing.");
		return;
	}
	if (!request_resources_are(form, oauth->issuer)) {
		oauth_refuse(oauth, req, "invalid_target", "resource is not this server.");
		return;
	}
	if (secret_refresh_family(token, id) == 0)
		r = store_family_get(oauth->store, id, &family, &err);
	if (r < 0) {
		reply_trouble(req, &err);
		return;
	}
	if (r == 0 || !secret_equal(family.client, client, SECRET_HASH_BYTES)) {
		deny(oauth, req);
		return;
	}
	secret_hash(token, presented);
	answer(oauth, req, &family, presented);
}
