/* SPDX-License-Identifier: Apache-2.0 */
/* Signed links: making and checking. */
#include "links/internal.h"

#include "base/parse.h"
#include "http/page.h"
#include "http/url.h"
#include "sys/io.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { SIGNATURE_CHARS = 43 }; /* 32 bytes in base64url without padding */

static const char *const prefix[] = {
	[LINK_DOWNLOAD] = "/dl/",
	[LINK_UPLOAD] = "/up/",
	[LINK_MAIL] = "/mail/",
};
/* An upload's folder is one segment, so that a file name can follow it. */
static const char folder_root[] = "workspace";

void link_done(struct link *link)
{
	buf_done(&link->path);
}

/* Each part with its NUL or length, so that no two links have the same text to sign. */
static void sign(const struct links *links, enum link_purpose purpose, uint64_t expiry,
		 const char *key, struct view path, char out[SIGNATURE_CHARS + 1])
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;
	char head[128];
	int n = snprintf(head, sizeof(head), "berth-link-1%c%s%llu%c%s", '\0', prefix[purpose],
			 (unsigned long long)expiry, '\0', key);

	(void)crypto_auth_hmacsha256_init(&state, links->config.key, LINKS_KEY_BYTES);
	(void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)head, (size_t)n + 1);
	(void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)path.p, path.len);
	(void)crypto_auth_hmacsha256_final(&state, mac);
	(void)sodium_bin2base64(out, SIGNATURE_CHARS + 1, mac, sizeof(mac),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static int add_head(const struct links *links, enum link_purpose purpose, const char *key,
		    struct view path, struct buf *url, uint64_t *ret_expiry)
{
	const struct links_config *c = &links->config;
	uint64_t expiry =
		clock_wall_seconds(c->clock) + (purpose == LINK_MAIL ? c->mail_ttl_s : c->ttl_s);
	char signature[SIGNATURE_CHARS + 1];
	int r;

	sign(links, purpose, expiry, key, path, signature);
	r = buf_addf(url, "%s%s%llu/%s/%s/", c->public_url, prefix[purpose],
		     (unsigned long long)expiry, signature, key);
	if (r == 0)
		*ret_expiry = expiry;
	return r;
}

int links_download(const struct links *links, const char *sandbox_key, struct view path,
		   struct buf *url, uint64_t *ret_expiry)
{
	int r = add_head(links, LINK_DOWNLOAD, sandbox_key, path, url, ret_expiry);

	return r == 0 ? url_encode_path(url, path) : r;
}

int links_upload(const struct links *links, const char *sandbox_key, struct view folder,
		 struct buf *url, uint64_t *ret_expiry)
{
	int r = add_head(links, LINK_UPLOAD, sandbox_key, folder, url, ret_expiry);

	if (r == 0)
		r = buf_add_str(url, folder_root);
	if (r == 0 && folder.len) {
		r = buf_add_str(url, "%2F");
		if (r == 0)
			r = url_encode(url, folder);
	}
	return r == 0 ? buf_add_char(url, '/') : r;
}

int links_mail(const struct links *links, const char *principal, struct buf *url,
	       uint64_t *ret_expiry)
{
	return add_head(links, LINK_MAIL, principal, VIEW(""), url, ret_expiry);
}

enum links_mail links_mail_state(const struct links *links, const char *principal)
{
	const struct links_config *c = &links->config;

	return c->mail_state ? c->mail_state(c->userdata, principal) : LINKS_MAIL_NONE;
}

/* ---- checking ---- */

static int no_such_link(struct err *err)
{
	return err_set(err, ERR_NOT_FOUND,
		       "This link is not valid. Ask in your chat for a new one.");
}

static int decode_path(enum link_purpose purpose, struct view *rest, struct link *link)
{
	struct view encoded = *rest, folder;

	if (purpose == LINK_MAIL)
		return encoded.len ? -EINVAL : 0;
	if (purpose == LINK_DOWNLOAD) {
		*rest = VIEW("");
		return url_decode(&link->path, encoded);
	}
	if (!view_split(rest, '/', &encoded) || url_decode(&link->path, encoded) < 0)
		return -EINVAL;
	folder = buf_view(&link->path);
	if (view_is(folder, folder_root)) {
		buf_truncate(&link->path, 0);
		return 0;
	}
	if (!view_starts(folder, VIEW("workspace/")))
		return -EINVAL;
	buf_consume(&link->path, sizeof("workspace/") - 1);
	return 0;
}

/* Everything but the signature. */
static int take_apart(enum link_purpose purpose, struct view target, struct link *link,
		      struct view *ret_signature)
{
	struct view rest = view_from(target, strlen(prefix[purpose])), expiry, key;

	if (!view_split(&rest, '/', &expiry) || !view_split(&rest, '/', ret_signature) ||
	    !view_split(&rest, '/', &key))
		return -EINVAL;
	if (parse_u64(expiry, 1, INT64_MAX, &link->expiry) < 0 ||
	    view_copy(key, link->key, sizeof(link->key)) < 0 ||
	    ret_signature->len != SIGNATURE_CHARS)
		return -EINVAL;
	if (decode_path(purpose, &rest, link) < 0 ||
	    (link->path.len && memchr(link->path.p, '\0', link->path.len)))
		return -EINVAL;
	link->rest = rest;
	return 0;
}

int link_parse(const struct links *links, enum link_purpose purpose, struct view target,
	       struct link *ret, struct err *err)
{
	struct link link = { .path = BUF_INIT(KEEPER_MAX_PATH) };
	char expected[SIGNATURE_CHARS + 1];
	struct view signature;

	if (take_apart(purpose, target, &link, &signature) < 0) {
		link_done(&link);
		return no_such_link(err);
	}
	sign(links, purpose, link.expiry, link.key, buf_view(&link.path), expected);
	if (sodium_memcmp(signature.p, expected, SIGNATURE_CHARS) != 0) {
		link_done(&link);
		return no_such_link(err);
	}
	/* Only a link that was ours once is told that it has expired. */
	if (clock_wall_seconds(links->config.clock) >= link.expiry) {
		link_done(&link);
		return err_set(err, ERR_GONE,
			       "This link has expired. Ask in your chat for a new one.");
	}
	*ret = link;
	return 0;
}

/* A browser, which shows a page to a person; programs get a line of text. */
static bool wants_page(const struct http_request *req)
{
	struct view accept = http_request_header(req, "Accept");

	return accept.len && memmem(accept.p, accept.len, "text/html", strlen("text/html"));
}

static void refuse_page(struct http_request *req, unsigned status, const char *message,
			const struct http_header *extra)
{
	const struct page_var vars[] = {
		{ .name = "title",
		  .value = view_str(status == 410   ? "This link has expired"
				    : status == 404 ? "There is nothing here"
						    : "That did not work") },
		{ .name = "message", .value = view_str(message) },
		{ .name = "hint" },
		{ .name = NULL },
	};

	page_reply(req, status, "error.html", vars, extra);
}

void link_explain(struct err *err)
{
	if (err->code == ERR_NOT_FOUND || err->code == ERR_GONE)
		(void)err_set(err, ERR_NOT_FOUND,
			      "The sandbox of this link is gone, and its files with it.");
	else if (err->code != ERR_BUSY)
		(void)err_set(err, ERR_BUSY,
			      "The sandbox of this link cannot be reached just now. Try again.");
}

void link_refuse(struct http_request *req, const struct err *err)
{
	/* A page brings the others itself. */
	const struct http_header retry[] = {
		{ err->code == ERR_BUSY ? "Retry-After" : NULL, LINK_RETRY_SECONDS },
		{ NULL, NULL },
	};
	const struct http_header headers[] = { { "Cache-Control", "no-store" },
					       { "Referrer-Policy", "no-referrer" },
					       { "X-Content-Type-Options", "nosniff" },
					       retry[0],
					       { NULL, NULL } };
	static const unsigned status[ERR_NUM_CODES] = {
		[ERR_INVALID] = 400, [ERR_DENIED] = 403, [ERR_NOT_FOUND] = 404, [ERR_EXISTS] = 409,
		[ERR_BUSY] = 503,    [ERR_FULL] = 413,   [ERR_TIMEOUT] = 504,   [ERR_GONE] = 410,
		[ERR_SYSTEM] = 500,  [ERR_BUG] = 500,
	};
	auto_buf struct buf text = BUF_INIT(1024);
	unsigned code = status[err->code] ? status[err->code] : 500;

	if (wants_page(req)) {
		refuse_page(req, code, err_public(err), retry);
		return;
	}
	if (buf_addf(&text, "%s\n", err_public(err)) < 0)
		buf_truncate(&text, 0);
	http_reply(req, code, "text/plain; charset=utf-8", buf_view(&text), headers);
}

/* ---- life ---- */

int links_new(const struct links_config *config, struct links **ret, struct err *err)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return err_sys(err, ENOMEM, "make the links");
	links->config = *config;
	if (downloads_add_routes(links, err) < 0 || uploads_add_routes(links, err) < 0 ||
	    mail_page_add_routes(links, err) < 0) {
		links_free(links);
		return -1;
	}
	*ret = links;
	return 0;
}

