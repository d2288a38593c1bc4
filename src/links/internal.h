/* SPDX-License-Identifier: Apache-2.0 */
/* What downloads, uploads and the page for an address share. */
#ifndef BERTH_LINKS_INTERNAL_H
#define BERTH_LINKS_INTERNAL_H

#include "links/links.h"

struct links {
	struct links_config config;
};

enum link_purpose { LINK_DOWNLOAD, LINK_UPLOAD, LINK_MAIL };

enum { LINK_MAX_KEY = 72 };     /* a sandbox's key, or a principal, with NUL */
#define LINK_RETRY_SECONDS "10" /* after what is only busy */

/* A link taken apart and checked. */
struct link {
	uint64_t expiry;
	char key[LINK_MAX_KEY];
	struct buf path;  /* decoded bytes: the path, or the folder; owned */
	struct view rest; /* uploads: what follows the folder, still encoded; borrowed from the
			     target */
};
void link_done(struct link *link);
#define auto_link CLEANUP(link_done)

/*
 * Takes `target` (a request's path) apart. ERR_NOT_FOUND for anything but a link with a right
 * signature, ERR_GONE for one that has expired.
 */
int link_parse(const struct links *links, enum link_purpose purpose, struct view target,
	       struct link *ret, struct err *err) MUST_CHECK;

/* Makes of why the sandbox of a link cannot be had what is told to who followed the link. */
void link_explain(struct err *err);

/* Answers with a short page in words: 404, 410, 503 with Retry-After, … by the error. */
void link_refuse(struct http_request *req, const struct err *err);

int downloads_add_routes(struct links *links, struct err *err) MUST_CHECK;
int uploads_add_routes(struct links *links, struct err *err) MUST_CHECK;
int mail_page_add_routes(struct links *links, struct err *err) MUST_CHECK;

#endif
