/* SPDX-License-Identifier: Apache-2.0 */
/* E-mail address syntax. */
#include "base/address.h"

enum { MAX_LOCAL = 64, MAX_LABEL = 63 };

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_local_part(struct view v)
{
	if (v.len == 0 || v.len > MAX_LOCAL || v.p[0] == '-' || v.p[0] == '.' ||
	    v.p[v.len - 1] == '.')
		return false;
	for (size_t i = 0; i < v.len; i++) {
		char c = v.p[i];

		if (!is_alnum(c) && c != '.' && c != '_' && c != '+' && c != '-')
			return false;
		if (c == '.' && v.p[i + 1] == '.')
			return false;
	}
	return true;
}

static bool is_label(struct view v)
{
	if (v.len == 0 || v.len > MAX_LABEL || v.p[0] == '-' || v.p[v.len - 1] == '-')
		return false;
	for (size_t i = 0; i < v.len; i++)
		if (!is_alnum(v.p[i]) && v.p[i] != '-')
			return false;
	return true;
}

static bool is_domain(struct view v)
{
	struct view label = VIEW("");
	bool has_letter = false;
	size_t labels = 0;

	if (v.len == 0 || v.p[v.len - 1] == '.')
		return false;
	while (view_split(&v, '.', &label)) {
		if (!is_label(label))
			return false;
		labels++;
	}
	/* The last label of a name is never a number: that would be an address. */
	for (size_t i = 0; i < label.len; i++)
		has_letter |= !(label.p[i] >= '0' && label.p[i] <= '9');
	return labels >= 2 && has_letter;
}

bool address_is_valid(struct view address)
{
	size_t at = view_find(address, '@');

	return address.len >= 3 && address.len <= ADDRESS_MAX && at < address.len &&
	       is_local_part(view_first(address, at)) && is_domain(view_from(address, at + 1));
}

void address_mailbox(struct view address, char out[ADDRESS_MAX + 1])
{
	size_t at = view_find(address, '@');
	size_t tag = view_find(view_first(address, at), '+');
	size_t len = 0;

	for (size_t i = 0; i < address.len; i++) {
		char c = address.p[i];

		if (i < at && (i >= tag || c == '.'))
			continue;
		out[len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	out[len] = '\0';
}
