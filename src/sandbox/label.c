/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and keys. */
#include "sandbox/label.h"

#include <sodium.h>
#include <stdio.h>

enum { LABEL_DIGITS = 6 };
_Static_assert(SANDBOX_MAX_LABEL + 1 + LABEL_DIGITS + 1 <= SANDBOX_MAX_KEY, "a key does not fit");

int sandbox_label_normalise(struct view label, char out[SANDBOX_MAX_LABEL + 1], struct err *err)
{
	char slug[SANDBOX_MAX_LABEL + 1];
	size_t len = 0;
	bool gap = false;

	for (size_t i = 0; i < label.len; i++) {
		char c = label.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) {
			gap = len > 0;
			continue;
		}
		if (len + (gap ? 2 : 1) > SANDBOX_MAX_LABEL)
			return err_set(err, ERR_INVALID,
				       "the sandbox label is too long: use a short one such as "
				       "amber-otter (at most %d characters)",
				       (int)SANDBOX_MAX_LABEL);
		if (gap)
			slug[len++] = '-';
		gap = false;
		slug[len++] = c;
	}
	if (len == 0)
		return err_set(err, ERR_INVALID,
			       "the sandbox label has no letter or digit: use a short one such as "
			       "amber-otter");
	slug[len] = '\0';
	memcpy(out, slug, len + 1);
	return 0;
}

void sandbox_key_make(const char *principal, const char *label, uint32_t attempt,
		      char out[SANDBOX_MAX_KEY])
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	/* With the NULs, so that no two pairs run together. */
	(void)crypto_hash_sha256_init(&state);
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)principal,
					strlen(principal) + 1);
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)label, strlen(label) + 1);
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)&attempt, sizeof(attempt));
	(void)crypto_hash_sha256_final(&state, hash);
	if (label[0])
		(void)snprintf(out, SANDBOX_MAX_KEY, "%s-%02x%02x%02x", label, hash[0], hash[1],
			       hash[2]);
	else
		(void)snprintf(out, SANDBOX_MAX_KEY, "sandbox-%02x%02x%02x%02x%02x%02x", hash[0],
			       hash[1], hash[2], hash[3], hash[4], hash[5]);
}

void sandbox_key_label(const char *key, char out[SANDBOX_MAX_LABEL + 1])
{
	const char *dash = strrchr(key, '-');
	size_t len = dash && strlen(dash) == 1 + LABEL_DIGITS ? (size_t)(dash - key) : 0;

	if (len > SANDBOX_MAX_LABEL)
		len = 0;
	memcpy(out, key, len);
	out[len] = '\0';
}
