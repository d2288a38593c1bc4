/* SPDX-License-Identifier: Apache-2.0 */
/* Names of uploaded files. */
#include "links/file_name.h"

#include "base/utf8.h"

enum { MAX_EXTENSION = 16 };

static struct view last_component(struct view name)
{
	for (size_t i = name.len; i > 0; i--)
		if (name.p[i - 1] == '/' || name.p[i - 1] == '\\')
			return view_from(name, i);
	return name;
}

/* ".txt" of "a.txt"; empty without a short one. */
static struct view extension(struct view name)
{
	for (size_t i = name.len; i > 1 && name.len - i < MAX_EXTENSION; i--)
		if (name.p[i - 1] == '.')
			return view_from(name, i - 1);
	return view_from(name, name.len);
}

/* The longest beginning of whole characters in `max` bytes. */
static struct view cut(struct view v, size_t max)
{
	struct view rest = v;

	while (rest.len) {
		size_t n = utf8_char(rest, NULL);

		if (v.len - rest.len + n > max || n == 0)
			break;
		rest = view_from(rest, n);
	}
	return view_first(v, v.len - rest.len);
}

int file_name_clean(struct view name, char out[FILE_NAME_MAX + 1])
{
	auto_buf struct buf clean = BUF_INIT(16 * 1024);
	struct view v, tail;

	if (utf8_add_valid(&clean, last_component(name)) < 0)
		return -EINVAL;
	for (size_t i = 0; i < clean.len; i++)
		if ((unsigned char)clean.p[i] < 0x20 || clean.p[i] == 0x7f)
			clean.p[i] = '_';
	v = view_trim(buf_view(&clean));
	if (v.len == 0 || view_is(v, ".") || view_is(v, ".."))
		return -EINVAL;
	if (v.len <= FILE_NAME_MAX)
		return view_copy(v, out, FILE_NAME_MAX + 1);
	tail = extension(v);
	v = cut(v, FILE_NAME_MAX - tail.len);
	memcpy(out, v.p, v.len);
	memcpy(out + v.len, tail.p, tail.len);
	out[v.len + tail.len] = '\0';
	return 0;
}
