/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share. A function named oauth_<verb>_<endpoint> answers a request.
 */
#ifndef BERTH_OAUTH_INTERNAL_H
#define BERTH_OAUTH_INTERNAL_H

#include "http/cors.h"
#include "http/ratelimit.h"
#include "oauth/decisions.h"
#include "oauth/oauth.h"
#include "oauth/replays.h"
#include "oauth/visitor.h"
#include "store/bearers.h"
#include "store/families.h"

enum oauth_rate {
	OAUTH_RATE_DISCOVERY,
	OAUTH_RATE_REGISTER,
	OAUTH_RATE_REVOKE,
	OAUTH_RATE_PAGE,
	OAUTH_RATE_PRESS,
	OAUTH_RATE_TOKEN,
	OAUTH_RATE_TOKEN_FAILURE,
	OAUTH_RATE_NEW_CLIENT,
	OAUTH_RATE_NEW_CLIENT_ALL,
	OAUTH_RATE_NEW_SANDBOX,
	OAUTH_RATE_MAIL_ADDRESS,
	OAUTH_RATE_MAIL_DOMAIN,
	OAUTH_RATE_MAIL_VISITOR,
	OAUTH_NUM_RATES,
};

struct oauth;

struct oauth_endpoint {
	const char *path;
	enum http_match match;
	unsigned methods; /* others get 405 */
	const char *allow;
	enum oauth_rate rate;
	const struct cors_policy *cors; /* NULL: a page for people */
	size_t max_body;
	void (*answer)(struct oauth *oauth, struct http_request *req);
};

/* Userdata of a route. */
struct oauth_route {
	struct oauth *oauth;
	const struct oauth_endpoint *endpoint;
};

struct oauth {
	struct store *store;
	const struct clock *clock;
	unsigned modes;
	enum oauth_reuse reuse;
	bool may_use_labels;
	uint32_t idle_s;
	bool keeps_files;
	struct oauth_limits limits;
	struct oauth_callbacks callbacks;

	char *issuer;            /* "https://host" */
	bool is_secure;          /* the issuer is https */
	char *resource_metadata; /* JSON */
	char *server_metadata;   /* JSON */

	/* Of this process only. */
	uint8_t form_key[REQUEST_KEY_BYTES];
	uint8_t visitor_key[VISITOR_KEY_BYTES];

	struct decisions *decisions;
	struct replays *replays;
	struct ratelimit *rates[OAUTH_NUM_RATES]; /* NULL: no limit */
	struct oauth_route *routes;
	sd_event_source *sweep_timer;
	struct oauth_counts counts;
};

static inline usec oauth_now(const struct oauth *oauth)
{
	return clock_monotonic(oauth->clock);
}

static inline uint64_t oauth_seconds(const struct oauth *oauth)
{
	return clock_wall_seconds(oauth->clock);
}

/* ---- routes.c ---- */

int oauth_add_routes(struct oauth *oauth, struct http_server *http, struct err *err) MUST_CHECK;

/* ---- rates.c ---- */

int oauth_make_rates(struct oauth *oauth, struct err *err) MUST_CHECK;
/* True when the limit is off or not reached; else *ret_wait is how long to wait. */
bool oauth_take(struct oauth *oauth, enum oauth_rate rate, struct view key, usec *ret_wait);
/* The same for the prefix of the request's address. */
bool oauth_take_for(struct oauth *oauth, enum oauth_rate rate, const struct http_request *req,
		    usec *ret_wait);
void oauth_visitor(const struct oauth *oauth, const struct http_request *req,
		   uint8_t ret[VISITOR_ID_BYTES]);
/*
 * How many slots this visitor's principals hold or wait for. What `asking` (may be NULL) waits for
 * is what it asks for, and is not counted.
 */
uint32_t oauth_slots_held(struct oauth *oauth, const uint8_t visitor[VISITOR_ID_BYTES],
			  const char *asking);

/*
 * Before one more sign-in of this visitor: if it has OAUTH_MAX_VISITOR_ROWS, one goes that holds
 * nothing and is older than OAUTH_EVICTABLE_AGE_S; one that was never used, or else the one that
 * was not used for the longest time. ERR_FULL if there is none.
 */
int oauth_make_room_for_visitor(struct oauth *oauth, const uint8_t visitor[VISITOR_ID_BYTES],
				struct err *err) MUST_CHECK;

/* ---- metadata.c ---- */

int oauth_make_metadata(struct oauth *oauth, struct err *err) MUST_CHECK;
void oauth_get_resource_metadata(struct oauth *oauth, struct http_request *req);
void oauth_get_server_metadata(struct oauth *oauth, struct http_request *req);
void oauth_get_no_metadata(struct oauth *oauth, struct http_request *req);

/* ---- admin.c ---- */

enum { OAUTH_SHORT_ID_TEXT = 2 * 6 + 1 };
/* The first bytes of a client's hash, in hex: names it in `berth clients` and in the log. */
void oauth_short_id(const uint8_t client[STORE_HASH_BYTES], char ret[OAUTH_SHORT_ID_TEXT]);

/* ---- the endpoints, a file each ---- */

void oauth_post_register(struct oauth *oauth, struct http_request *req);
void oauth_get_authorize(struct oauth *oauth, struct http_request *req);
void oauth_post_authorize(struct oauth *oauth, struct http_request *req);
void oauth_post_token(struct oauth *oauth, struct http_request *req);
void oauth_post_revoke(struct oauth *oauth, struct http_request *req);

/* ---- caller.c: who calls /token and /revoke ---- */

/* Parses the form and finds the client. -1 after having replied. */
int oauth_read_caller(struct oauth *oauth, struct http_request *req, struct url_form *form,
		      uint8_t ret_client[SECRET_HASH_BYTES]) MUST_CHECK;
/* Refuses a token request; too many of them turn into 429. */
void oauth_refuse(struct oauth *oauth, struct http_request *req, const char *error,
		  const char *description);

/* ---- issue.c: families and their tokens ---- */

/* The first pair for a press; the decision is redeemed when it is stored. */
int oauth_issue(struct oauth *oauth, struct decision *decision, struct token_pair *ret,
		struct err *err) MUST_CHECK;
/* Stores `family` as it is after a rotation, with the new access token. `drop` is the family as it
 * was if the access tokens of its generation end, or NULL. */
int oauth_store_rotation(struct oauth *oauth, const struct store_family *family,
			 const struct store_family *drop, const char *access,
			 struct err *err) MUST_CHECK;
void oauth_reply_tokens(struct http_request *req, const struct token_pair *pair, bool offline,
			uint64_t expires_in);
/* The sign-in is over: removes it and tells the application. `why` is for the log. */
int oauth_end_family(struct oauth *oauth, const struct store_family *family, const char *why,
		     struct err *err) MUST_CHECK;
/*
 * Ends the first few that the query finds and tells how many: the store must not change while it is
 * read, so whoever wants all of them calls until it is 0.
 */
int oauth_end_some(struct oauth *oauth, struct store_family_query query, const char *why,
		   uint64_t *ret_ended, struct err *err) MUST_CHECK;
/* Makes room for one more sign-in. ERR_FULL. */
int oauth_make_room(struct oauth *oauth, struct err *err) MUST_CHECK;
/* The client was used; coarse, failures are only logged. */
void oauth_touch_client(struct oauth *oauth, const uint8_t client[SECRET_HASH_BYTES]);

/* ---- refresh.c ---- */

void oauth_grant_refresh(struct oauth *oauth, struct http_request *req, const struct url_form *form,
			 const uint8_t client[SECRET_HASH_BYTES]);

#endif
