/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-origin access. */
#include "http/cors.h"

static const char default_headers[] =
	"Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
	"Mcp-Session-Id, Last-Event-ID";

size_t cors_headers(const struct cors_policy *policy, struct http_header out[CORS_MAX_HEADERS])
{
	size_t n = 0;

	out[n++] = (struct http_header){ "Access-Control-Allow-Origin", "*" };
	if (policy->expose)
		out[n++] = (struct http_header){ "Access-Control-Expose-Headers", policy->expose };
	return n;
}

static bool is_token_list(struct view v)
{
	if (v.len == 0 || v.len > CORS_MAX_REQUEST_HEADERS)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		char c = v.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr("!#$%&'*+-.^_`|~, \t", c))))
			return false;
	}
	return true;
}

void cors_preflight(struct http_request *req, const struct cors_policy *policy)
{
	char allowed[CORS_MAX_REQUEST_HEADERS + 1];
	struct view asked = http_request_header(req, "Access-Control-Request-Headers");
	bool echo = is_token_list(asked) && view_copy(asked, allowed, sizeof(allowed)) == 0;
	const struct http_header headers[] = {
		{ "Access-Control-Allow-Origin", "*" },
		{ "Access-Control-Allow-Methods", policy->methods },
		{ "Access-Control-Allow-Headers", echo ? allowed : default_headers },
		{ "Access-Control-Max-Age", "86400" },
		{ "Vary", "Access-Control-Request-Headers" },
		{ NULL, NULL },
	};

	http_reply(req, 204, NULL, VIEW(""), headers);
}
