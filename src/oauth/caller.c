/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls /token and /revoke: public clients, named in the form or by Basic credentials. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/media.h"
#include "oauth/registration.h"
#include "oauth/reply.h"

static const struct cors_policy *const cors = &reply_post_policy;

/* Every name but `resource` (RFC 8707) may come once. */
static bool has_duplicate(const struct url_form *form)
{
	for (size_t i = 0; i < form->n; i++)
		for (size_t j = 0; j < i; j++)
			if (view_eq(form->pairs[i].name, form->pairs[j].name) &&
			    !view_is(form->pairs[i].name, "resource"))
				return true;
	return false;
}

static int read_form(struct http_request *req, struct url_form *form)
{
	if (!media_is(req, "application/x-www-form-urlencoded")) {
		reply_error(req, 400, cors, "invalid_request",
			    "Content-Type must be application/x-www-form-urlencoded.", NULL);
		return -1;
	}
	if (url_form_parse(form, http_request_body(req)) < 0 || has_duplicate(form)) {
		reply_error(req, 400, cors, "invalid_request",
			    "The form cannot be read, or a parameter is in it twice.", NULL);
		return -1;
	}
	return 0;
}

enum basic { BASIC_ABSENT, BASIC_USED };

/*
 * A challenge is only for a client that used the scheme: with any other the answer is the JSON,
 * which some clients do not read when there is a challenge.
 */
static void refuse_client(struct oauth *oauth, struct http_request *req, enum basic basic)
{
	static const struct http_header challenge[] = {
		{ "WWW-Authenticate", "Basic realm=\"oauth\"" },
		{ NULL, NULL },
	};
	usec wait = 0;

	if (!oauth_take_for(oauth, OAUTH_RATE_TOKEN_FAILURE, req, &wait)) {
		reply_slow_down(req, cors, wait, "Too many failures from this network.");
		return;
	}
	reply_error(req, 401, cors, "invalid_client",
		    "This client is not registered here (any more). Register again.",
		    basic == BASIC_USED ? challenge : NULL);
}

/* The client id, from wherever it is. -1 after having replied. */
static int find_id(struct oauth *oauth, struct http_request *req, const struct url_form *form,
		   char ret[MEDIA_BASIC_ID_BYTES], enum basic *ret_basic)
{
	struct view in_form = url_form_get(form, "client_id");
	struct view header = http_request_header(req, "Authorization");
	int r = header.p ? media_basic_user(header, ret) : -ENOENT;

	*ret_basic = r == -ENOENT ? BASIC_ABSENT : BASIC_USED;
	if (r == 0) {
		if (in_form.len == 0 || view_is(in_form, ret))
			return 0;
		reply_error(req, 400, cors, "invalid_request",
			    "The client_id in the form is another one than in the header.", NULL);
		return -1;
	}
	if (r == -ENOENT && in_form.len && view_copy(in_form, ret, MEDIA_BASIC_ID_BYTES) == 0)
		return 0;
	refuse_client(oauth, req, *ret_basic);
	return -1;
}

int oauth_read_caller(struct oauth *oauth, struct http_request *req, struct url_form *form,
		      uint8_t ret_client[SECRET_HASH_BYTES])
{
	auto_store_client struct store_client client = { .redirect_uris = NULL };
	char id[MEDIA_BASIC_ID_BYTES];
	enum basic basic;
	struct err err;
	int r = 0;

	if (read_form(req, form) < 0 || find_id(oauth, req, form, id, &basic) < 0)
		return -1;
	secret_hash(view_str(id), ret_client);
	if (registration_is_id(view_str(id)))
		r = store_client_get(oauth->store, ret_client, &client, &err);
	if (r == 1)
		return 0;
	if (r < 0) {
		log_error("find a client: %s", err.msg);
		reply_slow_down(req, cors, 10 * USEC_PER_SEC, "The server is in trouble.");
		return -1;
	}
	refuse_client(oauth, req, basic);
	return -1;
}

void oauth_refuse(struct oauth *oauth, struct http_request *req, const char *error,
		  const char *description)
{
	usec wait = 0;

	if (oauth_take_for(oauth, OAUTH_RATE_TOKEN_FAILURE, req, &wait))
		reply_error(req, 400, cors, error, description, NULL);
	else
		reply_slow_down(req, cors, wait, "Too many failures from this network.");
}
