/* SPDX-License-Identifier: Apache-2.0 */
/* Content-Type, Cookie, Authorization. */
#include "oauth/media.h"

#include "http/url.h"
#include "oauth/limits.h"

#include <sodium.h>

bool media_is(const struct http_request *req, const char *type)
{
	struct view v = http_request_header(req, "Content-Type");

	return v.p && view_is_nocase(view_trim(view_first(v, view_find(v, ';'))), type);
}

struct view media_cookie(struct view header, const char *name)
{
	struct view pair;

	while (view_split(&header, ';', &pair)) {
		size_t eq = view_find(pair, '=');

		if (eq < pair.len && view_is(view_trim(view_first(pair, eq)), name))
			return view_trim(view_from(pair, eq + 1));
	}
	return VIEW("");
}

/* Cuts "scheme " off; false if it is another scheme. */
static bool cut_scheme(struct view *v, const char *scheme)
{
	size_t len = strlen(scheme);

	if (!view_is_nocase(view_first(*v, len), scheme) ||
	    (v->len > len && v->p[len] != ' ' && v->p[len] != '\t'))
		return false;
	*v = view_trim(view_from(*v, len));
	return true;
}

int media_basic_user(struct view authorization, char ret[MEDIA_BASIC_ID_BYTES])
{
	char plain[OAUTH_MAX_BEARER + 1];
	auto_buf struct buf user = BUF_INIT(MEDIA_BASIC_ID_BYTES - 1);
	struct view text;
	size_t len = 0;
	int r;

	if (!cut_scheme(&authorization, "Basic"))
		return -ENOENT;
	if (sodium_base642bin((unsigned char *)plain, sizeof(plain), authorization.p,
			      authorization.len, NULL, &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return -EINVAL;
	text = view_of(plain, len);
	if (view_find(text, ':') == text.len)
		return -EINVAL;
	/* The secret after the colon means nothing: all clients are public. */
	r = url_decode(&user, view_first(text, view_find(text, ':')));
	sodium_memzero(plain, sizeof(plain));
	if (r < 0)
		return -EINVAL;
	return view_copy(buf_view(&user), ret, MEDIA_BASIC_ID_BYTES);
}

/* RFC 6750: b64token. */
static bool is_token_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~+/=", c));
}

int media_bearer(struct view authorization, struct view *ret)
{
	struct view token = authorization;

	if (!cut_scheme(&token, "Bearer"))
		return -ENOENT;
	if (token.len == 0 || token.len > OAUTH_MAX_BEARER)
		return -EINVAL;
	for (size_t i = 0; i < token.len; i++)
		if (!is_token_character(token.p[i]))
			return -EINVAL;
	*ret = token;
	return 0;
}
