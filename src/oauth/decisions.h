/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presses of the button that are remembered, with their authorization codes: in memory only, at
 * most OAUTH_MAX_DECISIONS of them.
 *
 * OPEN: the code may be exchanged while it is fresh, and a second press gets the same answer for a
 * while. REDEEMED: exchanged; a second exchange is a replay. SPENT: neither happened in time, or
 * the verifier was wrong too often; kept so that the old page does not start again.
 */
#ifndef BERTH_OAUTH_DECISIONS_H
#define BERTH_OAUTH_DECISIONS_H

#include "base/list.h"
#include "oauth/limits.h"
#include "oauth/request.h"
#include "oauth/visitor.h"
#include "store/families.h"

enum decision_state { DECISION_OPEN, DECISION_REDEEMED, DECISION_SPENT };

struct decision {
	enum decision_state state;
	uint8_t identity[SECRET_HASH_BYTES]; /* request_identity() */
	uint8_t code[SECRET_HASH_BYTES];     /* hash of the code */
	uint8_t client[SECRET_HASH_BYTES];
	uint8_t visitor[VISITOR_ID_BYTES];
	uint8_t family[STORE_FAMILY_ID_BYTES]; /* REDEEMED */
	char principal[STORE_PRINCIPAL_BYTES];
	char challenge[SECRET_CHALLENGE + 1];
	bool offline;
	char *redirect_uri; /* owned */
	char *location;     /* owned, holds the code; NULL unless OPEN */
	usec pressed, handed, ended;
	unsigned failures;
	struct list by_age;
};

struct decisions;

/* NULL when out of memory. */
struct decisions *decisions_new(void) MUST_CHECK;
void decisions_free(struct decisions *d);
size_t decisions_count(const struct decisions *d);

/*
 * Remembers a press. `location` and `redirect_uri` are copied. NULL when out of memory, or when
 * every place is taken by one that still matters.
 */
struct decision *decisions_add(struct decisions *d, const struct request *request,
			       const uint8_t code[SECRET_HASH_BYTES], const char *location,
			       usec now) MUST_CHECK;

/* By request_identity(), or by the code's hash; NULL when unknown. States are brought up to date.
 */
struct decision *decisions_by_identity(struct decisions *d,
				       const uint8_t identity[SECRET_HASH_BYTES], usec now);
struct decision *decisions_by_code(struct decisions *d, const uint8_t code[SECRET_HASH_BYTES],
				   usec now);

/* May the code be exchanged at `now`? */
bool decision_is_fresh(const struct decision *decision, usec now);

void decision_redeem(struct decision *decision, const uint8_t family[STORE_FAMILY_ID_BYTES],
		     usec now);
/* Counts a wrong verifier; the last one allowed ends the code. */
void decision_fail(struct decision *decision, usec now);

/* No code that is out may be exchanged any more. */
void decisions_end_all(struct decisions *d, usec now);

/* Forgets what is over. */
void decisions_sweep(struct decisions *d, usec now);

#endif
