/* SPDX-License-Identifier: Apache-2.0 */
/* Text into HTML. */
#include "http/html.h"

static const char *reference(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

int html_escape(struct buf *out, struct view text)
{
	size_t before = out->len;

	for (size_t i = 0; i < text.len; i++) {
		const char *ref = reference(text.p[i]);
		int r = ref ? buf_add_str(out, ref) : buf_add_char(out, text.p[i]);

		if (r < 0) {
			buf_truncate(out, before);
			return r;
		}
	}
	return 0;
}
