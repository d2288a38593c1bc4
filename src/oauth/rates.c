/* SPDX-License-Identifier: Apache-2.0 */
/* How much one address prefix may do, and what it holds. */
#include "base/address.h"
#include "base/log.h"
#include "base/map.h"
#include "oauth/internal.h"

const struct oauth_limits oauth_default_limits = {
	.new_per_hour = 20,
	.held_per_prefix = 10,
	.requests_per_minute = 600,
	.pages_per_minute = 60,
	.presses_per_minute = 20,
	.tokens_per_minute = 300,
	.token_failures_per_minute = 60,
	.clients_per_hour = 30,
	.clients_per_hour_all = 600,
	.max_clients = 20000,
	.max_families = 50000,
	.proof_of_work_bits = 0,
};

enum {
	MAIL_PER_ADDRESS_A_DAY = 1,
	MAIL_PER_DOMAIN_AN_HOUR = 20,
	MAIL_PER_VISITOR_A_DAY = 2,
};

#define MINUTE (60 * USEC_PER_SEC)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

int oauth_make_rates(struct oauth *oauth, struct err *err)
{
	const struct oauth_limits *l = &oauth->limits;
	const struct {
		uint32_t burst;
		usec in;
	} rates[OAUTH_NUM_RATES] = {
		[OAUTH_RATE_DISCOVERY] = { l->requests_per_minute, MINUTE },
		[OAUTH_RATE_REGISTER] = { l->requests_per_minute, MINUTE },
		[OAUTH_RATE_REVOKE] = { l->requests_per_minute, MINUTE },
		[OAUTH_RATE_PAGE] = { l->pages_per_minute, MINUTE },
		[OAUTH_RATE_PRESS] = { l->presses_per_minute, MINUTE },
		[OAUTH_RATE_TOKEN] = { l->tokens_per_minute, MINUTE },
		[OAUTH_RATE_TOKEN_FAILURE] = { l->token_failures_per_minute, MINUTE },
		[OAUTH_RATE_NEW_CLIENT] = { l->clients_per_hour, HOUR },
		[OAUTH_RATE_NEW_CLIENT_ALL] = { l->clients_per_hour_all, HOUR },
		[OAUTH_RATE_NEW_SANDBOX] = { l->new_per_hour, HOUR },
		[OAUTH_RATE_MAIL_ADDRESS] = { MAIL_PER_ADDRESS_A_DAY, DAY },
		[OAUTH_RATE_MAIL_DOMAIN] = { MAIL_PER_DOMAIN_AN_HOUR, HOUR },
		[OAUTH_RATE_MAIL_VISITOR] = { MAIL_PER_VISITOR_A_DAY, DAY },
	};

	for (size_t i = 0; i < OAUTH_NUM_RATES; i++) {
		if (rates[i].burst == 0)
			continue;
		oauth->rates[i] = ratelimit_new(rates[i].burst, rates[i].in / rates[i].burst,
						OAUTH_MAX_BUCKETS);
		if (!oauth->rates[i])
			return err_sys(err, ENOMEM, "make the rate limits of sign-in");
	}
	return 0;
}

bool oauth_take(struct oauth *oauth, enum oauth_rate rate, struct view key, usec *ret_wait)
{
	if (!oauth->rates[rate] ||
	    ratelimit_take(oauth->rates[rate], key, oauth_now(oauth), ret_wait))
		return true;
	oauth->counts.rate_limited++;
	return false;
}

bool oauth_take_for(struct oauth *oauth, enum oauth_rate rate, const struct http_request *req,
		    usec *ret_wait)
{
	return oauth_take(oauth, rate, view_str(http_request_network(req)), ret_wait);
}

void oauth_visitor(const struct oauth *oauth, const struct http_request *req,
		   uint8_t ret[VISITOR_ID_BYTES])
{
	visitor_id(http_request_network(req), oauth->visitor_key, ret);
}

static struct store_family_query of_visitor(const uint8_t visitor[VISITOR_ID_BYTES])
{
	return (struct store_family_query){
		.filter = STORE_FAMILY_OF_VISITOR,
		.key = view_of(visitor, VISITOR_ID_BYTES),
		.limit = OAUTH_MAX_VISITOR_ROWS,
	};
}

static int add_principal(const struct store_family *family, void *userdata)
{
	struct map *principals = userdata;
	void *old;

	return map_put(principals, view_str(family->principal), principals, &old) < 0;
}

