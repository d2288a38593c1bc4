/* SPDX-License-Identifier: Apache-2.0 */
/* Families: made, rotated, ended. What is answered is on disk before it is answered. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/reply.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

static void hash_text(const char *text, uint8_t ret[SECRET_HASH_BYTES])
{
	secret_hash(view_str(text), ret);
}

/* Runs `write` in one transaction. */
static int store_pair(struct oauth *oauth, const struct store_family *family,
		      int (*write)(struct store *, const struct store_family *, struct err *),
		      const char *access, struct err *err)
{
	uint64_t expires = oauth_seconds(oauth) + OAUTH_ACCESS_TTL_S;
	uint8_t hash[SECRET_HASH_BYTES];

	hash_text(access, hash);
	if (write(oauth->store, family, err) < 0)
		return -1;
	return store_access_add(oauth->store, family, hash, expires, err);
}

static void describe_family(struct oauth *oauth, const struct decision *decision,
			    const struct token_pair *pair, struct store_family *ret)
{
	uint64_t now = oauth_seconds(oauth);

	*ret = (struct store_family){
		.offline = decision->offline,
		.created = now,
		.rotated = now,
		.expires = now + OAUTH_REFRESH_TTL_S,
		.generation = 1,
	};
	memcpy(ret->client, decision->client, sizeof(ret->client));
	memcpy(ret->visitor, decision->visitor, sizeof(ret->visitor));
	memcpy(ret->principal, decision->principal, sizeof(ret->principal));
	hash_text(pair->refresh, ret->current);
}

static int store_issued(struct oauth *oauth, const struct store_family *family, const char *access,
			struct err *err)
{
	if (store_begin(oauth->store, err) < 0)
		return -1;
	if (store_pair(oauth, family, store_family_add, access, err) < 0 ||
	    store_client_touch(oauth->store, family->client, family->created, err) < 0) {
		store_rollback(oauth->store);
		return -1;
	}
	return store_commit(oauth->store, err);
}

int oauth_issue(struct oauth *oauth, struct decision *decision, struct token_pair *ret,
		struct err *err)
{
	uint8_t id[STORE_FAMILY_ID_BYTES];
	struct store_family family;
	struct token_pair pair;

	randombytes_buf(id, sizeof(id));
	secret_prefixed("sba_", pair.access);
	secret_refresh(id, pair.refresh);
	describe_family(oauth, decision, &pair, &family);
	memcpy(family.id, id, sizeof(id));
	if (store_issued(oauth, &family, pair.access, err) < 0)
		return err_wrap(err, "store a sign-in");
	decision_redeem(decision, id, oauth_now(oauth));
	*ret = pair;
	secret_wipe(&pair, sizeof(pair));
	return 0;
}

int oauth_store_rotation(struct oauth *oauth, const struct store_family *family,
			 const struct store_family *drop, const char *access, struct err *err)
{
	if (store_begin(oauth->store, err) < 0)
		return -1;
	if ((drop && store_access_remove_generation(oauth->store, drop, err) < 0) ||
	    store_pair(oauth, family, store_family_save, access, err) < 0) {
		store_rollback(oauth->store);
		return -1;
	}
	return store_commit(oauth->store, err);
}

void oauth_reply_tokens(struct http_request *req, const struct token_pair *pair, bool offline,
			uint64_t expires_in)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":%" PRIu64
		       ",\"refresh_token\":\"%s\",\"scope\":\"%s\"}",
		       pair->access, expires_in, pair->refresh,
		       offline ? "sandbox offline_access" : "sandbox");
	reply_json(req, 200, &reply_post_policy, view_str(body), NULL);
	secret_wipe(body, sizeof(body));
}

int oauth_end_family(struct oauth *oauth, const struct store_family *family, const char *why,
		     struct err *err)
{
	const struct oauth_callbacks *c = &oauth->callbacks;

	if (store_family_remove(oauth->store, family->id, err) < 0)
		return err_wrap(err, "end a sign-in");
	oauth->counts.revocations++;
	log_info("sign-in of %s ended: %s", family->principal, why);
	if (c->ended)
		c->ended(family->principal, c->userdata);
	return 0;
}

static int pick(const struct store_family *family, void *userdata)
{
	*(struct store_family *)userdata = *family;
	return 1;
}

int oauth_make_room(struct oauth *oauth, struct err *err)
{
	/* Sign-ins that never led to a call make room for new ones, but not the fresh ones. */
	const struct store_family_query query = {
		.filter = STORE_FAMILY_UNUSED,
		.before = oauth_seconds(oauth) - OAUTH_EVICTABLE_AGE_S,
		.limit = 1,
	};
	struct store_family victim;
	uint64_t count = 0;
	int r;

	if (store_family_count(oauth->store, &count, err) < 0)
		return -1;
	if (count < oauth->limits.max_families)
		return 0;
	r = store_family_each(oauth->store, &query, pick, &victim, err);
	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(err, ERR_FULL, "%" PRIu64 " sign-ins are alive", count);
	return oauth_end_family(oauth, &victim, "it was never used, and room was needed", err);
}

void oauth_touch_client(struct oauth *oauth, const uint8_t client[SECRET_HASH_BYTES])
{
	auto_store_client struct store_client row = { .redirect_uris = NULL };
	uint64_t now = oauth_seconds(oauth);
	struct err err;
	int r = store_client_get(oauth->store, client, &row, &err);

	if (r == 1 && row.last_used + OAUTH_TOUCH_S <= now)
		r = store_client_touch(oauth->store, client, now, &err);
	if (r < 0)
		log_warning("note the use of a client: %s", err.msg);
}
