/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every bound and lifetime of sign-in, in one place. Those an operator may want to change are in
 * struct oauth_limits (oauth.h), with the values of oauth_default_limits.
 */
#ifndef BERTH_OAUTH_LIMITS_H
#define BERTH_OAUTH_LIMITS_H

enum {
	/* Bytes of what clients send. */
	OAUTH_MAX_QUERY = 8 * 1024,
	OAUTH_MAX_FORM = 8 * 1024,
	OAUTH_MAX_REGISTRATION = 16 * 1024,
	/* What the HTTP layer reads before this layer can answer 413 in JSON. */
	OAUTH_MAX_BODY = 64 * 1024,
	OAUTH_MAX_REDIRECT = 1024,
	OAUTH_MAX_REDIRECTS = 10,
	OAUTH_MAX_STATE = 2048,
	OAUTH_MAX_SCOPE = 1000,
	OAUTH_MAX_NAME = 100,
	OAUTH_MAX_BEARER = 512,

	/* Rows and entries. */
	OAUTH_MAX_DECISIONS = 4096,   /* presses whose code, or its tombstone, is remembered */
	OAUTH_MAX_REPLAYS = 4096,     /* refresh answers that may be asked for again */
	OAUTH_MAX_BUCKETS = 16384,    /* address prefixes under a rate limit */
	OAUTH_MAX_VISITOR_ROWS = 512, /* sign-ins of one prefix; all are looked at for its slots */

	OAUTH_MAX_LISTED = 500, /* clients in one list; with the longest redirect URIs they
				 * fit the 8 MiB of an answer */

	/* Seconds. */
	OAUTH_PAGE_TTL_S = 600, /* from showing the page to the press */
	OAUTH_COOKIE_TTL_S = 900,
	OAUTH_CODE_TTL_S = 60,       /* from handing the code to the browser; a second press hands
				      * it out again */
	OAUTH_PRESS_TTL_S = 120,     /* a second press gets the same answer */
	OAUTH_TOMBSTONE_TTL_S = 600, /* a second use of a code is recognised */
	OAUTH_ACCESS_TTL_S = 3600,
	OAUTH_REFRESH_TTL_S = 30 * 86400,
	OAUTH_REPLAY_TTL_S = 120,        /* the same refresh token gets the same answer */
	OAUTH_ASLEEP_TTL_S = 90 * 86400, /* sign-ins that only refresh and never call */
	OAUTH_UNUSED_CLIENT_TTL_S = 7 * 86400,
	OAUTH_USED_CLIENT_TTL_S = 90 * 86400,
	OAUTH_EVICTABLE_AGE_S = 3600, /* clients and sign-ins younger than this never make room */
	OAUTH_TOUCH_S = 3600,         /* how coarse "last used" is */
	OAUTH_SWEEP_S = 60,

	OAUTH_MAX_VERIFIER_FAILURES = 5,
	OAUTH_MAX_LOST_ANSWERS = 3,
};

#endif
