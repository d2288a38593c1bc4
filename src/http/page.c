/* SPDX-License-Identifier: Apache-2.0 */
/* HTML pages. */
#include "http/page.h"

#include "base/log.h"
#include "http/html.h"

/* From the build: tools/embed-web. */
extern const struct page_asset page_assets[];
extern const size_t page_assets_count;
extern const size_t page_style; /* index of web/berth.css */
extern const char page_policy[], page_policy_scripts[];

/* "same-origin" keeps a true Origin on our own forms. */
const struct http_header page_security_headers[] = {
	{ "Content-Security-Policy", page_policy },
	{ "X-Frame-Options", "DENY" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "same-origin" },
	{ "X-Robots-Tag", "noindex" },
	{ "Cache-Control", "no-store" },
	{ NULL, NULL },
};

const struct page_asset *page_asset(const char *name)
{
	for (size_t i = 0; i < page_assets_count; i++)
		if (strcmp(page_assets[i].name, name) == 0)
			return &page_assets[i];
	return NULL;
}

/* One {{…}}: '#', '^' or '/' and a name, or a plain name. */
struct tag {
	char sigil; /* 0: plain */
	struct view name;
};

/* Cuts text up to the next tag and the tag itself off *rest; false when no tag follows. */
static bool next_tag(struct view *rest, struct view *ret_text, struct tag *ret)
{
	for (size_t i = 0; i + 1 < rest->len; i++) {
		struct view inner = view_from(*rest, i + 2);
		size_t close = 0;

		if (rest->p[i] != '{' || rest->p[i + 1] != '{')
			continue;
		while (close + 1 < inner.len &&
		       (inner.p[close] != '}' || inner.p[close + 1] != '}'))
			close++;
		if (close + 1 >= inner.len)
			break;
		*ret_text = view_first(*rest, i);
		*rest = view_from(inner, close + 2);
		inner = view_first(inner, close);
		*ret = (struct tag){ .name = inner };
		if (inner.len && strchr("#^/", inner.p[0]))
			*ret = (struct tag){ inner.p[0], view_from(inner, 1) };
		return true;
	}
	return false;
}

static const struct page_var *find_var(const struct page_var *vars, struct view name)
{
	for (; vars->name; vars++)
		if (view_is(name, vars->name))
			return vars;
	return NULL;
}

struct filler {
	struct buf *out;
	const struct page_var *vars;
	struct view open[PAGE_MAX_DEPTH]; /* names of the open sections */
	unsigned depth;
	unsigned hidden; /* how many sections from here outwards are left out; 0: visible */
};

static int open_section(struct filler *f, struct tag tag, bool is_empty, struct err *err)
{
	if (f->depth == PAGE_MAX_DEPTH)
		return err_set(err, ERR_BUG, "template: sections nested too deep at %.*s",
			       VIEW_ARG(tag.name));
	f->open[f->depth++] = tag.name;
	if (f->hidden || is_empty == (tag.sigil == '#'))
		f->hidden++;
	return 0;
}

static int close_section(struct filler *f, struct tag tag, struct err *err)
{
	if (f->depth == 0 || !view_eq(f->open[f->depth - 1], tag.name))
		return err_set(err, ERR_BUG, "template: {{/%.*s}} closes nothing",
			       VIEW_ARG(tag.name));
	f->depth--;
	if (f->hidden)
		f->hidden--;
	return 0;
}

static int put_value(struct filler *f, const struct page_var *var, struct err *err)
{
	int r;

	if (f->hidden)
		return 0;
	if (var->kind == PAGE_HTML)
		r = buf_add_view(f->out, var->value);
	else
		r = html_escape(f->out, var->value);
	return r < 0 ? err_sys(err, -r, "template: {{%s}}", var->name) : 0;
}

static int put_text(struct filler *f, struct view text, struct err *err)
{
	int r = f->hidden ? 0 : buf_add_view(f->out, text);

	return r < 0 ? err_sys(err, -r, "template") : 0;
}

static int put_tag(struct filler *f, struct tag tag, struct err *err)
{
	const struct page_var *var;

	if (tag.sigil == '/')
		return close_section(f, tag, err);
	if (view_is(tag.name, "style"))
		return put_text(f, page_assets[page_style].content, err);
	var = find_var(f->vars, tag.name);
	if (!var)
		return err_set(err, ERR_BUG, "template: no value for {{%.*s}}", VIEW_ARG(tag.name));
	if (tag.sigil)
		return open_section(f, tag, var->value.len == 0, err);
	return put_value(f, var, err);
}

static int fill(struct filler *f, struct view rest, struct err *err)
{
	struct view text;
	struct tag tag;

	while (next_tag(&rest, &text, &tag))
		if (put_text(f, text, err) < 0 || put_tag(f, tag, err) < 0)
			return -1;
	if (f->depth)
		return err_set(err, ERR_BUG, "template: {{#%.*s}} is not closed",
			       VIEW_ARG(f->open[f->depth - 1]));
	return put_text(f, rest, err);
}

int page_fill(struct buf *out, struct view template, const struct page_var *vars, struct err *err)
{
	struct filler f = { .out = out, .vars = vars };
	size_t before = out->len;

	if (fill(&f, template, err) < 0) {
		buf_truncate(out, before);
		return -1;
	}
	return 0;
}

enum { PAGE_MAX_HEADERS = 24 };

/* Only templates bring tags into a page: values are escaped. */
static bool has_script(struct view page)
{
	return memmem(page.p, page.len, "<script", strlen("<script")) != NULL;
}

/* Our headers, then the caller's. */
static void join_headers(struct http_header out[PAGE_MAX_HEADERS + 1],
			 const struct http_request *req, struct view page,
			 const struct http_header *extra)
{
	size_t n = 0;

	for (const struct http_header *h = page_security_headers; h->name; h++)
		out[n++] = *h;
	if (has_script(page))
		out[0].value = page_policy_scripts;
	/* Only over https may it be said (RFC 6797 section 7.2). */
	if (http_request_is_https(req))
		out[n++] = (struct http_header){ "Strict-Transport-Security", "max-age=31536000" };
	for (; extra && extra->name && n < PAGE_MAX_HEADERS; extra++)
		out[n++] = *extra;
	out[n] = (struct http_header){ NULL, NULL };
}

void page_reply(struct http_request *req, unsigned status, const char *name,
		const struct page_var *vars, const struct http_header *extra)
{
	auto_buf struct buf out = BUF_INIT(PAGE_MAX_BYTES);
	const struct page_asset *asset = page_asset(name);
	struct http_header headers[PAGE_MAX_HEADERS + 1];
	struct err err;

	if (!asset)
		(void)err_set(&err, ERR_BUG, "not built in");
	if (!asset || page_fill(&out, asset->content, vars, &err) < 0) {
		log_error("page %s: %s", name, err.msg);
		http_reply_text(req, 500, "The server could not make this page.");
		return;
	}
	join_headers(headers, req, buf_view(&out), extra);
	http_reply(req, status, asset->content_type, buf_view(&out), headers);
}

void page_reply_asset(struct http_request *req, const struct page_asset *asset)
{
	static const struct http_header headers[] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Cache-Control", "public, max-age=3600" },
		{ NULL, NULL },
	};

	http_reply(req, 200, asset->content_type, asset->content, headers);
}
