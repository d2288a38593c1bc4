/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: protected resource metadata (RFC 9728) and server metadata (RFC 8414). */
#include "oauth/internal.h"
#include "oauth/reply.h"
#include "json/json.h"

enum { MAX_METADATA = 4096 };

/* Takes the document, which may be NULL. */
static int print_owned(json_t *document, char **ret, struct err *err)
{
	auto_json json_t *doc = document;
	auto_buf struct buf out = BUF_INIT(MAX_METADATA);

	if (!doc)
		return err_sys(err, ENOMEM, "make the metadata");
	if (json_print(&out, doc, err) < 0)
		return -1;
	*ret = buf_take(&out);
	return 0;
}

int oauth_make_metadata(struct oauth *oauth, struct err *err)
{
	const char *iss = oauth->issuer;

	/* offline_access is the authorization server's business, never the resource's. */
	if (print_owned(json_pack("{s:s+, s:[s], s:[s], s:[s], s:s, s:s+}", "resource", iss, "/mcp",
				  "authorization_servers", iss, "scopes_supported", "sandbox",
				  "bearer_methods_supported", "header", "resource_name", "Berth",
				  "resource_documentation", iss, "/"),
			&oauth->resource_metadata, err) < 0)
		return -1;
	return print_owned(
		json_pack("{s:s, s:s+, s:s+, s:s+, s:s+, s:[s,s], s:[s], s:[s], s:[s,s], s:[s], "
			  "s:[s], s:[s], s:b, s:s+}",
			  "issuer", iss, "authorization_endpoint", iss, "/authorize",
			  "token_endpoint", iss, "/token", "registration_endpoint", iss,
			  "/register", "revocation_endpoint", iss, "/revoke", "scopes_supported",
			  "sandbox", "offline_access", "response_types_supported", "code",
			  "response_modes_supported", "query", "grant_types_supported",
			  "authorization_code", "refresh_token",
			  "token_endpoint_auth_methods_supported", "none",
			  "revocation_endpoint_auth_methods_supported", "none",
			  "code_challenge_methods_supported", "S256",
			  "authorization_response_iss_parameter_supported", 1,
			  "service_documentation", iss, "/"),
		&oauth->server_metadata, err);
}

void oauth_get_resource_metadata(struct oauth *oauth, struct http_request *req)
{
	reply_json(req, 200, &reply_get_policy, view_str(oauth->resource_metadata), NULL);
}

void oauth_get_server_metadata(struct oauth *oauth, struct http_request *req)
{
	reply_json(req, 200, &reply_get_policy, view_str(oauth->server_metadata), NULL);
}

/*
 * Other well-known paths. Clients go on to the next form after a 404, and stop at anything else:
 * OpenID metadata without keys, or an issuer that is not the URL they derived, is an error to them.
 */
void oauth_get_no_metadata(struct oauth *oauth, struct http_request *req)
{
	(void)oauth;
	reply_error(req, 404, &reply_get_policy, "not_found", "There is no document at this path.",
		    NULL);
}
