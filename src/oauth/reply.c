/* SPDX-License-Identifier: Apache-2.0 */
/* JSON answers. */
#include "oauth/reply.h"

#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

const struct cors_policy reply_post_policy = { .methods = "POST, OPTIONS",
					       .expose = "WWW-Authenticate, Retry-After" };
const struct cors_policy reply_get_policy = { .methods = "GET, HEAD, OPTIONS",
					      .expose = "Retry-After" };
const struct cors_policy reply_resource_policy = {
	.methods = "GET, POST, DELETE, OPTIONS",
	.expose = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After",
};

enum { MAX_EXTRA = 4, MAX_DESCRIPTION = 400 };

static void reply(struct http_request *req, unsigned status, const struct cors_policy *policy,
		  const char *type, struct view body, const struct http_header *extra)
{
	struct http_header headers[3 + CORS_MAX_HEADERS + MAX_EXTRA + 1] = {
		{ "Cache-Control", "no-store" },
		{ "Pragma", "no-cache" },
		{ "X-Content-Type-Options", "nosniff" },
	};
	size_t n = 3 + cors_headers(policy, headers + 3);

	for (size_t i = 0; extra && extra[i].name && i < MAX_EXTRA; i++)
		headers[n++] = extra[i];
	headers[n] = (struct http_header){ NULL, NULL };
	http_reply(req, status, type, body, headers);
}

void reply_json(struct http_request *req, unsigned status, const struct cors_policy *policy,
		struct view body, const struct http_header *extra)
{
	reply(req, status, policy, "application/json", body, extra);
}

void reply_empty(struct http_request *req, unsigned status, const struct cors_policy *policy)
{
	reply(req, status, policy, NULL, VIEW(""), NULL);
}

void reply_error(struct http_request *req, unsigned status, const struct cors_policy *policy,
		 const char *error, const char *description, const struct http_header *extra)
{
	char text[MAX_DESCRIPTION + 1];
	char body[MAX_DESCRIPTION + 100];
	size_t n = 0;

	for (; description[n] && n < MAX_DESCRIPTION; n++) {
		char c = description[n];

		text[n] = c;
		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '=')
			text[n] = '\'';
	}
	text[n] = '\0';
	reply_note(req, status, error);
	(void)snprintf(body, sizeof(body), "{\"error\":\"%s\",\"error_description\":\"%s\"}", error,
		       text);
	reply_json(req, status, policy, view_str(body), extra);
}

void reply_note(const struct http_request *req, unsigned status, const char *what)
{
	char path[64];

	log_debug("oauth: %s %s from %s gets %u: %s", http_request_method_name(req),
		  log_quote(http_request_path(req), path, sizeof(path)), http_request_network(req),
		  status, what);
}

uint64_t reply_retry_seconds(usec wait)
{
	return wait / USEC_PER_SEC + 1;
}

void reply_slow_down(struct http_request *req, const struct cors_policy *policy, usec wait,
		     const char *description)
{
	char seconds[24];
	const struct http_header extra[] = { { "Retry-After", seconds }, { NULL, NULL } };

	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, reply_retry_seconds(wait));
	reply_error(req, 429, policy, "temporarily_unavailable", description, extra);
}
