/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed links: files out of a workspace, files into one, and an e-mail address from somebody who
 * waits in the queue.
 *
 *   /dl/<expiry>/<signature>/<key>/<path>       GET, HEAD: the file
 *   /up/<expiry>/<signature>/<key>/<folder>/    GET: a page; POST: its form; PUT <folder>/<name>
 *   /mail/<expiry>/<signature>/<principal>/     GET: a page; POST: its form
 *
 * Expiry is seconds since 1970; the signature is HMAC-SHA-256 over purpose, expiry, sandbox key (or
 * principal) and the path's bytes, base64url (RFC 4648 5). Whoever has a link may use it until it
 * expires; it survives restarts, and works while no container runs.
 */
#ifndef BERTH_LINKS_LINKS_H
#define BERTH_LINKS_LINKS_H

#include "http/http.h"
#include "sandbox/sandbox.h"

enum { LINKS_KEY_BYTES = 32, LINKS_MAX_URL = 3 * KEEPER_MAX_PATH + 1024 };

struct links;

/* What a principal can do about an e-mail address. */
enum links_mail {
	LINKS_MAIL_NONE,    /* no mail is sent from here */
	LINKS_MAIL_OFFERED, /* it waits, and may leave one */
	LINKS_MAIL_LEFT,    /* it waits, and has left one; another replaces it */
	LINKS_MAIL_CLOSED,  /* it waits, but as many as may be are kept or sent already */
	LINKS_MAIL_NO_WAIT, /* it is not in the queue (any more) */
};

struct links_config {
	sd_event *event;
	struct http_server *http;
	struct sandboxes *sandboxes;
	const struct clock *clock; /* borrowed, as the ones above */
	const char *public_url;    /* borrowed; no trailing slash */
	uint8_t key[LINKS_KEY_BYTES];
	uint32_t ttl_s;
	uint64_t upload_max; /* bytes of one file; 0: no limit but the quota */
	uint64_t quota;      /* of a workspace, told on the upload page */

	uint32_t mail_ttl_s; /* as long as a place in the queue is kept without any call */
	enum links_mail (*mail_state)(void *userdata, const char *principal); /* NULL: no mail */
	/* A valid address for a principal that waits. What becomes of it is not told. */
	void (*mail_leave)(void *userdata, const struct http_request *req, const char *principal,
			   struct view address);
	void *userdata;
};

/* Adds the routes. The config is copied. */
int links_new(const struct links_config *config, struct links **ret, struct err *err) MUST_CHECK;
void links_free(struct links *links);

/*
 * Appends a link to `path` (bytes, relative to the workspace) of the sandbox. *ret_expiry is until
 * when it is valid. As buf_add().
 */
int links_download(const struct links *links, const char *sandbox_key, struct view path,
		   struct buf *url, uint64_t *ret_expiry) MUST_CHECK;
/* The same for the upload page of a folder ("" is the workspace). */
int links_upload(const struct links *links, const char *sandbox_key, struct view folder,
		 struct buf *url, uint64_t *ret_expiry) MUST_CHECK;

/* Whether to offer the principal a link to leave an address. */
enum links_mail links_mail_state(const struct links *links, const char *principal);
/* That link. As links_download(). */
int links_mail(const struct links *links, const char *principal, struct buf *url,
	       uint64_t *ret_expiry) MUST_CHECK;

/*
 * The signing key: in the file, made (0600) if it is not there; or derived from `text` if that is
 * not empty (the variable MCP_SIGN_KEY of an earlier installation).
 */
int links_load_key(const char *path, struct view text, uint8_t ret[LINKS_KEY_BYTES],
		   struct err *err) MUST_CHECK;

#endif
