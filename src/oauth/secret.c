/* SPDX-License-Identifier: Apache-2.0 */
/* Random secrets, hashes, constant-time comparison (libsodium). */
#include "oauth/secret.h"

#include "base/parse.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>

void secret_hash(struct view text, uint8_t ret[SECRET_HASH_BYTES])
{
	(void)crypto_hash_sha256(ret, (const unsigned char *)text.p, text.len);
}

bool secret_equal(const void *a, const void *b, size_t len)
{
	return sodium_memcmp(a, b, len) == 0;
}

void secret_wipe(void *p, size_t len)
{
	sodium_memzero(p, len);
}

void secret_free(char *text)
{
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
}

void secret_hex(char ret[SECRET_HEX + 1])
{
	uint8_t random[SECRET_BYTES];

	randombytes_buf(random, sizeof(random));
	(void)sodium_bin2hex(ret, SECRET_HEX + 1, random, sizeof(random));
	sodium_memzero(random, sizeof(random));
}

void secret_prefixed(const char *prefix, char ret[SECRET_ACCESS_TEXT])
{
	assert(strlen(prefix) == 4);
	memcpy(ret, prefix, 4);
	secret_hex(ret + 4);
}

void secret_refresh(const uint8_t family[SECRET_FAMILY_BYTES], char ret[SECRET_REFRESH_TEXT])
{
	char id[2 * SECRET_FAMILY_BYTES + 1], secret[SECRET_HEX + 1];

	(void)sodium_bin2hex(id, sizeof(id), family, SECRET_FAMILY_BYTES);
	secret_hex(secret);
	(void)snprintf(ret, SECRET_REFRESH_TEXT, "sbr_%s_%s", id, secret);
	sodium_memzero(secret, sizeof(secret));
}

int secret_refresh_family(struct view token, uint8_t ret[SECRET_FAMILY_BYTES])
{
	struct view rest = view_from(token, 4);

	if (token.len != SECRET_REFRESH_TEXT - 1 || !view_starts(token, VIEW("sbr_")) ||
	    rest.p[(size_t)2 * SECRET_FAMILY_BYTES] != '_')
		return -EINVAL;
	return hex_decode(view_first(rest, (size_t)2 * SECRET_FAMILY_BYTES), ret,
			  SECRET_FAMILY_BYTES);
}

static bool is_base64url(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

bool secret_is_challenge(struct view challenge)
{
	if (challenge.len != SECRET_CHALLENGE)
		return false;
	for (size_t i = 0; i < challenge.len; i++)
		if (!is_base64url(challenge.p[i]))
			return false;
	return true;
}

bool secret_is_verifier(struct view verifier)
{
	if (verifier.len < 43 || verifier.len > 128)
		return false;
	for (size_t i = 0; i < verifier.len; i++)
		if (!is_base64url(verifier.p[i]) && verifier.p[i] != '.' && verifier.p[i] != '~')
			return false;
	return true;
}

bool secret_challenge_matches(const char challenge[SECRET_CHALLENGE], struct view verifier)
{
	uint8_t hash[SECRET_HASH_BYTES];
	char text[SECRET_CHALLENGE + 1];

	secret_hash(verifier, hash);
	(void)sodium_bin2base64(text, sizeof(text), hash, sizeof(hash),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return secret_equal(text, challenge, SECRET_CHALLENGE);
}
