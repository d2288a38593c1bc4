/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges. */
#include "slots/ranges.h"

#include "base/parse.h"

#include <arpa/inet.h>

const char *const private_v4[] = { "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", NULL };
const char *const private_v6[] = { "fc00::/7", NULL };
const char *const metadata_v6[] = { "fd00:ec2::254", "fd20:ce::254", NULL };

const char *const refused_v4[] = {
	"0.0.0.0/8",       /* "this network"; Linux connects 0.0.0.0 to itself */
	"100.64.0.0/10",   /* carrier NAT; overlay networks, and a metadata service in it */
	"127.0.0.0/8",     /* loopback */
	"169.254.0.0/16",  /* link-local: metadata services */
	"192.0.0.0/24",    /* protocol assignments; one more metadata service */
	"192.0.2.0/24",    /* documentation */
	"192.88.99.0/24",  /* 6to4 relays */
	"198.18.0.0/15",   /* benchmarking */
	"198.51.100.0/24", /* documentation */
	"203.0.113.0/24",  /* documentation */
	"224.0.0.0/3",     /* multicast, reserved, broadcast */
	"168.63.129.16",   /* a public address, but a cloud's host agent */
	NULL,
};

const char *const refused_v6[] = {
	"::/127",         /* unspecified, loopback */
	"::ffff:0:0/96",  /* IPv4 in IPv6 */
	"64:ff9b::/96",   /* NAT64: any IPv4 address */
	"64:ff9b:1::/48", /* the same, local */
	"100::/64",       /* discard */
	"2001:db8::/32",  /* documentation */
	"2002::/16",      /* 6to4: any IPv4 address */
	"fe80::/10",      /* link-local */
	"fec0::/10",      /* site-local, of old */
	"ff00::/8",       /* multicast */
	NULL,
};

int address_parse(struct view text, struct address *ret)
{
	struct address a = { .family = AF_INET };
	char copy[INET6_ADDRSTRLEN];

	if (view_copy(text, copy, sizeof(copy)) < 0)
		return -EINVAL;
	if (strchr(copy, ':'))
		a.family = AF_INET6;
	if (inet_pton(a.family, copy, a.bytes) != 1)
		return -EINVAL;
	*ret = a;
	return 0;
}

size_t address_length(const struct address *a)
{
	return a->family == AF_INET ? 4 : 16;
}

bool address_is_loopback(const struct address *a)
{
	static const uint8_t v6[16] = { [15] = 1 };

	return a->family == AF_INET ? a->bytes[0] == 127 : memcmp(a->bytes, v6, sizeof(v6)) == 0;
}

int address_print(const struct address *a, struct buf *out)
{
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(a->family, a->bytes, text, sizeof(text)))
		return -EINVAL;
	return buf_add_str(out, text);
}

/* Compares the first `bits` bits. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	uint32_t whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00U >> rest);

	return memcmp(a, b, whole) == 0 && (rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0);
}

static bool has_host_bits(const struct range *r)
{
	uint32_t bits = (uint32_t)address_length(&r->address) * 8;

	for (uint32_t i = r->prefix; i < bits; i++)
		if (r->address.bytes[i / 8] & (0x80U >> i % 8))
			return true;
	return false;
}

/* Takes a port off the end of *text: "…:443" of IPv4, "[…]:443" of IPv6. */
static int take_port(struct view *text, uint16_t *ret)
{
	size_t colon = view_find(*text, ':');
	uint32_t port = 0;

	if (text->len && text->p[0] == '[') {
		size_t end = view_find(*text, ']');
		struct view tail = view_from(*text, end + 1);

		if (end == text->len)
			return -EINVAL;
		if (tail.len &&
		    (tail.p[0] != ':' || parse_u32(view_from(tail, 1), 1, UINT16_MAX, &port) < 0))
			return -EINVAL;
		*text = view_of(text->p + 1, end - 1);
	} else if (colon < text->len && !memchr(text->p + colon + 1, ':', text->len - colon - 1)) {
		/* One colon only: IPv6 has more. */
		if (parse_u32(view_from(*text, colon + 1), 1, UINT16_MAX, &port) < 0)
			return -EINVAL;
		*text = view_first(*text, colon);
	}
	*ret = (uint16_t)port;
	return 0;
}

int range_parse(struct view text, struct range *ret)
{
	struct range r = { .port = 0 };
	size_t slash;

	if (take_port(&text, &r.port) < 0)
		return -EINVAL;
	slash = view_find(text, '/');
	if (address_parse(view_first(text, slash), &r.address) < 0)
		return -EINVAL;
	r.prefix = (uint32_t)address_length(&r.address) * 8;
	if (slash < text.len && parse_u32(view_from(text, slash + 1), 0, r.prefix, &r.prefix) < 0)
		return -EINVAL;
	if (has_host_bits(&r))
		return -EINVAL;
	*ret = r;
	return 0;
}

bool range_contains(const struct range *range, const struct address *a)
{
	return range->address.family == a->family &&
	       same_prefix(range->address.bytes, a->bytes, range->prefix);
}

int range_list_parse(const char *text, struct range ret[RANGES_MAX], size_t *ret_n, struct err *err)
{
	struct view rest = view_str(text), part;
	size_t n = 0;

	while (view_split(&rest, ',', &part)) {
		part = view_trim(part);
		if (part.len == 0)
			continue;
		if (n == RANGES_MAX)
			return err_set(err, ERR_INVALID, "more than %d ranges", RANGES_MAX);
		if (range_parse(part, &ret[n]) < 0)
			return err_set(err, ERR_INVALID,
				       "\"%.*s\" is no range such as 192.0.2.0/24, "
				       "192.0.2.1:443 or [2001:db8::1]:443",
				       VIEW_ARG(part));
		n++;
	}
	*ret_n = n;
	return 0;
}

static bool in_list(const char *const *list, const struct address *a)
{
	struct range range;

	for (; *list; list++)
		if (range_parse(view_str(*list), &range) == 0 && range_contains(&range, a))
			return true;
	return false;
}

bool address_is_refused(const struct address *a)
{
	if (a->family == AF_INET)
		return in_list(refused_v4, a) || in_list(private_v4, a);
	return in_list(refused_v6, a) || in_list(private_v6, a);
}
