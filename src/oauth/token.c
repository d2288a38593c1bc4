/* SPDX-License-Identifier: Apache-2.0 */
/* POST /token: the dispatcher and the exchange of a code. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/reply.h"

static const struct cors_policy *const cors = &reply_post_policy;

static void reply_trouble(struct http_request *req, const struct err *err)
{
	bool is_full = err->code == ERR_FULL;

	log_error("token endpoint: %s", err->msg);
	/* Never a 5xx: clients would sign in anew, and lose their sandbox. */
	reply_slow_down(req, cors, 5 * USEC_PER_SEC,
			is_full ? "There are too many sign-ins just now. Try again later."
				: "The server is in trouble. Try again.");
}

/* A code that was exchanged before: whoever has it second may be a thief, or the first one was. */
static void answer_replayed_code(struct oauth *oauth, struct http_request *req,
				 const struct decision *decision)
{
	struct store_family family;
	struct err err;
	int r = store_family_get(oauth->store, decision->family, &family, &err);

	oauth->counts.reuses++;
	if (r == 1)
		r = oauth_end_family(oauth, &family, "its code was used twice", &err);
	if (r < 0)
		reply_trouble(req, &err);
	else
		oauth_refuse(oauth, req, "invalid_grant",
			     "The code was used before. What it gave is revoked.");
}

/*
 * Whether this caller may exchange the code. A refusal here does not consume it, or anybody could
 * burn the codes of others; only wrong verifiers count.
 */
static bool may_exchange(struct oauth *oauth, struct http_request *req, const struct url_form *form,
			 const uint8_t client[SECRET_HASH_BYTES], struct decision *decision)
{
	struct view verifier = url_form_get(form, "code_verifier");

	if (!secret_equal(decision->client, client, SECRET_HASH_BYTES)) {
		oauth_refuse(oauth, req, "invalid_grant", "The code belongs to another client.");
	} else if (!view_is(url_form_get(form, "redirect_uri"), decision->redirect_uri)) {
		oauth_refuse(oauth, req, "invalid_grant",
			     "redirect_uri is not the one of the authorization request.");
	} else if (!request_resources_are(form, oauth->issuer)) {
		oauth_refuse(oauth, req, "invalid_target", "resource is not this server.");
	} else if (verifier.len == 0) {
		oauth_refuse(oauth, req, "invalid_request", "code_verifier is missing.");
	} else if (!secret_is_verifier(verifier) ||
		   !secret_challenge_matches(decision->challenge, verifier)) {
		decision_fail(decision, oauth_now(oauth));
		oauth_refuse(oauth, req, "invalid_grant", "code_verifier does not match.");
	} else {
		return true;
	}
	return false;
}

static void grant_code(struct oauth *oauth, struct http_request *req, const struct url_form *form,
		       const uint8_t client[SECRET_HASH_BYTES])
{
	struct view code = url_form_get(form, "code");
	char client_id[OAUTH_SHORT_ID_TEXT];
	uint8_t hash[SECRET_HASH_BYTES];
	struct decision *decision;
	struct token_pair pair;
	struct err err;

	if (code.len == 0) {
		oauth_refuse(oauth, req, "invalid_request", "code is missing.");
		return;
	}
	secret_hash(code, hash);
	decision = decisions_by_code(oauth->decisions, hash, oauth_now(oauth));
	if (decision && decision->state == DECISION_REDEEMED) {
		answer_replayed_code(oauth, req, decision);
		return;
	}
	if (!decision || !decision_is_fresh(decision, oauth_now(oauth))) {
		oauth_refuse(oauth, req, "invalid_grant", "The code is unknown or too old.");
		return;
	}
	if (!may_exchange(oauth, req, form, client, decision))
		return;
	if (oauth_make_room(oauth, &err) < 0 ||
	    oauth_make_room_for_visitor(oauth, decision->visitor, &err) < 0 ||
	    oauth_issue(oauth, decision, &pair, &err) < 0) {
		reply_trouble(req, &err);
		return;
	}
	oauth->counts.sign_ins++;
	oauth_short_id(client, client_id);
	log_info("%s signed in, client %s", decision->principal, client_id);
	oauth_reply_tokens(req, &pair, decision->offline, OAUTH_ACCESS_TTL_S);
	secret_wipe(&pair, sizeof(pair));
}

void oauth_post_token(struct oauth *oauth, struct http_request *req)
{
	auto_url_form struct url_form form = { .n = 0 };
	uint8_t client[SECRET_HASH_BYTES];
	struct view grant;

	if (oauth_read_caller(oauth, req, &form, client) < 0)
		return;
	grant = url_form_get(&form, "grant_type");
	if (view_is(grant, "authorization_code"))
		grant_code(oauth, req, &form, client);
	else if (view_is(grant, "refresh_token"))
		oauth_grant_refresh(oauth, req, &form, client);
	else if (grant.len == 0)
		oauth_refuse(oauth, req, "invalid_request", "grant_type is missing.");
	else
		oauth_refuse(oauth, req, "unsupported_grant_type",
			     "grant_type must be authorization_code or refresh_token.");
}
