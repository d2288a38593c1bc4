/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting what is over. */
#include "base/log.h"
#include "oauth/internal.h"

enum { BATCH = 64 };

struct batch {
	struct store_family families[BATCH];
	size_t n;
};

static int collect(const struct store_family *family, void *userdata)
{
	struct batch *batch = userdata;

	batch->families[batch->n++] = *family;
	return batch->n == BATCH;
}

int oauth_end_some(struct oauth *oauth, struct store_family_query query, const char *why,
		   uint64_t *ret_ended, struct err *err)
{
	struct batch batch = { .n = 0 };

	query.limit = BATCH;
	if (store_family_each(oauth->store, &query, collect, &batch, err) < 0)
		return -1;
	for (size_t i = 0; i < batch.n; i++)
		if (oauth_end_family(oauth, &batch.families[i], why, err) < 0)
			return -1;
	*ret_ended = batch.n;
	return 0;
}

/* What is left is for the next time. */
static int end_some(struct oauth *oauth, enum store_family_filter filter, uint64_t before,
		    const char *why, struct err *err)
{
	const struct store_family_query query = { .filter = filter, .before = before };
	uint64_t ended;

	return oauth_end_some(oauth, query, why, &ended, err);
}

static int sweep_store(struct oauth *oauth, struct err *err)
{
	uint64_t now = oauth_seconds(oauth);

	if (end_some(oauth, STORE_FAMILY_ENDED, now, "it was not refreshed in time", err) < 0 ||
	    end_some(oauth, STORE_FAMILY_ASLEEP, now - OAUTH_ASLEEP_TTL_S,
		     "it was not used for too long", err) < 0 ||
	    store_access_expire(oauth->store, now, err) < 0)
		return -1;
	return store_client_expire(oauth->store, now - OAUTH_UNUSED_CLIENT_TTL_S,
				   now - OAUTH_USED_CLIENT_TTL_S, err);
}

void oauth_sweep(struct oauth *oauth)
{
	struct err err;

	decisions_sweep(oauth->decisions, oauth_now(oauth));
	replays_sweep(oauth->replays, oauth_now(oauth));
	if (sweep_store(oauth, &err) < 0)
		log_error("forget old sign-ins: %s", err.msg);
}
