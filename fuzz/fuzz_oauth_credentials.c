/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization and Cookie headers, refresh tokens, verifiers, e-mail addresses. */
#include "base/address.h"
#include "oauth/media.h"
#include "oauth/secret.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = view_of(data, size), token;
	uint8_t family[SECRET_FAMILY_BYTES];
	char user[MEDIA_BASIC_ID_BYTES];

	if (media_bearer(text, &token) == 0)
		assert(token.len > 0 && token.len <= 512);
	if (media_basic_user(text, user) == 0)
		assert(strlen(user) < sizeof(user));
	(void)media_cookie(text, "berth");
	(void)secret_refresh_family(text, family);
	(void)secret_is_challenge(text);
	if (secret_is_verifier(text))
		assert(!secret_challenge_matches("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
						 text) ||
		       text.len == 43);
	if (address_is_valid(text))
		assert(text.len <= ADDRESS_MAX && view_find(text, '@') < text.len);
	return 0;
}