struct held {
	const struct map *principals;
	const char *asking;
	uint32_t n;
};

static void count_held(void *userdata, const char *principal, bool is_place)
{
	struct held *h = userdata;
	bool is_asked_for = is_place && h->asking && strcmp(h->asking, principal) == 0;

	if (!is_asked_for && map_get(h->principals, view_str(principal)))
		h->n++;
}

/* The visitor's principals first, then one walk over what is held: this runs at each call of
 * somebody without a slot. */
uint32_t oauth_slots_held(struct oauth *oauth, const uint8_t visitor[VISITOR_ID_BYTES],
			  const char *asking)
{
	const struct store_family_query query = of_visitor(visitor);
	const struct oauth_callbacks *c = &oauth->callbacks;
	CLEANUP(map_cleanup) struct map *principals = map_new();
	struct held h = { .principals = principals, .asking = asking };
	struct err err;

	if (!c->each_held || !principals)
		return 0;
	if (store_family_each(oauth->store, &query, add_principal, principals, &err) < 0)
		log_error("count a visitor's slots: %s", err.msg);
	c->each_held(count_held, &h, c->userdata);
	return h.n;
}

struct crowd {
	const struct oauth *oauth;
	uint64_t made_before;
	uint32_t n;
	bool has_victim;
	struct store_family victim;
};

struct search {
	const char *principal;
	bool found;
};

static void look_for_principal(void *userdata, const char *principal, bool is_place)
{
	struct search *s = userdata;

	(void)is_place;
	s->found |= strcmp(s->principal, principal) == 0;
}

static bool holds_something(const struct oauth *oauth, const char *principal)
{
	const struct oauth_callbacks *c = &oauth->callbacks;
	struct search s = { .principal = principal };

	if (c->each_held)
		c->each_held(look_for_principal, &s, c->userdata);
	return s.found;
}

/* Those that are missed least come first. */
static int look_at_crowd(const struct store_family *family, void *userdata)
{
	struct crowd *crowd = userdata;

	crowd->n++;
	if (!crowd->has_victim && family->created < crowd->made_before &&
	    !holds_something(crowd->oauth, family->principal)) {
		crowd->has_victim = true;
		crowd->victim = *family;
	}
	return 0;
}

int oauth_make_room_for_visitor(struct oauth *oauth, const uint8_t visitor[VISITOR_ID_BYTES],
				struct err *err)
{
	const struct store_family_query query = of_visitor(visitor);
	struct crowd crowd = { .oauth = oauth,
			       .made_before = oauth_seconds(oauth) - OAUTH_EVICTABLE_AGE_S };

	if (oauth->limits.held_per_prefix == 0)
		return 0;
	if (store_family_each(oauth->store, &query, look_at_crowd, &crowd, err) < 0)
		return -1;
	if (crowd.n < OAUTH_MAX_VISITOR_ROWS)
		return 0;
	if (!crowd.has_victim)
		return err_set(err, ERR_FULL, "%u sign-ins of one network are alive", crowd.n);
	return oauth_end_family(oauth, &crowd.victim, "its network has many newer ones", err);
}

bool oauth_may_hold(struct oauth *oauth, const char *principal)
{
	struct store_family family;
	struct err err;

	if (oauth->limits.held_per_prefix == 0 ||
	    store_family_by_principal(oauth->store, view_str(principal), &family, &err) != 1)
		return true;
	return oauth_slots_held(oauth, family.visitor, principal) < oauth->limits.held_per_prefix;
}

bool oauth_may_mail(struct oauth *oauth, const struct http_request *req, struct view address)
{
	uint8_t whole[VISITOR_ID_BYTES], domain[VISITOR_ID_BYTES];
	char text[ADDRESS_MAX + 1];

	address_mailbox(address, text);
	visitor_id(text, oauth->visitor_key, whole);
	visitor_id(strchr(text, '@'), oauth->visitor_key, domain);
	secret_wipe(text, sizeof(text));
	return oauth_take_for(oauth, OAUTH_RATE_MAIL_VISITOR, req, NULL) &&
	       oauth_take(oauth, OAUTH_RATE_MAIL_ADDRESS, view_of(whole, sizeof(whole)), NULL) &&
	       oauth_take(oauth, OAUTH_RATE_MAIL_DOMAIN, view_of(domain, sizeof(domain)), NULL);
}
