/* SPDX-License-Identifier: Apache-2.0 */
/* The table of endpoints, and what is the same for all: methods, preflight, sizes, rates. */
#include "http/page.h"
#include "oauth/internal.h"
#include "oauth/pages.h"
#include "oauth/reply.h"

static void answer_authorize(struct oauth *oauth, struct http_request *req)
{
	if (http_request_method(req) == HTTP_POST)
		oauth_post_authorize(oauth, req);
	else
		oauth_get_authorize(oauth, req);
}

static void answer_script(struct oauth *oauth, struct http_request *req)
{
	(void)oauth;
	page_reply_asset(req, page_asset("work.js"));
}

enum { READ = HTTP_GET | HTTP_HEAD };

static const char allow_get[] = "GET, HEAD, OPTIONS";
static const char allow_post[] = "POST, OPTIONS";

#define DISCOVERY(where, how, function)                                                            \
	{                                                                                          \
		.path = (where), .match = (how), .methods = READ, .allow = allow_get,              \
		.rate = OAUTH_RATE_DISCOVERY, .cors = &reply_get_policy, .answer = (function)      \
	}

static const struct oauth_endpoint endpoints[] = {
	/* Every form that clients derive from the MCP URL or from the issuer. */
	DISCOVERY("/.well-known/oauth-protected-resource/mcp", HTTP_MATCH_EXACT,
		  oauth_get_resource_metadata),
	DISCOVERY("/.well-known/oauth-protected-resource/mcp/", HTTP_MATCH_EXACT,
		  oauth_get_resource_metadata),
	DISCOVERY("/.well-known/oauth-protected-resource", HTTP_MATCH_EXACT,
		  oauth_get_resource_metadata),
	DISCOVERY("/.well-known/oauth-protected-resource/", HTTP_MATCH_EXACT,
		  oauth_get_resource_metadata),
	DISCOVERY("/mcp/.well-known/oauth-protected-resource", HTTP_MATCH_EXACT,
		  oauth_get_resource_metadata),
	DISCOVERY("/.well-known/oauth-authorization-server", HTTP_MATCH_EXACT,
		  oauth_get_server_metadata),
	DISCOVERY("/.well-known/oauth-authorization-server/", HTTP_MATCH_EXACT,
		  oauth_get_server_metadata),
	DISCOVERY("/.well-known/", HTTP_MATCH_PREFIX, oauth_get_no_metadata),
	DISCOVERY("/mcp/.well-known/", HTTP_MATCH_PREFIX, oauth_get_no_metadata),

	{ .path = "/register",
	  .methods = HTTP_POST,
	  .allow = allow_post,
	  .rate = OAUTH_RATE_REGISTER,
	  .cors = &reply_post_policy,
	  .max_body = OAUTH_MAX_REGISTRATION,
	  .answer = oauth_post_register },
	{ .path = "/authorize",
	  .methods = READ | HTTP_POST,
	  .allow = "GET, HEAD, POST",
	  .rate = OAUTH_RATE_PAGE,
	  .max_body = OAUTH_MAX_FORM,
	  .answer = answer_authorize },
	{ .path = "/work.js",
	  .methods = READ,
	  .allow = "GET, HEAD",
	  .rate = OAUTH_RATE_PAGE,
	  .answer = answer_script },
	{ .path = "/token",
	  .methods = HTTP_POST,
	  .allow = allow_post,
	  .rate = OAUTH_RATE_TOKEN,
	  .cors = &reply_post_policy,
	  .max_body = OAUTH_MAX_FORM,
	  .answer = oauth_post_token },
	{ .path = "/revoke",
	  .methods = HTTP_POST,
	  .allow = allow_post,
	  .rate = OAUTH_RATE_REVOKE,
	  .cors = &reply_post_policy,
	  .max_body = OAUTH_MAX_FORM,
	  .answer = oauth_post_revoke },
};

