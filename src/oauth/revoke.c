/* SPDX-License-Identifier: Apache-2.0 */
/* POST /revoke (RFC 7009): a refresh token ends the sign-in, an access token only itself. */
#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/reply.h"

static bool is_of(const struct store_family *family, const uint8_t hash[SECRET_HASH_BYTES])
{
	bool found =
		secret_equal(family->current, hash, SECRET_HASH_BYTES) ||
		(family->has_previous && secret_equal(family->previous, hash, SECRET_HASH_BYTES));

	for (uint32_t i = 0; !found && i < family->n_retired; i++)
		found = secret_equal(family->retired[i], hash, SECRET_HASH_BYTES);
	return found;
}

static int revoke_refresh(struct oauth *oauth, const uint8_t id[STORE_FAMILY_ID_BYTES],
			  const uint8_t hash[SECRET_HASH_BYTES],
			  const uint8_t client[SECRET_HASH_BYTES], struct err *err)
{
	struct store_family family;
	int r = store_family_get(oauth->store, id, &family, err);

	if (r != 1)
		return r;
	if (!secret_equal(family.client, client, SECRET_HASH_BYTES) || !is_of(&family, hash))
		return 0;
	return oauth_end_family(oauth, &family, "its app revoked it", err);
}

static int revoke_access(struct oauth *oauth, const uint8_t hash[SECRET_HASH_BYTES],
			 const uint8_t client[SECRET_HASH_BYTES], struct err *err)
{
	struct store_access access;
	int r = store_access_get(oauth->store, hash, &access, err);

	if (r != 1)
		return r;
	if (!secret_equal(access.client, client, SECRET_HASH_BYTES))
		return 0;
	return store_access_remove(oauth->store, hash, err);
}

void oauth_post_revoke(struct oauth *oauth, struct http_request *req)
{
	auto_url_form struct url_form form = { .n = 0 };
	uint8_t client[SECRET_HASH_BYTES], hash[SECRET_HASH_BYTES], id[STORE_FAMILY_ID_BYTES];
	struct view token;
	struct err err;
	int r;

	if (oauth_read_caller(oauth, req, &form, client) < 0)
		return;
	token = url_form_get(&form, "token");
	if (token.len == 0) {
		oauth_refuse(oauth, req, "invalid_request", "token is missing.");
		return;
	}
	secret_hash(token, hash);
	if (secret_refresh_family(token, id) == 0)
		r = revoke_refresh(oauth, id, hash, client, &err);
	else
		r = revoke_access(oauth, hash, client, &err);
	if (r < 0) {
		log_error("revoke: %s", err.msg);
		reply_slow_down(req, &reply_post_policy, 5 * USEC_PER_SEC,
				"The server is in trouble. Try again.");
		return;
	}
	/* The same whether there was anything to revoke: a token is no more valid either way. */
	reply_empty(req, 200, &reply_post_policy);
}
