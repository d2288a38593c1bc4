/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes and forms: what was decoded and is encoded again decodes to the same. */
#include "http/url.h"

#include "base/utf8.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(struct view in)
{
	auto_buf struct buf plain = BUF_INIT(1 << 20), encoded = BUF_INIT(1 << 22),
			    again = BUF_INIT(1 << 20);

	if (url_decode(&plain, in) < 0) {
		assert(plain.len == 0);
		return;
	}
	assert(url_encode(&encoded, buf_view(&plain)) == 0);
	assert(url_decode(&again, buf_view(&encoded)) == 0);
	assert(view_eq(buf_view(&plain), buf_view(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = view_of(data, size);
	struct url_form form = { 0 };

	if (size > 1 << 16)
		return 0;
	check_round_trip(in);
	if (url_form_parse(&form, in) == 0) {
		assert(form.n <= URL_MAX_PAIRS);
		for (size_t i = 0; i < form.n; i++)
			assert(utf8_valid(form.pairs[i].name) && utf8_valid(form.pairs[i].value));
		(void)url_form_has_duplicate(&form, NULL);
	}
	url_form_done(&form);
	return 0;
}
