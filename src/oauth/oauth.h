/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use the server: anonymous sign-in (an OAuth 2.1 authorization server of one button),
 * static bearer tokens, or nobody in particular.
 *
 * A press of the button makes a token family with a fresh random sandbox key; the hash of that key
 * is the principal. Nothing about the visitor is kept but a keyed hash of the address prefix, whose
 * key lives in memory only. Clients and the hashes of tokens are in the store; authorization codes
 * and e-mail addresses are in bounded memory and never on disk; the page before the press is no
 * state at all: its parameters travel sealed in the form.
 *
 * Single-threaded, on the loop thread; nothing here waits.
 */
#ifndef BERTH_OAUTH_OAUTH_H
#define BERTH_OAUTH_OAUTH_H

#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"
#include "store/store.h"
#include "sys/clock.h"

enum {
	OAUTH_MODE_NONE = 1 << 0,    /* a request without credentials is the principal "local" */
	OAUTH_MODE_TOKEN = 1 << 1,   /* static bearer tokens */
	OAUTH_MODE_SIGN_IN = 1 << 2, /* the authorization server */
};

enum oauth_reuse {
	OAUTH_REUSE_REVOKE, /* a refresh token used again later ends the sign-in (OAuth 2.1) */
	OAUTH_REUSE_DENY,   /* it is only refused */
};

/* Rates are per address prefix (IPv4 /24, IPv6 /48) unless they say "all". 0 switches one off. */
struct oauth_limits {
	uint32_t new_per_hour;        /* new sandboxes */
	uint32_t held_per_prefix;     /* slots, and places in the queue, at once */
	uint32_t requests_per_minute; /* discovery, registration and revocation, each */
	uint32_t pages_per_minute;
	uint32_t presses_per_minute;
	uint32_t tokens_per_minute; /* hosted clients share addresses: generous */
	uint32_t token_failures_per_minute;
	uint32_t clients_per_hour; /* new registrations; known ones are free */
	uint32_t clients_per_hour_all;
	uint32_t max_clients;
	uint32_t max_families;       /* sign-ins alive */
	uint32_t proof_of_work_bits; /* 0: off, else at most 24; needs JavaScript */
};
/* For a public demo. */
extern const struct oauth_limits oauth_default_limits;

typedef void oauth_held_fn(void *userdata, const char *principal, bool is_place);

/* What sign-in asks of the application. Each may be NULL. */
struct oauth_callbacks {
	/* Calls fn for each slot that a principal has, and for each place in the queue. Without it
	 * no prefix ever holds any. */
	void (*each_held)(oauth_held_fn *fn, void *fn_userdata, void *userdata);
	/* Should the page offer the e-mail field: mail is set up and the pool is (nearly) full? */
	bool (*mail_wanted)(void *userdata);
	/*
	 * The visitor left an address (checked, at most 254 bytes) for this new principal. Keep it
	 * in memory only. The page says the same whatever becomes of it.
	 */
	void (*mail_leave)(struct view address, const char *principal, void *userdata);
	/* The sign-in is over (expired or revoked): its sandbox belongs to nobody any more. */
	void (*ended)(const char *principal, void *userdata);
	void *userdata;
};

struct oauth_config {
	sd_event *event;
	struct http_server *http;
	struct store *store;       /* borrowed; outlives the object */
	const struct clock *clock; /* borrowed; outlives the object */
	unsigned modes;            /* OAUTH_MODE_…, at least one */
	const char *public_url;    /* "https://host" without path or trailing slash; copied */
	bool may_use_labels;       /* principals may have several sandboxes */
	enum oauth_reuse reuse;
	/* Shown on the page: after how long an unused sandbox ends, and whether its files stay. */
	uint32_t idle_s;
	bool keeps_files;
	struct oauth_limits limits;
	struct oauth_callbacks callbacks;
};

struct oauth;

