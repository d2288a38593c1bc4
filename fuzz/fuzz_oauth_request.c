/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of /authorize, through both phases, sealed and opened again; and the same bytes as a
 * sealed form.
 */
#include "oauth/request.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_seal(const struct request *request)
{
	static const uint8_t key[REQUEST_KEY_BYTES] = { 1 };
	auto_buf struct buf sealed = BUF_INIT(REQUEST_MAX_SEALED);
	struct request opened;
	struct err err;

	assert(request_seal(request, key, &sealed, &err) == 0);
	assert(request_open(buf_view(&sealed), key, &opened) == 0);
	assert(strcmp(opened.state, request->state) == 0);
	assert(strcmp(opened.redirect_uri, request->redirect_uri) == 0);
	assert(opened.has_state == request->has_state && opened.offline == request->offline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[REQUEST_KEY_BYTES] = { 2 };
	auto_url_form struct url_form form = { .n = 0 };
	struct request request = { .shown = 1 }, opened;
	const char *error = NULL;
	struct err err;

	assert(request_open(view_of(data, size), key, &opened) < 0);
	if (size > OAUTH_MAX_QUERY || url_form_parse(&form, view_of(data, size)) < 0)
		return 0;
	(void)request_has_duplicate(&form);
	if (request_check_redirect(&form, "https://a/cb\nhttp://127.0.0.1/cb", &request) < 0)
		return 0;
	if (request_check(&form, "https://host", &request, &error, &err) < 0) {
		assert(error);
		return 0;
	}
	check_seal(&request);
	return 0;
}