static void refuse_method(const struct oauth_endpoint *e, struct http_request *req)
{
	const struct http_header allow[] = { { "Allow", e->allow }, { NULL, NULL } };

	if (e->cors)
		reply_error(req, 405, e->cors, "invalid_request",
			    "This endpoint does not know that method.", allow);
	else
		pages_problem(req, 405, PAGES_BAD_METHOD, allow);
}

static void refuse_size(const struct oauth_endpoint *e, struct http_request *req)
{
	if (e->cors)
		reply_error(req, 413, e->cors, "invalid_request", "The body is too long.", NULL);
	else
		pages_problem(req, 413, PAGES_BAD_REQUEST, NULL);
}

static void refuse_rate(const struct oauth_endpoint *e, struct http_request *req, usec wait)
{
	if (e->cors)
		reply_slow_down(req, e->cors, wait, "Too many requests from this network.");
	else
		pages_slow_down(req, wait);
}

/*
 * Browsers say where a form comes from. What they do not send (curl, old browsers) is left to the
 * cookie, which a foreign site's form never carries (SameSite).
 */
static bool is_own_form(const struct oauth *oauth, struct view site, struct view origin)
{
	if (site.p && !view_is(site, "same-origin"))
		return false;
	if (!origin.p || view_is(origin, oauth->issuer))
		return true;
	return view_is(origin, "null") && site.p != NULL;
}

/* An app's site sends people to our page in a window of its own; as a picture, a script, a frame or
 * a fetch another site has no use for it. */
static bool is_own_part(struct view site, struct view destination)
{
	return !site.p || view_is(site, "same-origin") || !destination.p ||
	       view_is(destination, "document");
}

/* Asked before any rate is taken: another site, in the browser of one visitor, would use up what
 * the visitor's whole network may do. */
static bool is_foreign(const struct oauth *oauth, const struct http_request *req)
{
	struct view site = http_request_header(req, "Sec-Fetch-Site");

	if (http_request_method(req) == HTTP_POST)
		return !is_own_form(oauth, site, http_request_header(req, "Origin"));
	return !is_own_part(site, http_request_header(req, "Sec-Fetch-Dest"));
}

static void dispatch(struct http_request *req, void *userdata)
{
	const struct oauth_route *route = userdata;
	const struct oauth_endpoint *e = route->endpoint;
	enum http_method method = http_request_method(req);
	usec wait = 0;

	if (method == HTTP_OPTIONS && e->cors)
		cors_preflight(req, e->cors);
	else if (!(e->methods & method))
		refuse_method(e, req);
	else if (http_request_body(req).len > e->max_body)
		refuse_size(e, req);
	else if (!e->cors && is_foreign(route->oauth, req))
		pages_problem(req, 403, PAGES_FOREIGN, NULL);
	else if (!oauth_take_for(route->oauth, e->rate, req, &wait))
		refuse_rate(e, req, wait);
	else
		e->answer(route->oauth, req);
}

int oauth_add_routes(struct oauth *oauth, struct http_server *http, struct err *err)
{
	oauth->routes = calloc(ARRAY_SIZE(endpoints), sizeof(*oauth->routes));
	if (!oauth->routes)
		return err_sys(err, ENOMEM, "add the routes of sign-in");
	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
		/* All methods and more than the limit come here, so that refusals look like ours.
		 */
		struct http_route route = {
			.path = endpoints[i].path,
			.match = endpoints[i].match,
			.methods = HTTP_GET | HTTP_HEAD | HTTP_POST | HTTP_PUT | HTTP_DELETE |
				   HTTP_OPTIONS | HTTP_PATCH | HTTP_OTHER,
			.max_body_bytes = OAUTH_MAX_BODY,
			.handler = dispatch,
			.userdata = &oauth->routes[i],
		};

		oauth->routes[i] = (struct oauth_route){ oauth, &endpoints[i] };
		if (http_server_add_route(http, &route, err) < 0)
			return -1;
	}
	return 0;
}
