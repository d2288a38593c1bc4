/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges: parsing what the operator wrote, and the list of what sandboxes may not reach.
 */
#ifndef BERTH_SLOTS_RANGES_H
#define BERTH_SLOTS_RANGES_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/socket.h>

enum { RANGES_MAX = 64 }; /* entries of one list in the configuration */

struct address {
	int family;        /* AF_INET, AF_INET6 */
	uint8_t bytes[16]; /* 4 or 16 of them, network order */
};

struct range {
	struct address address; /* its first one */
	uint32_t prefix;
	uint16_t port; /* 0: every protocol and port */
};

/* "192.0.2.1", "2001:db8::1". -EINVAL. */
int address_parse(struct view text, struct address *ret) MUST_CHECK;
size_t address_length(const struct address *a); /* 4 or 16 */
bool address_is_loopback(const struct address *a);
/* Appends "192.0.2.1". As buf_add(). */
int address_print(const struct address *a, struct buf *out) MUST_CHECK;

/*
 * "192.0.2.0/24", "192.0.2.1", "192.0.2.0/24:443", "2001:db8::/32", "[2001:db8::1]:443". Bits
 * beyond the prefix must be zero: -EINVAL, like for anything else that is not a range.
 */
int range_parse(struct view text, struct range *ret) MUST_CHECK;
bool range_contains(const struct range *range, const struct address *a);
/* A list with commas between, at most RANGES_MAX. ERR_INVALID names the entry. */
int range_list_parse(const char *text, struct range ret[RANGES_MAX], size_t *ret_n,
		     struct err *err) MUST_CHECK;

/*
 * What no sandbox reaches unless the operator says so: private, link-local, shared, reserved,
 * multicast and documentation ranges, ranges that embed IPv4 addresses in IPv6 ones, and the
 * addresses of clouds' metadata services. Lists of strings that end with NULL.
 */
extern const char *const refused_v4[], *const refused_v6[];
/* Those of them that mode = lan opens. */
extern const char *const private_v4[], *const private_v6[];
/* Metadata services inside private_v6: refused in mode = lan too. */
extern const char *const metadata_v6[];

bool address_is_refused(const struct address *a);

#endif
