/* SPDX-License-Identifier: Apache-2.0 */
/* Which DNS servers sandboxes ask. */
#include "slots/resolvers.h"

#include "sys/io.h"

#include <fcntl.h>

static const char host_file[] = "/etc/resolv.conf";
/* systemd-resolved's own list of the servers that it asks. */
static const char upstream_file[] = "/run/systemd/resolve/resolv.conf";

enum { FILE_MAX = 64 * 1024 };

static void add(struct resolvers *r, enum resolvers_families families, const struct address *a)
{
	if (a->family == AF_INET6 && families == RESOLVERS_V4_ONLY && !address_is_loopback(a))
		return;
	if (r->n < RESOLVERS_MAX)
		r->list[r->n++] = *a;
}

/* Loopback ones are of use only if there are no others, and then one of IPv4 only. */
static void sort_out(struct resolvers *r)
{
	struct resolvers out = { .n = 0 };

	for (size_t i = 0; i < r->n; i++)
		if (!address_is_loopback(&r->list[i]))
			out.list[out.n++] = r->list[i];
	for (size_t i = 0; out.n == 0 && i < r->n; i++)
		if (r->list[i].family == AF_INET) {
			out.list[out.n++] = r->list[i];
			out.loopback = true;
		}
	*r = out;
}

void resolvers_read(struct view text, enum resolvers_families families, struct resolvers *ret)
{
	struct resolvers r = { .n = 0 };
	struct view line;

	while (view_split(&text, '\n', &line)) {
		struct view word = VIEW("nameserver");
		struct address a;

		line = view_trim(line);
		if (!view_starts(line, word))
			continue;
		if (address_parse(view_trim(view_from(line, word.len)), &a) == 0)
			add(&r, families, &a);
	}
	sort_out(&r);
	*ret = r;
}

static void read_file(const char *path, enum resolvers_families families, struct resolvers *ret)
{
	auto_buf struct buf text = BUF_INIT(FILE_MAX);

	*ret = (struct resolvers){ .n = 0 };
	if (io_read_file(AT_FDCWD, path, &text) == 0)
		resolvers_read(buf_view(&text), families, ret);
}

static int read_configured(const char *configured, enum resolvers_families families,
			   struct resolvers *ret, struct err *err)
{
	struct view rest = view_str(configured), part;
	struct resolvers r = { .n = 0 };

	while (view_split(&rest, ',', &part)) {
		struct address a;

		if (address_parse(view_trim(part), &a) < 0)
			return err_set(err, ERR_INVALID, "network.dns: \"%.*s\" is no address",
				       VIEW_ARG(view_trim(part)));
		add(&r, families, &a);
	}
	sort_out(&r);
	*ret = r;
	return 0;
}

/* systemd-resolved's, which answers nobody but the host itself. */
static bool is_stub(const struct resolvers *r)
{
	static const uint8_t stubs[] = { 53, 54 };
	const uint8_t *a = r->list[0].bytes;

	for (size_t i = 0; r->loopback && i < ARRAY_SIZE(stubs); i++)
		if (a[0] == 127 && a[1] == 0 && a[2] == 0 && a[3] == stubs[i])
			return true;
	return false;
}

int resolvers_find(const char *configured, enum resolvers_families families, struct resolvers *ret,
		   struct err *err)
{
	struct resolvers upstream;

	if (configured[0])
		return read_configured(configured, families, ret, err);
	read_file(host_file, families, ret);
	if (ret->n == 0 || ret->loopback) {
		read_file(upstream_file, families, &upstream);
		/* None, while the host has no network, is better than one that does not answer. */
		if (is_stub(ret) || (upstream.n && !upstream.loopback))
			*ret = upstream;
	}
	return 0;
}
