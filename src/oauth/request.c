/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of /authorize. */
#include "oauth/request.h"

#include "oauth/redirect.h"

#include <stdio.h>

static const char *const known[] = {
	"response_type",         "client_id", "redirect_uri", "code_challenge",
	"code_challenge_method", "state",     "scope",        "prompt",
	"response_mode",         "request",   "request_uri",
};

bool request_has_duplicate(const struct url_form *query)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (url_form_count(query, known[i]) > 1)
			return true;
	return false;
}

int request_check_redirect(const struct url_form *query, const char *registered,
			   struct request *ret)
{
	struct view asked = url_form_get(query, "redirect_uri");
	struct view rest = view_str(registered), one;

	while (asked.len && view_split(&rest, '\n', &one))
		if (redirect_matches(one, asked))
			return view_copy(asked, ret->redirect_uri, sizeof(ret->redirect_uri));
	return -EINVAL;
}

/* "scheme://host[:port]" without the scheme's own port, in lower case; *path is the rest. */
static int normal_origin(struct view url, char *out, size_t size, struct view *path)
{
	size_t colon = view_find(url, ':'), end = colon + 3;
	struct view origin, own_port;
	bool is_https;

	if (!view_starts(view_from(url, colon), VIEW("://")))
		return -EINVAL;
	while (end < url.len && url.p[end] != '/' && url.p[end] != '?')
		end++;
	origin = view_first(url, end);
	*path = view_from(url, end);
	is_https = view_is_nocase(view_first(url, colon), "https");
	own_port = is_https ? VIEW(":443") : VIEW(":80");
	if (view_ends(origin, own_port))
		origin.len -= own_port.len;
	if (view_copy(origin, out, size) < 0)
		return -EINVAL;
	for (char *c = out; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return 0;
}

bool request_is_resource(struct view resource, const char *issuer)
{
	char ours[512], theirs[512];
	struct view path;

	if (normal_origin(view_str(issuer), ours, sizeof(ours), &path) < 0 ||
	    normal_origin(resource, theirs, sizeof(theirs), &path) < 0 || strcmp(ours, theirs) != 0)
		return false;
	/* Older clients send the URL as their library prints it, with a slash at the end. */
	return path.len == 0 || view_is(path, "/") || view_is(path, "/mcp") ||
	       view_is(path, "/mcp/");
}

bool request_resources_are(const struct url_form *form, const char *issuer)
{
	for (size_t i = 0; i < form->n; i++)
		if (view_is(form->pairs[i].name, "resource") && form->pairs[i].value.len &&
		    !request_is_resource(form->pairs[i].value, issuer))
			return false;
	return true;
}

static int check_type(const struct url_form *query, const char **ret_error, struct err *err)
{
	struct view type = url_form_get(query, "response_type");
	struct view mode = url_form_get(query, "response_mode");

	*ret_error = "invalid_request";
	if (type.len == 0)
		return err_set(err, ERR_INVALID, "response_type is missing");
	if (!view_is(type, "code")) {
		*ret_error = "unsupported_response_type";
		return err_set(err, ERR_INVALID, "response_type must be code");
	}
	if (mode.len && !view_is(mode, "query"))
		return err_set(err, ERR_INVALID, "response_mode must be query");
	if (url_form_count(query, "request") || url_form_count(query, "request_uri")) {
		*ret_error = "request_not_supported";
		return err_set(err, ERR_INVALID, "request objects are not supported");
	}
	return 0;
}

static int check_challenge(const struct url_form *query, struct request *ret, struct err *err)
{
	struct view challenge = url_form_get(query, "code_challenge");

	if (challenge.len == 0)
		return err_set(err, ERR_INVALID, "code_challenge is missing: PKCE is required");
	if (!view_is(url_form_get(query, "code_challenge_method"), "S256"))
		return err_set(err, ERR_INVALID, "code_challenge_method must be S256");
	if (!secret_is_challenge(challenge))
		return err_set(err, ERR_INVALID,
			       "code_challenge must be 43 characters of base64url");
	return view_copy(challenge, ret->challenge, sizeof(ret->challenge));
}

/* Unknown scopes are ignored: clients send those of other servers. */
static int check_scope(const struct url_form *query, struct request *ret, struct err *err)
{
	struct view scope = url_form_get(query, "scope"), one;

	if (scope.len > OAUTH_MAX_SCOPE)
		return err_set(err, ERR_INVALID, "scope is too long");
	for (size_t i = 0; i < scope.len; i++)
		if (scope.p[i] < 0x20 || scope.p[i] > 0x7e || scope.p[i] == '"' ||
		    scope.p[i] == '\\')
			return err_set(err, ERR_INVALID,
				       "scope has a character that is not allowed");
	while (view_split(&scope, ' ', &one))
		if (view_is(one, "offline_access"))
			ret->offline = true;
	return 0;
}

int request_check(const struct url_form *query, const char *issuer, struct request *ret,
		  const char **ret_error, struct err *err)
{
	struct view state = url_form_get(query, "state");

	/* First, since it goes back with every error. */
	*ret_error = "invalid_request";
	if (state.p) {
		if (view_copy(state, ret->state, sizeof(ret->state)) < 0)
			return err_set(err, ERR_INVALID, "state is longer than %d bytes",
				       OAUTH_MAX_STATE);
		ret->has_state = true;
	}
	if (check_type(query, ret_error, err) < 0)
		return -1;
	*ret_error = "invalid_request";
	if (check_challenge(query, ret, err) < 0)
		return -1;
	*ret_error = "invalid_target";
	if (!request_resources_are(query, issuer))
		return err_set(err, ERR_INVALID, "resource must be %s/mcp", issuer);
	*ret_error = "invalid_scope";
	if (check_scope(query, ret, err) < 0)
		return -1;
	*ret_error = "interaction_required";
	if (view_is(url_form_get(query, "prompt"), "none"))
		return err_set(err, ERR_INVALID, "somebody has to press a button");
	return 0;
}
