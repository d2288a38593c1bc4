/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's own package mirrors. Where a company has its own, they are in a private range, which
 * sandboxes do not reach: then nothing could be installed in one. Exactly their addresses and ports
 * are proposed as exceptions.
 */
#include "base/parse.h"
#include "cli/setup.h"
#include "slots/allow.h"
#include "slots/ranges.h"
#include "sys/run.h"

#include <stdio.h>

enum { OUTPUT_MAX = 64 * 1024, HOST_MAX = 254, PER_HOST = 16 };

/*
 * What prints the addresses of mirrors, one a line: each tool knows its own default. One that is
 * not installed has no mirror.
 */
static const char *const apt[] = { "apt-get", "indextargets", "--format", "$(SITE)", NULL };
static const char *const npm[] = { "npm", "config", "get", "registry", NULL };
static const char *const pip[] = {
	"python3", "-c",
	"from pip._internal.configuration import Configuration\n"
	"from pip._internal.models.index import PyPI\n"
	"c = Configuration(isolated=False)\n"
	"c.load()\n"
	"s = dict(c.items())\n"
	"get = lambda k: s.get(':env:.' + k) or s.get('global.' + k) or ''\n"
	"print(get('index-url') or PyPI.simple_url + '\\nhttps://' + PyPI.file_storage_domain)\n"
	"print(get('extra-index-url').replace(' ', '\\n'))",
	NULL
};
static const char *const *const tools[] = { apt, npm, pip };

struct search {
	struct buf *ranges;
	struct range known[RANGES_MAX];
	size_t n_known, n_found;
	bool has_v6;
};

static bool is_known(const struct search *s, const struct address *a, uint16_t port)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (range_contains(&s->known[i], a) &&
		    (s->known[i].port == 0 || s->known[i].port == port))
			return true;
	return false;
}

static int add(struct search *s, const struct address *a, uint16_t port)
{
	bool v6 = a->family == AF_INET6;
	int r = 0;

	if (s->n_known == RANGES_MAX)
		return -ENOSPC;
	s->known[s->n_known++] = (struct range){ *a, (uint32_t)address_length(a) * 8, port };
	s->n_found++;
	if (s->ranges->len)
		r = buf_add_str(s->ranges, ", ");
	if (r == 0 && v6)
		r = buf_add_char(s->ranges, '[');
	if (r == 0)
		r = address_print(a, s->ranges);
	return r < 0 ? r : buf_addf(s->ranges, "%s:%u", v6 ? "]" : "", (unsigned)port);
}

/* "https://user@host:8443/path": host and port. False if it is no such thing. */
static bool split_url(struct view url, char host[HOST_MAX], uint16_t *ret_port)
{
	bool https = view_starts(url, VIEW("https://"));
	uint32_t port = https ? 443 : 80;
	struct view v;
	size_t at;

	if (!https && !view_starts(url, VIEW("http://")))
		return false;
	v = view_from(url, https ? 8 : 7);
	v = view_first(v, view_find(v, '/'));
	at = view_find(v, '@');
	if (at < v.len)
		v = view_from(v, at + 1);
	if (v.len && v.p[0] == '[') {
		at = view_find(v, ']');
		if (at + 1 < v.len && parse_u32(view_from(v, at + 2), 1, UINT16_MAX, &port) < 0)
			return false;
		v = view_from(view_first(v, at), 1);
	} else if ((at = view_find(v, ':')) < v.len) {
		if (parse_u32(view_from(v, at + 1), 1, UINT16_MAX, &port) < 0)
			return false;
		v = view_first(v, at);
	}
	*ret_port = (uint16_t)port;
	return v.len > 0 && view_copy(v, host, HOST_MAX) == 0;
}

static int look_at(struct search *s, struct view url)
{
	struct address found[PER_HOST];
	char host[HOST_MAX];
	uint16_t port;
	size_t n;
	int r = 0;

	if (!split_url(view_trim(url), host, &port))
		return 0;
	n = allow_look_up(host, found, PER_HOST);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!address_is_refused(&found[i]) || address_is_loopback(&found[i]) ||
		    is_known(s, &found[i], port) || (found[i].family == AF_INET6 && !s->has_v6))
			continue;
		setup_say("the package mirror %s is in a range that sandboxes do not reach", host);
		r = add(s, &found[i], port);
	}
	return r;
}

int setup_find_mirrors(const struct conf *conf, struct buf *ranges, size_t *ret_found,
		       struct err *err)
{
	struct search s = { .ranges = ranges, .has_v6 = conf->ipv6_block[0] != '\0' };
	int r = buf_add_str(ranges, conf->allow_ranges);

	if (range_list_parse(conf->allow_ranges, s.known, &s.n_known, err) < 0)
		return err_wrap(err, "network.allow_ranges");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tools); i++) {
		auto_buf struct buf output = BUF_INIT(OUTPUT_MAX);
		struct view rest, line;
		int status = 0;

		if (run_program(tools[i], &output, &status) < 0 || status != 0)
			continue;
		rest = buf_view(&output);
		while (r == 0 && view_split(&rest, '\n', &line))
			r = look_at(&s, line);
	}
	if (r < 0)
		return err_sys(err, -r, "list the package mirrors");
	*ret_found = s.n_found;
	return 0;
}
