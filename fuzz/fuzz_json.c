/* SPDX-License-Identifier: Apache-2.0 */
/* JSON from outside: what parses prints on one line and parses again to the same value. */
#include "json/json.h"

#include "base/utf8.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_getters(const json_t *value)
{
	struct err err;
	struct view text;
	uint32_t number;
	bool flag;

	(void)!json_get_string(value, "a", &text, &err);
	(void)!json_get_u32(value, "a", 1, 900, &number, &err);
	(void)!json_get_bool(value, "a", &flag, &err);
}

static void check_string(struct view bytes)
{
	auto_buf struct buf out = BUF_INIT(1 << 20);
	struct err err;

	assert(json_add_string(&out, bytes) == 0);
	assert(utf8_valid(buf_view(&out)));

	auto_json json_t *direct = json_parse(buf_view(&out), &err);
	auto_json json_t *tree = json_text(bytes);
	assert(direct && tree && json_equal(direct, tree));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = view_of(data, size);
	auto_buf struct buf out = BUF_INIT(1 << 20);
	struct err err;

	if (size > 1 << 16)
		return 0;
	check_string(text);

	auto_json json_t *value = json_parse_allow_nul(text, &err);
	if (!value)
		return 0;
	check_getters(value);
	if (json_print(&out, value, &err) < 0)
		return 0;
	assert(!memchr(out.p, '\n', out.len));

	auto_json json_t *again = json_parse_allow_nul(buf_view(&out), &err);
	assert(again && json_equal(value, again));
	return 0;
}
