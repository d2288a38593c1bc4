/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes in sentences. */
#include "base/show.h"

#include "base/utf8.h"

#include <stdio.h>

/* Neither a control nor an invisible or direction-changing character. */
static bool is_plain(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad)
		return false;
	if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f))
		return false;
	return !((c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0xfffd);
}

static bool name_is_plain(struct view name)
{
	if (!name.len || name.p[0] == ' ' || name.p[name.len - 1] == ' ' || name.p[0] == '$')
		return false;
	while (name.len) {
		uint32_t c;
		size_t n = utf8_char(name, &c);

		if (!n || !is_plain(c))
			return false;
		name = view_from(name, n);
	}
	return true;
}

static int add_escaped(struct buf *out, struct view name)
{
	int r = buf_add_str(out, "$'");

	while (r == 0 && name.len) {
		uint32_t c;
		size_t n = utf8_char(name, &c);

		if (n && is_plain(c) && c != '\'' && c != '\\')
			r = buf_add(out, name.p, n);
		else if (*name.p == '\n')
			r = buf_add_str(out, "\\n");
		else if (*name.p == '\'' || *name.p == '\\')
			r = buf_addf(out, "\\%c", *name.p);
		else
			r = buf_addf(out, "\\x%02x", (unsigned char)*name.p);
		/* The bytes of an invisible character are escaped one by one. */
		name = view_from(name, n && is_plain(c) ? n : 1);
	}
	return r < 0 ? r : buf_add_char(out, '\'');
}

int show_add(struct buf *out, struct view name)
{
	size_t mark = out->len;
	int r = name_is_plain(name) ? buf_add_view(out, name) : add_escaped(out, name);

	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

const char *show_name(struct view name, char out[SHOW_MAX])
{
	enum { ELLIPSIS = sizeof("…") };
	auto_buf struct buf b = BUF_INIT(4 * 4096 + 8);
	struct view shown;

	if (!name.len)
		return "/workspace";
	if (show_add(&b, name) < 0)
		return "(a name too long to show)";
	shown = buf_view(&b);
	if (shown.len < SHOW_MAX) {
		(void)snprintf(out, SHOW_MAX, "%.*s", VIEW_ARG(shown));
		return out;
	}
	shown = utf8_first(view_first(shown, SHOW_MAX - ELLIPSIS), SHOW_MAX);
	/* A character cut at the end counts as invalid bytes: drop them. */
	while (shown.len && !utf8_valid(shown))
		shown.len--;
	(void)snprintf(out, SHOW_MAX, "%.*s…", VIEW_ARG(shown));
	return out;
}

const char *show_size(uint64_t bytes, char out[SHOW_SIZE_MAX])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	if (bytes < 1024) {
		(void)snprintf(out, SHOW_SIZE_MAX, bytes == 1 ? "%llu byte" : "%llu bytes",
			       (unsigned long long)bytes);
		return out;
	}
	while (bytes >= 1024 * 1024 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	if (bytes < 10 * 1024 && bytes % 1024 >= 103)
		(void)snprintf(out, SHOW_SIZE_MAX, "%llu.%llu %s",
			       (unsigned long long)(bytes / 1024),
			       (unsigned long long)(bytes % 1024 * 10 / 1024), units[unit]);
	else
		(void)snprintf(out, SHOW_SIZE_MAX, "%llu %s", (unsigned long long)(bytes / 1024),
			       units[unit]);
	return out;
}
