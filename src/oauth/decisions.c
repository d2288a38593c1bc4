/* SPDX-License-Identifier: Apache-2.0 */
/* Presses and codes in memory. */
#include "oauth/decisions.h"

#include "base/map.h"

struct decisions {
	struct map *by_identity, *by_code;
	struct list by_age; /* the first press first */
};

static struct view key_of(const uint8_t hash[SECRET_HASH_BYTES])
{
	return view_of(hash, SECRET_HASH_BYTES);
}

struct decisions *decisions_new(void)
{
	struct decisions *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	list_init(&d->by_age);
	d->by_identity = map_new();
	d->by_code = map_new();
	if (!d->by_identity || !d->by_code) {
		decisions_free(d);
		return NULL;
	}
	return d;
}

static void forget_location(struct decision *decision)
{
	secret_free(decision->location);
	decision->location = NULL;
}

static void forget(struct decisions *d, struct decision *decision)
{
	(void)map_remove(d->by_identity, key_of(decision->identity));
	(void)map_remove(d->by_code, key_of(decision->code));
	list_remove(&decision->by_age);
	forget_location(decision);
	free(decision->redirect_uri);
	free(decision);
}

void decisions_free(struct decisions *d)
{
	struct list *it, *tmp;

	if (!d)
		return;
	list_each(it, tmp, &d->by_age) forget(d, container_of(it, struct decision, by_age));
	map_free(d->by_identity);
	map_free(d->by_code);
	free(d);
}

size_t decisions_count(const struct decisions *d)
{
	return map_count(d->by_identity);
}

static void end(struct decision *decision, enum decision_state state, usec now)
{
	decision->state = state;
	decision->ended = now;
	forget_location(decision);
}

static bool is_over(const struct decision *decision, usec now)
{
	return decision->state != DECISION_OPEN &&
	       now - decision->ended >= OAUTH_TOMBSTONE_TTL_S * USEC_PER_SEC;
}

bool decision_is_fresh(const struct decision *decision, usec now)
{
	return decision->state == DECISION_OPEN &&
	       now - decision->handed < OAUTH_CODE_TTL_S * USEC_PER_SEC;
}

/* Neither exchanged nor pressed again in time. */
static void age(struct decision *decision, usec now)
{
	if (decision->state == DECISION_OPEN && !decision_is_fresh(decision, now) &&
	    now - decision->pressed >= OAUTH_PRESS_TTL_S * USEC_PER_SEC)
		end(decision, DECISION_SPENT, now);
}

/* The oldest that is no open code, if one must go early. */
static struct decision *expendable(struct decisions *d)
{
	struct list *it, *tmp;

	list_each(it, tmp, &d->by_age)
	{
		struct decision *decision = container_of(it, struct decision, by_age);

		if (decision->state != DECISION_OPEN)
			return decision;
	}
	return NULL;
}

static int make_room(struct decisions *d, usec now)
{
	struct decision *victim;

	if (decisions_count(d) < OAUTH_MAX_DECISIONS)
		return 0;
	decisions_sweep(d, now);
	if (decisions_count(d) < OAUTH_MAX_DECISIONS)
		return 0;
	victim = expendable(d);
	if (!victim)
		return -ENOSPC;
	forget(d, victim);
	return 0;
}

static int index_decision(struct decisions *d, struct decision *decision)
{
	void *old = NULL;

	/* An older one of the same request is over, or the caller would have used it. */
	if (map_get(d->by_identity, key_of(decision->identity)))
		forget(d, map_get(d->by_identity, key_of(decision->identity)));
	if (map_put(d->by_identity, key_of(decision->identity), decision, &old) < 0)
		return -ENOMEM;
	if (map_put(d->by_code, key_of(decision->code), decision, &old) < 0) {
		(void)map_remove(d->by_identity, key_of(decision->identity));
		return -ENOMEM;
	}
	list_add_tail(&d->by_age, &decision->by_age);
	return 0;
}

struct decision *decisions_add(struct decisions *d, const struct request *request,
			       const uint8_t code[SECRET_HASH_BYTES], const char *location,
			       usec now)
{
	struct decision *decision;

	if (make_room(d, now) < 0)
		return NULL;
	decision = calloc(1, sizeof(*decision));
	if (!decision)
		return NULL;
	list_init(&decision->by_age);
	request_identity(request, decision->identity);
	memcpy(decision->code, code, sizeof(decision->code));
	memcpy(decision->client, request->client, sizeof(decision->client));
	memcpy(decision->challenge, request->challenge, sizeof(decision->challenge));
	decision->offline = request->offline;
	decision->pressed = decision->handed = now;
	decision->redirect_uri = view_dup(view_str(request->redirect_uri));
	decision->location = view_dup(view_str(location));
	if (!decision->redirect_uri || !decision->location || index_decision(d, decision) < 0) {
		forget_location(decision);
		free(decision->redirect_uri);
		free(decision);
		return NULL;
	}
	return decision;
}

static struct decision *find(struct decisions *d, struct map *map, const uint8_t *hash, usec now)
{
	struct decision *decision = map_get(map, key_of(hash));

	if (!decision)
		return NULL;
	age(decision, now);
	if (is_over(decision, now)) {
		forget(d, decision);
		return NULL;
	}
	return decision;
}

struct decision *decisions_by_identity(struct decisions *d,
				       const uint8_t identity[SECRET_HASH_BYTES], usec now)
{
	return find(d, d->by_identity, identity, now);
}

struct decision *decisions_by_code(struct decisions *d, const uint8_t code[SECRET_HASH_BYTES],
				   usec now)
{
	return find(d, d->by_code, code, now);
}

void decision_redeem(struct decision *decision, const uint8_t family[STORE_FAMILY_ID_BYTES],
		     usec now)
{
	memcpy(decision->family, family, sizeof(decision->family));
	end(decision, DECISION_REDEEMED, now);
}

void decision_fail(struct decision *decision, usec now)
{
	if (++decision->failures >= OAUTH_MAX_VERIFIER_FAILURES)
		end(decision, DECISION_SPENT, now);
}

void decisions_end_all(struct decisions *d, usec now)
{
	struct list *it, *tmp;

	list_each(it, tmp, &d->by_age)
	{
		struct decision *decision = container_of(it, struct decision, by_age);

		if (decision->state == DECISION_OPEN)
			end(decision, DECISION_SPENT, now);
	}
}

void decisions_sweep(struct decisions *d, usec now)
{
	struct list *it, *tmp;

	list_each(it, tmp, &d->by_age)
	{
		struct decision *decision = container_of(it, struct decision, by_age);

		age(decision, now);
		if (is_over(decision, now))
			forget(d, decision);
	}
}
