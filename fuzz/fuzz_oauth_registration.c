/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a registration: what is accepted has a name to show and an id of the right shape. */
#include "base/utf8.h"
#include "oauth/redirect.h"
#include "oauth/registration.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_registration struct registration reg = { .document = NULL };
	char id[REGISTRATION_ID_TEXT];
	struct redirect r;
	const char *error = NULL;
	struct err err;

	if (size > OAUTH_MAX_REGISTRATION)
		return 0;
	if (registration_parse(view_of(data, size), &reg, &error, &err) < 0) {
		assert(error && err.code == ERR_INVALID);
		return 0;
	}
	assert(reg.name[0] && utf8_valid(view_str(reg.name)));
	assert(reg.n_redirects >= 1 && reg.n_redirects <= OAUTH_MAX_REDIRECTS);
	for (size_t i = 0; i < reg.n_redirects; i++)
		assert(redirect_parse(reg.redirects[i], &r) == 0);
	assert(registration_id(&reg, "https://host", id, &err) == 0);
	assert(registration_is_id(view_str(id)));
	return 0;
}
