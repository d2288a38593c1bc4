/* SPDX-License-Identifier: Apache-2.0 */
/* POST /register: dynamic client registration (RFC 7591), open to everybody. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/media.h"
#include "oauth/registration.h"
#include "oauth/reply.h"

static const struct cors_policy *const cors = &reply_post_policy;

static int add_row(struct oauth *oauth, const struct registration *reg,
		   const uint8_t id[SECRET_HASH_BYTES], struct err *err)
{
	auto_buf struct buf uris = BUF_INIT(OAUTH_MAX_REGISTRATION);
	struct store_client row = { .created = oauth_seconds(oauth) };
	int r = 0;

	memcpy(row.id, id, sizeof(row.id));
	memcpy(row.name, reg->name, sizeof(reg->name));
	for (size_t i = 0; r == 0 && i < reg->n_redirects; i++)
		r = buf_addf(&uris, "%s%.*s", i ? "\n" : "", VIEW_ARG(reg->redirects[i]));
	if (r < 0)
		return err_sys(err, -r, "register a client");
	row.redirect_uris = uris.p; /* borrowed for the call */
	return store_client_add(oauth->store, &row, err);
}

/* 1 when there is room for a new row, 0 when there is none, -1 with err. */
static int make_room(struct oauth *oauth, struct err *err)
{
	uint64_t count = 0;

	if (store_client_count(oauth->store, &count, err) < 0)
		return -1;
	if (count < oauth->limits.max_clients)
		return 1;
	return store_client_evict(oauth->store, oauth_seconds(oauth) - OAUTH_EVICTABLE_AGE_S, err);
}

static bool is_in_rate(struct oauth *oauth, struct http_request *req, usec *ret_wait)
{
	return oauth_take_for(oauth, OAUTH_RATE_NEW_CLIENT, req, ret_wait) &&
	       oauth_take(oauth, OAUTH_RATE_NEW_CLIENT_ALL, VIEW("all"), ret_wait);
}

/*
 * Somebody registers the same again and relies on the row from now on: it is as good as new, so
 * that it is not swept, and does not make room, before the sign-in. No more of them than of new
 * ones, or a flood could keep a full table from ever making room; the answer is the same.
 */
static int renew(struct oauth *oauth, struct http_request *req, const struct store_client *known,
		 struct err *err)
{
	uint64_t now = oauth_seconds(oauth);
	usec wait;

	if (known->created + OAUTH_TOUCH_S > now || !is_in_rate(oauth, req, &wait))
		return 0;
	return store_client_renew(oauth->store, known->id, now, err);
}

/* A new row, within the rates and the room. -1 after having replied. */
static int admit(struct oauth *oauth, struct http_request *req, struct err *err)
{
	usec wait = 0;
	int room;

	if (!is_in_rate(oauth, req, &wait)) {
		reply_slow_down(req, cors, wait,
				"Too many new apps are registering. Try again later.");
		return -1;
	}
	room = make_room(oauth, err);
	if (room == 1)
		return 0;
	if (room < 0)
		log_error("register a client: %s", err->msg);
	reply_slow_down(req, cors, 600 * USEC_PER_SEC,
			"No more apps can be registered just now. Try again later.");
	return -1;
}

/* Makes the row unless there is one. -1 after having replied. */
static int ensure_row(struct oauth *oauth, struct http_request *req, const struct registration *reg,
		      const char *id_text)
{
	auto_store_client struct store_client known = { .redirect_uris = NULL };
	uint8_t id[SECRET_HASH_BYTES];
	struct err err;
	int r;

	secret_hash(view_str(id_text), id);
	r = store_client_get(oauth->store, id, &known, &err);
	if (r == 1) {
		oauth->counts.registrations_known++;
		r = renew(oauth, req, &known, &err);
	} else if (r == 0) {
		if (admit(oauth, req, &err) < 0)
			return -1;
		r = add_row(oauth, reg, id, &err);
		if (r == 0)
			oauth->counts.registrations++;
	}
	if (r < 0) {
		log_error("register a client: %s", err.msg);
		reply_slow_down(req, cors, 10 * USEC_PER_SEC, "The server is in trouble.");
	}
	return r;
}

static json_t *describe(const struct oauth *oauth, const struct registration *reg, const char *id)
{
	auto_json json_t *uris = json_array();
	json_t *doc;

	for (size_t i = 0; uris && i < reg->n_redirects; i++)
		if (json_array_append_new(uris, json_text(reg->redirects[i])) < 0)
			return NULL;
	doc = json_pack("{s:s, s:I, s:s, s:O, s:[s,s], s:[s], s:s, s:s}", "client_id", id,
			"client_id_issued_at", (json_int_t)oauth_seconds(oauth), "client_name",
			reg->name, "redirect_uris", uris, "grant_types", "authorization_code",
			"refresh_token", "response_types", "code", "token_endpoint_auth_method",
			"none", "scope", "sandbox offline_access");
	if (doc && reg->kind != REGISTRATION_UNSAID &&
	    json_object_set_new(doc, "application_type",
				json_string(reg->kind == REGISTRATION_NATIVE ? "native" : "web")) <
		    0) {
		json_decref(doc);
		return NULL;
	}
	return doc;
}

static void reply_registered(struct oauth *oauth, struct http_request *req,
			     const struct registration *reg, const char *id)
{
	auto_buf struct buf out = BUF_INIT((size_t)2 * OAUTH_MAX_REGISTRATION);
	auto_json json_t *doc = describe(oauth, reg, id);
	struct err err;

	if (!doc || json_print(&out, doc, &err) < 0)
		reply_slow_down(req, cors, 10 * USEC_PER_SEC, "The server is out of memory.");
	else
		reply_json(req, 201, cors, buf_view(&out), NULL);
}

void oauth_post_register(struct oauth *oauth, struct http_request *req)
{
	auto_registration struct registration reg = { .document = NULL };
	char id[REGISTRATION_ID_TEXT];
	const char *error;
	struct err err;

	if (!media_is(req, "application/json")) {
		reply_error(req, 400, cors, "invalid_client_metadata",
			    "Content-Type must be application/json.", NULL);
		return;
	}
	if (registration_parse(http_request_body(req), &reg, &error, &err) < 0) {
		reply_error(req, 400, cors, error, err.msg, NULL);
		return;
	}
	if (registration_id(&reg, oauth->issuer, id, &err) < 0) {
		log_error("%s", err.msg);
		reply_slow_down(req, cors, 10 * USEC_PER_SEC, "The server is out of memory.");
		return;
	}
	if (ensure_row(oauth, req, &reg, id) == 0)
		reply_registered(oauth, req, &reg, id);
}
