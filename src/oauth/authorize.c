/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /authorize: checks the request and shows the button. It has no effect and costs no memory:
 * link previews, prefetchers and virus scanners open it too.
 */
#include "oauth/authorize.h"

#include "base/log.h"
#include "base/parse.h"
#include "oauth/media.h"
#include "oauth/pages.h"
#include "oauth/redirect.h"
#include "oauth/registration.h"
#include "oauth/reply.h"

#include <stdio.h>

enum { MAX_COOKIE_HEADER = 256, MAX_LOCATION = 16 * 1024 };

const char *authorize_cookie_name(const struct oauth *oauth)
{
	return oauth->is_secure ? "__Host-berth" : "berth";
}

/* The value if it is one that we could have made, else the empty view. */
static struct view find_cookie(const struct oauth *oauth, const struct http_request *req)
{
	struct view value =
		media_cookie(http_request_header(req, "Cookie"), authorize_cookie_name(oauth));
	uint8_t bytes[SECRET_BYTES];

	return hex_decode(value, bytes, sizeof(bytes)) == 0 ? value : VIEW("");
}

bool authorize_cookie(const struct oauth *oauth, const struct http_request *req,
		      uint8_t ret[SECRET_HASH_BYTES])
{
	struct view value = find_cookie(oauth, req);

	secret_hash(value, ret);
	return value.len != 0;
}

/*
 * A browser that has a cookie keeps it, so that several tabs work at once. Lax, not Strict: it must
 * come along when the app's site opens the second tab.
 */
static void make_cookie(const struct oauth *oauth, const struct http_request *req,
			char header[MAX_COOKIE_HEADER], uint8_t ret[SECRET_HASH_BYTES])
{
	char value[SECRET_HEX + 1];

	if (view_copy(find_cookie(oauth, req), value, sizeof(value)) < 0 || !value[0])
		secret_hex(value);
	secret_hash(view_str(value), ret);
	(void)snprintf(header, MAX_COOKIE_HEADER,
		       "%s=%s; HttpOnly; Path=/; SameSite=Lax; Max-Age=%d%s",
		       authorize_cookie_name(oauth), value, OAUTH_COOKIE_TTL_S,
		       oauth->is_secure ? "; Secure" : "");
}

int authorize_location(const struct oauth *oauth, const struct request *request,
		       const struct redirect_param lead[2], struct buf *out)
{
	const struct redirect_param params[] = {
		lead[0],
		lead[1],
		{ "state", request->has_state ? view_str(request->state) : view_of(NULL, 0) },
		{ "iss", view_str(oauth->issuer) },
		{ NULL, { NULL, 0 } },
	};

	buf_init(out, MAX_LOCATION);
	return redirect_location(out, view_str(request->redirect_uri), params);
}

void authorize_redirect(struct http_request *req, const char *location)
{
	/* 303: the browser must come with GET, and must not send our form on. */
	const struct http_header headers[] = {
		{ "Location", location },
		{ "Cache-Control", "no-store" },
		{ "Referrer-Policy", "same-origin" },
		{ "X-Content-Type-Options", "nosniff" },
		{ NULL, NULL },
	};

	http_reply(req, 303, NULL, VIEW(""), headers);
}

static void redirect_error(struct oauth *oauth, struct http_request *req,
			   const struct request *request, const char *error, const char *text)
{
	const struct redirect_param lead[2] = {
		{ "error", view_str(error) },
		{ "error_description", view_str(text) },
	};
	auto_buf struct buf location = BUF_INIT(0);

	reply_note(req, 303, error);
	if (authorize_location(oauth, request, lead, &location) < 0)
		pages_problem(req, 400, PAGES_BAD_REQUEST, NULL);
	else
		authorize_redirect(req, buf_str(&location));
}

int authorize_client(struct oauth *oauth, struct http_request *req,
		     const uint8_t id[SECRET_HASH_BYTES], struct store_client *ret)
{
	struct err err;
	int r = store_client_get(oauth->store, id, ret, &err);

	if (r == 1)
		return 0;
	if (r == 0) {
		pages_problem(req, 400, PAGES_UNKNOWN_CLIENT, NULL);
		return -1;
	}
	log_error("find a client: %s", err.msg);
	pages_problem(req, 503, PAGES_TROUBLE, NULL);
	return -1;
}

void authorize_show(struct oauth *oauth, struct http_request *req, const struct request *request,
		    const struct store_client *client, const struct authorize_showing *how)
{
	const struct oauth_callbacks *c = &oauth->callbacks;
	auto_buf struct buf sealed = BUF_INIT(REQUEST_MAX_SEALED);
	struct pages_sign_in page = {
		.app = client->name,
		.redirect_uri = request->redirect_uri,
		.idle_s = oauth->idle_s,
		.keeps_files = oauth->keeps_files,
		.work_bits = oauth->limits.proof_of_work_bits,
		.wants_mail = c->mail_wanted && c->mail_wanted(c->userdata),
		.mail = how->bad_mail,
		.cookie_header = how->cookie_header,
	};
	struct err err;

	if (request_seal(request, oauth->form_key, &sealed, &err) < 0) {
		log_error("%s", err.msg);
		pages_problem(req, 503, PAGES_TROUBLE, NULL);
		return;
	}
	page.sealed = buf_str(&sealed);
	pages_sign_in(req, how->status, &page);
}

/* Phase 1: finds the client and checks where the visitor would be sent. -1 after having replied. */
static int check_origin(struct oauth *oauth, struct http_request *req, const struct url_form *query,
			struct request *request, struct store_client *client)
{
	struct view id = url_form_get(query, "client_id");

	if (!registration_is_id(id)) {
		pages_problem(req, 400, PAGES_UNKNOWN_CLIENT, NULL);
		return -1;
	}
	secret_hash(id, request->client);
	if (authorize_client(oauth, req, request->client, client) < 0)
		return -1;
	if (request_check_redirect(query, client->redirect_uris, request) < 0) {
		pages_problem(req, 400, PAGES_BAD_REDIRECT, NULL);
		return -1;
	}
	return 0;
}

void oauth_get_authorize(struct oauth *oauth, struct http_request *req)
{
	auto_store_client struct store_client client = { .redirect_uris = NULL };
	auto_url_form struct url_form query = { .n = 0 };
	struct request request = { .shown = oauth_now(oauth) };
	char cookie_header[MAX_COOKIE_HEADER];
	const struct authorize_showing how = { .status = 200,
					       .bad_mail = VIEW(""),
					       .cookie_header = cookie_header };
	const char *error;
	struct err err;

	if (http_request_query(req).len > OAUTH_MAX_QUERY ||
	    url_form_parse(&query, http_request_query(req)) < 0 || request_has_duplicate(&query)) {
		pages_problem(req, 400, PAGES_BAD_REQUEST, NULL);
		return;
	}
	if (check_origin(oauth, req, &query, &request, &client) < 0)
		return;
	if (request_check(&query, oauth->issuer, &request, &error, &err) < 0) {
		redirect_error(oauth, req, &request, error, err.msg);
		return;
	}
	make_cookie(oauth, req, cookie_header, request.cookie);
	oauth->counts.pages++;
	authorize_show(oauth, req, &request, &client, &how);
}
