/* SPDX-License-Identifier: Apache-2.0 */
/* Host and Origin. */
#include "mcp/guard.h"

#include "http/net.h"

#include <arpa/inet.h>

/* "host:port" or "[::1]:port" without the port. */
static struct view without_port(struct view authority)
{
	size_t colon;

	if (authority.len && authority.p[0] == '[')
		return view_first(authority, view_find(authority, ']') + 1);
	colon = view_find(authority, ':');
	return view_first(authority, colon);
}

/* What follows "scheme://", up to a slash; empty if it is no URL. */
static struct view authority_of(struct view url)
{
	size_t colon = view_find(url, ':');
	struct view rest = view_from(url, colon);

	if (!view_starts(rest, VIEW("://")))
		return VIEW("");
	rest = view_from(rest, 3);
	return view_first(rest, view_find(rest, '/'));
}

/* An address needs no name lookup, so nobody can have rebound it. */
static bool is_address(struct view host)
{
	unsigned char scratch[sizeof(struct in6_addr)];
	char text[INET6_ADDRSTRLEN];

	if (host.len > 2 && host.p[0] == '[' && host.p[host.len - 1] == ']')
		return view_copy(view_first(view_from(host, 1), host.len - 2), text,
				 sizeof(text)) == 0 &&
		       inet_pton(AF_INET6, text, scratch) == 1;
	return view_copy(host, text, sizeof(text)) == 0 && inet_pton(AF_INET, text, scratch) == 1;
}

static bool listed(const char *list, struct view value, bool hosts)
{
	struct view rest = view_str(list), entry;

	while (view_split(&rest, ',', &entry)) {
		entry = view_trim(entry);
		if (view_is(entry, "*"))
			return true;
		if (hosts)
			entry = without_port(entry);
		if (entry.len && view_eq_nocase(entry, value))
			return true;
	}
	return false;
}

static bool host_is_ours(const struct guard *guard, struct view host)
{
	struct view ours = without_port(authority_of(view_str(guard->public_url)));

	if (host.len == 0)
		return false;
	return net_host_is_loopback(host) || is_address(host) ||
	       (ours.len && view_eq_nocase(host, ours)) || listed(guard->allowed_hosts, host, true);
}

static bool origin_may_call(const struct guard *guard, struct view host, struct view origin)
{
	struct view from = authority_of(origin);

	if (listed(guard->allowed_origins, origin, false))
		return true;
	if (from.len == 0)
		return false; /* "null": a file, a sandboxed frame */
	if (view_eq_nocase(from, host) ||
	    view_eq_nocase(from, authority_of(view_str(guard->public_url))))
		return true;
	return net_host_is_loopback(from) && net_host_is_loopback(host);
}

const char *guard_refuse(const struct guard *guard, struct view host, struct view origin)
{
	if (!host_is_ours(guard, without_port(host)))
		return "Host not allowed: public_url or allowed_hosts must name it";
	if (origin.p && !origin_may_call(guard, host, origin))
		return "Origin not allowed: allowed_origins must list it";
	return NULL;
}
