/* SPDX-License-Identifier: Apache-2.0 */
/* Views and bounded buffers. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>

bool view_eq(struct view a, struct view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool view_is(struct view a, const char *s)
{
	return view_eq(a, view_str(s));
}

static char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool view_eq_nocase(struct view a, struct view b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

bool view_is_nocase(struct view a, const char *s)
{
	return view_eq_nocase(a, view_str(s));
}

bool view_starts(struct view a, struct view prefix)
{
	return a.len >= prefix.len && view_eq(view_first(a, prefix.len), prefix);
}

bool view_ends(struct view a, struct view suffix)
{
	return a.len >= suffix.len && view_eq(view_from(a, a.len - suffix.len), suffix);
}

struct view view_trim(struct view v)
{
	while (v.len && (v.p[0] == ' ' || v.p[0] == '\t')) {
		v.p++;
		v.len--;
	}
	while (v.len && (v.p[v.len - 1] == ' ' || v.p[v.len - 1] == '\t'))
		v.len--;
	return v;
}

size_t view_find(struct view v, char c)
{
	const char *hit = v.len ? memchr(v.p, c, v.len) : NULL;

	return hit ? (size_t)(hit - v.p) : v.len;
}

struct view view_from(struct view v, size_t from)
{
	if (from > v.len)
		from = v.len;
	return (struct view){ .p = v.p + from, .len = v.len - from };
}

struct view view_first(struct view v, size_t len)
{
	return (struct view){ .p = v.p, .len = len < v.len ? len : v.len };
}

struct view view_base_name(struct view path)
{
	const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;

	return slash ? view_from(path, (size_t)(slash - path.p) + 1) : path;
}

bool view_split(struct view *rest, char sep, struct view *ret)
{
	size_t at;

	if (!rest->p || rest->len == 0)
		return false;
	at = view_find(*rest, sep);
	*ret = view_first(*rest, at);
	*rest = view_from(*rest, at + 1);
	return true;
}

uint32_t view_hash(struct view v)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < v.len; i++)
		hash = (hash ^ (unsigned char)v.p[i]) * 16777619U;
	return hash;
}

char *view_dup(struct view v)
{
	char *s = malloc(v.len + 1);

	if (!s)
		return NULL;
	if (v.len)
		memcpy(s, v.p, v.len);
	s[v.len] = '\0';
	return s;
}

int view_copy(struct view v, char *out, size_t size)
{
	if (v.len && memchr(v.p, '\0', v.len))
		return -EINVAL;
	if (v.len >= size)
		return -ENOSPC;
	if (v.len)
		memcpy(out, v.p, v.len);
	out[v.len] = '\0';
	return 0;
}

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf)BUF_INIT(max_bytes);
}

void buf_done(struct buf *b)
{
	free(b->p);
	b->p = NULL;
	b->len = 0;
	b->cap = 0;
}

void buf_wipe(struct buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	buf_done(b);
}

static int grow(struct buf *b, size_t extra)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (extra > b->max - b->len)
		return -ENOSPC;
	while (cap < b->len + extra + 1)
		cap *= 2;
	if (cap == b->cap)
		return 0;

	p = realloc(b->p, cap);
	if (!p)
		return -ENOMEM;
	b->p = p;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t len)
{
	int r = grow(b, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(b->p + b->len, p, len);
	b->len += len;
	b->p[b->len] = '\0';
	return 0;
}

int buf_add_view(struct buf *b, struct view v)
{
	return buf_add(b, v.p, v.len);
}

int buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n, r;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return -EINVAL;
	r = grow(b, (size_t)n);
	if (r < 0)
		return r;
	(void)vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vaddf(b, fmt, ap);
	va_end(ap);
	return r;
}

char *buf_reserve(struct buf *b, size_t extra)
{
	if (grow(b, extra) < 0)
		return NULL;
	return b->p + b->len;
}

void buf_commit(struct buf *b, size_t written)
{
	assert(written < b->cap - b->len);
	b->len += written;
	b->p[b->len] = '\0';
}

void buf_truncate(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	if (b->p)
		b->p[len] = '\0';
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->len - n);
	buf_truncate(b, b->len - n);
}

char *buf_take(struct buf *b)
{
	char *p = b->p;

	b->p = NULL;
	buf_done(b);
	return p;
}
