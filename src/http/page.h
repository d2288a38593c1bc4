/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTML pages: the files of web/ are built into the program; templates are filled here.
 *
 * In a template:
 *   {{name}}                   the value, HTML-escaped
 *   {{#name}} … {{/name}}      kept if the value is not empty, else left out; may be nested
 *   {{^name}} … {{/name}}      the opposite
 *   {{style}}                  the style sheet, web/berth.css: every page holds it, so that a page
 *                              needs nothing else to look right
 *   {{>file}}                  the file web/parts/file, put there by the build
 * A name the caller did not give is an error, so that a typo is found by the first test.
 */
#ifndef BERTH_HTTP_PAGE_H
#define BERTH_HTTP_PAGE_H

#include "base/err.h"
#include "http/http.h"

enum {
	PAGE_MAX_DEPTH = 8,          /* nested {{#…}} */
	PAGE_MAX_BYTES = 256 * 1024, /* a filled page */
};

/* A file of web/, built in. */
struct page_asset {
	const char *name; /* "error.html", "berth.css" */
	const char *content_type;
	struct view content;
};

/* NULL when there is none of that name. */
const struct page_asset *page_asset(const char *name);

enum page_kind {
	PAGE_TEXT, /* escaped */
	PAGE_HTML, /* already HTML, made by our own code: inserted as it is */
};

struct page_var {
	const char *name; /* NULL ends the list */
	struct view value;
	enum page_kind kind;
};

/* Appends the filled template. On failure `out` is unchanged. */
int page_fill(struct buf *out, struct view template, const struct page_var *vars,
	      struct err *err) MUST_CHECK;

/*
 * Answers with the asset `name` filled and the security headers of all our pages: no scripts but
 * our own files, not framed, not cached, no sniffing, no referrer to others, https for a year where
 * it was https. `extra` as in http_reply(). A template that cannot be filled is our fault: it is
 * logged and answered 500.
 */
void page_reply(struct http_request *req, unsigned status, const char *name,
		const struct page_var *vars, const struct http_header *extra);

/* Answers with a static asset (style sheet, script, icon), cacheable for an hour. */
void page_reply_asset(struct http_request *req, const struct page_asset *asset);

/* The headers page_reply() sends for a page without a script; ends with { NULL, NULL }. */
extern const struct http_header page_security_headers[];

#endif
