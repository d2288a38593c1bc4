/* SPDX-License-Identifier: Apache-2.0 */
/* Redirect URIs: rules, comparison, Location. */
#include "oauth/redirect.h"

#include "base/parse.h"
#include "http/url.h"
#include "oauth/limits.h"

/* Schemes that run, show or send something by themselves, or belong to the browser. */
static const char *const denied_schemes[] = {
	"javascript", "data",    "vbscript", "blob",          "file",
	"filesystem", "about",   "chrome",   "view-source",   "chrome-extension",
	"intent",     "content", "ftp",      "ftps",          "ws",
	"wss",        "mailto",  "tel",      "sms",           "ssh",
	"smb",        "ldap",    "jar",      "resource",      "search-ms",
	"telnet",     "ldaps",   "sftp",     "moz-extension", "market",
};

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Only characters that are harmless in a header, in HTML and to URL parsers that "repair". */
static bool has_good_characters(struct view uri)
{
	for (size_t i = 0; i < uri.len; i++) {
		char c = uri.p[i];

		if (c < 0x21 || c > 0x7e || strchr("\"<>\\`{}|^#", c))
			return false;
	}
	return true;
}

static bool is_scheme(struct view scheme)
{
	/* One letter is a drive on Windows. */
	if (scheme.len < 2 || !is_alpha(scheme.p[0]))
		return false;
	for (size_t i = 0; i < scheme.len; i++) {
		char c = scheme.p[i];

		if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '.' && c != '-')
			return false;
	}
	return true;
}

static bool is_denied(struct view scheme)
{
	for (size_t i = 0; i < ARRAY_SIZE(denied_schemes); i++)
		if (view_is_nocase(scheme, denied_schemes[i]))
			return true;
	/* Windows programs: ms-msdt, ms-word, … */
	return view_is_nocase(view_first(scheme, 3), "ms-");
}

static bool is_reg_name(struct view host)
{
	if (host.len == 0)
		return false;
	for (size_t i = 0; i < host.len; i++) {
		char c = host.p[i];

		if (!is_alpha(c) && !is_digit(c) && c != '.' && c != '-')
			return false;
	}
	return true;
}

static bool is_ipv6_literal(struct view host)
{
	if (host.len < 4 || host.p[0] != '[' || host.p[host.len - 1] != ']')
		return false;
	for (size_t i = 1; i < host.len - 1; i++)
		if (hex_digit(host.p[i]) < 0 && host.p[i] != ':' && host.p[i] != '.')
			return false;
	return true;
}

static bool is_loopback(struct view host)
{
	/* Exactly these: every other spelling is some resolver's guess. */
	return view_is(host, "localhost") || view_is(host, "127.0.0.1") || view_is(host, "[::1]");
}

/* `rest` is what follows "scheme://". */
static int parse_authority(struct view rest, struct redirect *r)
{
	size_t end = 0, host_len;
	uint32_t port;
	struct view authority, after;

	while (end < rest.len && rest.p[end] != '/' && rest.p[end] != '?')
		end++;
	authority = view_first(rest, end);
	host_len = authority.len && authority.p[0] == '[' ? view_find(authority, ']') + 1
							  : view_find(authority, ':');
	r->host = view_first(authority, host_len);
	after = view_from(authority, host_len);
	if (after.len && (after.p[0] != ':' || parse_u32(view_from(after, 1), 1, 65535, &port) < 0))
		return -EINVAL;
	if (!is_reg_name(r->host) && !is_ipv6_literal(r->host))
		return -EINVAL;
	r->tail = view_from(rest, end);
	return 0;
}

int redirect_parse(struct view uri, struct redirect *ret)
{
	struct redirect r = { .scheme = view_first(uri, view_find(uri, ':')) };
	struct view rest = view_from(uri, r.scheme.len + 1);
	bool has_slashes = view_starts(rest, VIEW("//"));

	if (uri.len > OAUTH_MAX_REDIRECT || r.scheme.len == uri.len || !has_good_characters(uri) ||
	    !is_scheme(r.scheme) || is_denied(r.scheme))
		return -EINVAL;
	if (view_is_nocase(r.scheme, "https") || view_is_nocase(r.scheme, "http")) {
		if (!has_slashes || parse_authority(view_from(rest, 2), &r) < 0)
			return -EINVAL;
		r.kind = view_is_nocase(r.scheme, "https") ? REDIRECT_WEB : REDIRECT_LOOPBACK;
		if (r.kind == REDIRECT_LOOPBACK && !is_loopback(r.host))
			return -EINVAL;
	} else {
		/* "cursor://callback", or the reverse-domain form "com.example.app:/callback". */
		bool is_reverse_domain = view_find(r.scheme, '.') < r.scheme.len;

		if (rest.len == 0 || (has_slashes && rest.len == 2) ||
		    (!has_slashes && !is_reverse_domain))
			return -EINVAL;
		r.kind = REDIRECT_APP;
	}
	*ret = r;
	return 0;
}

bool redirect_matches(struct view registered, struct view asked)
{
	struct redirect a, b;

	if (redirect_parse(registered, &a) < 0 || redirect_parse(asked, &b) < 0)
		return false;
	if (a.kind != REDIRECT_LOOPBACK || b.kind != REDIRECT_LOOPBACK)
		return view_eq(registered, asked);
	return view_eq(a.host, b.host) && view_eq(a.tail, b.tail);
}

int redirect_canonical(struct buf *out, struct view uri)
{
	struct redirect r;
	int e = redirect_parse(uri, &r);

	if (e < 0)
		return e;
	if (r.kind != REDIRECT_LOOPBACK)
		return buf_add_view(out, uri);
	/* The scheme's case does not count either; the rest is compared as it is. */
	e = buf_addf(out, "http://%.*s", VIEW_ARG(r.host));
	return e < 0 ? e : buf_add_view(out, r.tail);
}

int redirect_location(struct buf *out, struct view uri, const struct redirect_param *params)
{
	char separator = '?';
	int r = buf_add_view(out, uri);

	if (view_find(uri, '?') < uri.len) {
		char last = uri.p[uri.len - 1];

		separator = last == '?' || last == '&' ? '\0' : '&';
	}
	for (; r == 0 && params->name; params++) {
		if (!params->value.p)
			continue;
		if (separator)
			r = buf_add_char(out, separator);
		if (r == 0)
			r = buf_addf(out, "%s=", params->name);
		if (r == 0)
			r = url_encode(out, params->value);
		separator = '&';
	}
	return r;
}
