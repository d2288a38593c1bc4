/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of host names. */
#include "slots/allow.h"

#include "base/log.h"

#include <netdb.h>
#include <netinet/in.h>

enum { HOST_MAX = 254, PER_HOST = 64 };

static bool to_address(const struct addrinfo *i, struct address *ret)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	*ret = (struct address){ .family = i->ai_family };
	if (i->ai_family == AF_INET && i->ai_addrlen == sizeof(sin)) {
		memcpy(&sin, i->ai_addr, sizeof(sin));
		memcpy(ret->bytes, &sin.sin_addr, 4);
		return true;
	}
	if (i->ai_family == AF_INET6 && i->ai_addrlen == sizeof(sin6)) {
		memcpy(&sin6, i->ai_addr, sizeof(sin6));
		memcpy(ret->bytes, &sin6.sin6_addr, 16);
		return true;
	}
	return false;
}

static bool has(const struct address *list, size_t n, const struct address *a)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].family == a->family &&
		    memcmp(list[i].bytes, a->bytes, sizeof(a->bytes)) == 0)
			return true;
	return false;
}

size_t allow_look_up(const char *host, struct address *ret, size_t max)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct address a;
	size_t n = 0;

	if (getaddrinfo(host, NULL, &hints, &list) != 0)
		return 0;
	for (const struct addrinfo *i = list; i && n < max; i = i->ai_next)
		if (to_address(i, &a) && !has(ret, n, &a))
			ret[n++] = a;
	freeaddrinfo(list);
	return n;
}

size_t allow_resolve(const char *hosts, struct address *ret, size_t max)
{
	struct view rest = view_str(hosts), part;
	size_t n = 0;

	while (view_split(&rest, ',', &part)) {
		struct address found[PER_HOST];
		char host[HOST_MAX], shown[128];
		size_t n_found;

		part = view_trim(part);
		if (part.len == 0)
			continue;
		if (view_copy(part, host, sizeof(host)) < 0) {
			log_warning("%s is no host name", log_quote(part, shown, sizeof(shown)));
			continue;
		}
		n_found = allow_look_up(host, found, PER_HOST);
		if (n_found == 0)
			log_warning("%s has no address at present: it cannot be reached from "
				    "sandboxes",
				    log_quote(part, shown, sizeof(shown)));
		for (size_t i = 0; i < n_found && n < max; i++)
			if (!address_is_refused(&found[i]) && !has(ret, n, &found[i]))
				ret[n++] = found[i];
	}
	return n;
}
