/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the machine endpoints: JSON, never cached, readable by scripts of any origin. */
#ifndef BERTH_OAUTH_REPLY_H
#define BERTH_OAUTH_REPLY_H

#include "http/cors.h"
#include "sys/clock.h"

/* Registration, tokens, revocation. */
extern const struct cors_policy reply_post_policy;
/* Discovery. */
extern const struct cors_policy reply_get_policy;
/* The protected resource, as far as it is answered here. */
extern const struct cors_policy reply_resource_policy;

/* `extra` (may be NULL) ends with { NULL, NULL }; at most 4. */
void reply_json(struct http_request *req, unsigned status, const struct cors_policy *policy,
		struct view body, const struct http_header *extra);

/* The same without a body. */
void reply_empty(struct http_request *req, unsigned status, const struct cors_policy *policy);

/* {"error": …, "error_description": …}. The description is made printable ASCII without quotes,
 * since clients look for parameters in it with loose patterns. */
void reply_error(struct http_request *req, unsigned status, const struct cors_policy *policy,
		 const char *error, const char *description, const struct http_header *extra);

/* 429 with Retry-After: clients keep their tokens and try again, which they do not after a 5xx. */
void reply_slow_down(struct http_request *req, const struct cors_policy *policy, usec wait,
		     const char *description);

/*
 * For the operator who looks for the reason why a client does not get through: at level debug, one
 * line a refusal, with the network and nothing that was sent.
 */
void reply_note(const struct http_request *req, unsigned status, const char *what);

/* Whole seconds, at least 1, for Retry-After. */
uint64_t reply_retry_seconds(usec wait);

#endif