/*
 * Adds the routes of sign-in (if that mode is on) to `http`. ERR_INVALID for a public_url that
 * cannot be an issuer. `http` must not serve requests after oauth_free().
 */
int oauth_new(const struct oauth_config *config, struct oauth **ret, struct err *err) MUST_CHECK;
void oauth_free(struct oauth *oauth);
DEFINE_CLEANUP(oauth)

/* ---- whose request it is ---- */

struct oauth_principal {
	char id[72]; /* "guest-…", "owner-…" or "local"; never secret */
	bool may_use_labels;
};

/*
 * For POST /mcp, before its method and body are looked at. Returns 0 and fills *ret, or -1 after
 * having replied (401 with the challenge, 400, 429).
 */
int oauth_authenticate(struct oauth *oauth, struct http_request *req,
		       struct oauth_principal *ret) MUST_CHECK;

/*
 * May the principal take one more slot or place in the queue, as far as its address prefix is
 * concerned? To be asked before one is given to a principal that holds none. True for principals
 * that are no guests, and when in doubt.
 */
bool oauth_may_hold(struct oauth *oauth, const char *principal);

/*
 * May this visitor leave this (valid) e-mail address, as far as the limits of address, domain and
 * visitor are concerned? Counts it. For pages other than sign-in's own; the visitor must not learn
 * the answer.
 */
bool oauth_may_mail(struct oauth *oauth, const struct http_request *req, struct view address);

/* ---- for the operator ---- */

/* Forgets what is over; runs by itself every minute. */
void oauth_sweep(struct oauth *oauth);

struct oauth_counts {
	uint64_t clients, families; /* rows */
	uint64_t codes;             /* presses remembered */
	/* Since the start: */
	uint64_t registrations, registrations_known, pages, presses, presses_refused;
	uint64_t sign_ins, refreshes, replays, reuses, revocations;
	uint64_t rate_limited, challenges;
};
void oauth_count(struct oauth *oauth, struct oauth_counts *ret);

/* Appends the OAUTH_MAX_LISTED last used clients as a JSON array (for `berth clients`). */
int oauth_list_clients(struct oauth *oauth, struct buf *out, struct err *err) MUST_CHECK;

enum oauth_revoke_what {
	OAUTH_REVOKE_PRINCIPAL, /* one sign-in, by its principal */
	/* A client and its sign-ins, by the id that oauth_list_clients() and the log show. */
	OAUTH_REVOKE_CLIENT,
	OAUTH_REVOKE_ALL, /* all sign-ins; clients stay known */
};
/* Ends sign-ins at once and tells how many. ERR_NOT_FOUND. `key` is NULL for ALL. */
int oauth_revoke(struct oauth *oauth, enum oauth_revoke_what what, const char *key,
		 uint64_t *ret_ended, struct err *err) MUST_CHECK;

enum { OAUTH_TOKEN_TEXT_BYTES = 4 + 64 + 1 };

/*
 * Makes a static bearer token and writes it to `ret`: the only time that it is seen. `name` and
 * `owner` are 1..32 of [a-z0-9-]; the owner is the principal. ERR_INVALID, ERR_EXISTS, ERR_FULL.
 */
int oauth_token_create(struct oauth *oauth, const char *name, const char *owner,
		       char ret[OAUTH_TOKEN_TEXT_BYTES], struct err *err) MUST_CHECK;
/* Takes a token that was made elsewhere: 32..256 of [A-Za-z0-9-._~+/=]. */
int oauth_token_import(struct oauth *oauth, const char *name, const char *owner, struct view token,
		       struct err *err) MUST_CHECK;
/* ERR_NOT_FOUND. */
int oauth_token_remove(struct oauth *oauth, const char *name, struct err *err) MUST_CHECK;
/* Appends the tokens, without their secrets, as a JSON array. */
int oauth_token_list(struct oauth *oauth, struct buf *out, struct err *err) MUST_CHECK;

#endif
