/* SPDX-License-Identifier: Apache-2.0 */
/* POST /authorize: the button. The only place where a visitor's own address is seen. */
#include "oauth/authorize.h"

#include "base/address.h"
#include "base/log.h"
#include "oauth/media.h"
#include "oauth/pages.h"
#include "oauth/work.h"

#include <sodium.h>
#include <stdio.h>

/* Opens the sealed request and ties it to the browser. -1 after having replied. */
static int read_press(struct oauth *oauth, struct http_request *req, struct url_form *form,
		      struct request *request)
{
	uint8_t cookie[SECRET_HASH_BYTES];

	if (!media_is(req, "application/x-www-form-urlencoded") ||
	    url_form_parse(form, http_request_body(req)) < 0 ||
	    url_form_has_duplicate(form, NULL)) {
		pages_problem(req, 400, PAGES_BAD_REQUEST, NULL);
		return -1;
	}
	if (request_open(url_form_get(form, "request"), oauth->form_key, request) < 0 ||
	    oauth_now(oauth) - request->shown > OAUTH_PAGE_TTL_S * USEC_PER_SEC) {
		pages_problem(req, 400, PAGES_TOO_OLD, NULL);
		return -1;
	}
	if (!authorize_cookie(oauth, req, cookie) ||
	    !secret_equal(cookie, request->cookie, sizeof(cookie))) {
		pages_problem(req, 403, PAGES_NO_COOKIE, NULL);
		return -1;
	}
	return 0;
}

/* Pressed before: never a second code or sandbox. */
static void answer_again(struct oauth *oauth, struct http_request *req, struct decision *decision)
{
	usec now = oauth_now(oauth);

	if (decision->state == DECISION_REDEEMED) {
		pages_done(req);
	} else if (decision->state == DECISION_OPEN &&
		   now - decision->pressed < OAUTH_PRESS_TTL_S * USEC_PER_SEC) {
		/* The browser may have asked whether to open the app: the code lives on from here.
		 */
		decision->handed = now;
		authorize_redirect(req, decision->location);
	} else {
		pages_problem(req, 400, PAGES_TOO_OLD, NULL);
	}
}

/* The limits of this visitor. -1 after having replied. */
static int admit(struct oauth *oauth, struct http_request *req)
{
	const uint32_t held_max = oauth->limits.held_per_prefix;
	uint8_t visitor[VISITOR_ID_BYTES];
	enum pages_problem why = PAGES_TOO_MANY;
	usec wait = 300 * USEC_PER_SEC;
	struct err err;

	oauth_visitor(oauth, req, visitor);
	if (held_max && oauth_slots_held(oauth, visitor, NULL) >= held_max) {
		why = PAGES_HELD;
	} else if (oauth_make_room(oauth, &err) < 0) {
		log_warning("no room for a sign-in: %s", err.msg);
		why = PAGES_FULL;
	} else if (oauth_make_room_for_visitor(oauth, visitor, &err) < 0) {
		log_warning("no room for a sign-in: %s", err.msg);
	} else if (oauth_take_for(oauth, OAUTH_RATE_NEW_SANDBOX, req, &wait)) {
		return 0;
	}
	oauth->counts.presses_refused++;
	pages_refuse(req, why, wait);
	return -1;
}

/*
 * The sandbox key is random and nothing but its hash is ever needed, so it is not even kept: the
 * hash is the principal.
 */
static void make_principal(char ret[STORE_PRINCIPAL_BYTES])
{
	uint8_t key[SECRET_BYTES], hash[SECRET_HASH_BYTES];
	char hex[41];

	randombytes_buf(key, sizeof(key));
	secret_hash(view_of(key, sizeof(key)), hash);
	(void)sodium_bin2hex(hex, sizeof(hex), hash, 20);
	(void)snprintf(ret, STORE_PRINCIPAL_BYTES, "guest-%s", hex);
	secret_wipe(key, sizeof(key));
}

static struct decision *decide(struct oauth *oauth, struct http_request *req,
			       const struct request *request)
{
	char code[SECRET_HEX + 1];
	const struct redirect_param lead[2] = { { "code", view_of(code, SECRET_HEX) },
						{ "", view_of(NULL, 0) } };
	auto_buf struct buf location = BUF_INIT(0);
	uint8_t hash[SECRET_HASH_BYTES];
	struct decision *decision = NULL;

	secret_hex(code);
	secret_hash(view_str(code), hash);
	if (authorize_location(oauth, request, lead, &location) == 0)
		decision = decisions_add(oauth->decisions, request, hash, buf_str(&location),
					 oauth_now(oauth));
	if (decision) {
		make_principal(decision->principal);
		oauth_visitor(oauth, req, decision->visitor);
	}
	secret_wipe(code, sizeof(code));
	if (location.p)
		secret_wipe(location.p, location.len);
	return decision;
}

/* The visitor learns nothing from whether it was taken. */
static void leave_mail(struct oauth *oauth, const struct http_request *req, struct view address,
		       const char *principal)
{
	const struct oauth_callbacks *c = &oauth->callbacks;

	if (address.len && c->mail_leave && c->mail_wanted && c->mail_wanted(c->userdata) &&
	    oauth_may_mail(oauth, req, address))
		c->mail_leave(address, principal, c->userdata);
}

static void create(struct oauth *oauth, struct http_request *req, const struct request *request,
		   struct view address)
{
	struct decision *decision = decide(oauth, req, request);

	if (!decision) {
		pages_refuse(req, PAGES_FULL, 60 * USEC_PER_SEC);
		return;
	}
	oauth->counts.presses++;
	leave_mail(oauth, req, address, decision->principal);
	authorize_redirect(req, decision->location);
}

void oauth_post_authorize(struct oauth *oauth, struct http_request *req)
{
	auto_store_client struct store_client client = { .redirect_uris = NULL };
	auto_url_form struct url_form form = { .n = 0 };
	uint8_t identity[SECRET_HASH_BYTES];
	struct decision *decision;
	struct request request;
	struct view address;
	usec wait = 0;

	if (!oauth_take_for(oauth, OAUTH_RATE_PRESS, req, &wait)) {
		pages_slow_down(req, wait);
		return;
	}
	if (read_press(oauth, req, &form, &request) < 0 ||
	    authorize_client(oauth, req, request.client, &client) < 0)
		return;
	request_identity(&request, identity);
	decision = decisions_by_identity(oauth->decisions, identity, oauth_now(oauth));
	if (decision) {
		answer_again(oauth, req, decision);
		return;
	}
	if (!work_is_done(url_form_get(&form, "request"), url_form_get(&form, "work"),
			  oauth->limits.proof_of_work_bits)) {
		pages_problem(req, 403, PAGES_NO_WORK, NULL);
		return;
	}
	address = view_trim(url_form_get(&form, "email"));
	if (address.len && !address_is_valid(address)) {
		const struct authorize_showing again = { .status = 422, .bad_mail = address };

		authorize_show(oauth, req, &request, &client, &again);
	} else if (admit(oauth, req) == 0) {
		create(oauth, req, &request, address);
	}
}
