/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redirect URIs: two lines of input, a registered one and one that is asked for. What matches has
 * one canonical form, and a Location never holds what would end a header.
 */
#include "oauth/redirect.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_location(struct view uri)
{
	const struct redirect_param params[] = {
		{ "code", VIEW_INIT("c&\r\n") },
		{ "iss", VIEW_INIT("https://host") },
		{ NULL, { NULL, 0 } },
	};
	auto_buf struct buf out = BUF_INIT(8192);

	assert(redirect_location(&out, uri, params) == 0);
	assert(view_starts(buf_view(&out), uri));
	for (size_t i = 0; i < out.len; i++)
		assert(out.p[i] > 0x20 && out.p[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = view_of(data, size), first = VIEW(""), second = VIEW("");
	auto_buf struct buf a = BUF_INIT(4096), b = BUF_INIT(4096);
	struct redirect r;

	(void)view_split(&rest, '\n', &first);
	(void)view_split(&rest, '\n', &second);
	if (redirect_parse(first, &r) < 0)
		return 0;
	assert(redirect_matches(first, first));
	check_location(first);
	if (redirect_matches(first, second)) {
		assert(redirect_canonical(&a, first) == 0);
		assert(redirect_canonical(&b, second) == 0);
		assert(view_eq(buf_view(&a), buf_view(&b)));
	}
	return 0;
}
