/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redirect URIs of clients: which are acceptable, which match a registered one, and the Location
 * that brings an answer back. Pure.
 *
 * https: any host, compared byte by byte. http: loopback hosts only, and there the port is ignored
 * (RFC 8252 7.3). Other schemes: by shape, minus those that do something by themselves.
 */
#ifndef BERTH_OAUTH_REDIRECT_H
#define BERTH_OAUTH_REDIRECT_H

#include "base/buf.h"

enum redirect_kind {
	REDIRECT_WEB,      /* https */
	REDIRECT_LOOPBACK, /* http to this computer */
	REDIRECT_APP,      /* a scheme that an app handles */
};

struct redirect {
	enum redirect_kind kind;
	struct view scheme; /* as sent */
	struct view host;   /* WEB, LOOPBACK: without port */
	struct view tail;   /* after host and port */
};

/* -EINVAL when a client may not have it. The views point into `uri`. */
int redirect_parse(struct view uri, struct redirect *ret) MUST_CHECK;

/* Is `asked` the registered one? Both must be acceptable. */
bool redirect_matches(struct view registered, struct view asked);

/* Appends it without the port of a loopback address: equal for URIs that match each other. */
int redirect_canonical(struct buf *out, struct view uri) MUST_CHECK;

/* A parameter of the answer; a NULL value is left out. */
struct redirect_param {
	const char *name; /* NULL ends the list */
	struct view value;
};

/* Appends `uri` with the parameters, percent-encoded, added to its query. */
int redirect_location(struct buf *out, struct view uri,
		      const struct redirect_param *params) MUST_CHECK;

#endif