void links_free(struct links *links)
{
	if (!links)
		return;
	sodium_memzero(links->config.key, sizeof(links->config.key));
	free(links);
}

int links_load_key(const char *path, struct view text, uint8_t ret[LINKS_KEY_BYTES],
		   struct err *err)
{
	auto_buf struct buf file = BUF_INIT(LINKS_KEY_BYTES);
	int r;

	if (text.len) {
		(void)crypto_hash_sha256(ret, (const unsigned char *)text.p, text.len);
		return 0;
	}
	r = io_read_file(AT_FDCWD, path, &file);
	if (r == 0 && file.len == LINKS_KEY_BYTES) {
		memcpy(ret, file.p, LINKS_KEY_BYTES);
		sodium_memzero(file.p, file.len);
		return 0;
	}
	if (r != -ENOENT)
		return err_set(
			err, ERR_INVALID,
			"%s is not a signing key of %d bytes: remove it, and a new one is made "
			"(links given out before end with it)",
			path, (int)LINKS_KEY_BYTES);
	randombytes_buf(ret, LINKS_KEY_BYTES);
	r = io_write_file(AT_FDCWD, path, view_of(ret, LINKS_KEY_BYTES), 0600);
	return r < 0 ? err_sys(err, -r, "write %s", path) : 0;
}
