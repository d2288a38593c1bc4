/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random secrets as text, their hashes, and comparisons that take the same time whatever differs.
 * Every secret has 256 bits from the kernel, so a plain SHA-256 is enough to store it.
 */
#ifndef BERTH_OAUTH_SECRET_H
#define BERTH_OAUTH_SECRET_H

#include "base/buf.h"

enum {
	SECRET_BYTES = 32,
	SECRET_HEX = 2 * SECRET_BYTES,
	SECRET_HASH_BYTES = 32,
	SECRET_FAMILY_BYTES = 16,
	SECRET_ACCESS_TEXT = 4 + SECRET_HEX + 1,                                /* "sba_…" */
	SECRET_REFRESH_TEXT = 4 + 2 * SECRET_FAMILY_BYTES + 1 + SECRET_HEX + 1, /* "sbr_…_…" */
	SECRET_CHALLENGE = 43, /* base64url of a SHA-256, unpadded */
};

void secret_hash(struct view text, uint8_t ret[SECRET_HASH_BYTES]);
bool secret_equal(const void *a, const void *b, size_t len);
/* Overwrites; never optimised away. */
void secret_wipe(void *p, size_t len);
/* Wipes a string and frees it; NULL allowed. */
void secret_free(char *text);

/* 64 hex digits and a NUL. */
void secret_hex(char ret[SECRET_HEX + 1]);
/* `prefix` (4 bytes) and 64 hex digits: access tokens and static tokens. */
void secret_prefixed(const char *prefix, char ret[SECRET_ACCESS_TEXT]);
void secret_refresh(const uint8_t family[SECRET_FAMILY_BYTES], char ret[SECRET_REFRESH_TEXT]);
/* The family that a refresh token names. -EINVAL if it is not shaped like one. */
int secret_refresh_family(struct view token, uint8_t ret[SECRET_FAMILY_BYTES]);

/* RFC 7636: 43 characters of base64url. */
bool secret_is_challenge(struct view challenge);
/* RFC 7636: 43..128 unreserved characters. */
bool secret_is_verifier(struct view verifier);
/* S256 of a well-formed verifier, in constant time. */
bool secret_challenge_matches(const char challenge[SECRET_CHALLENGE], struct view verifier);

#endif
