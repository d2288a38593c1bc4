/* SPDX-License-Identifier: Apache-2.0 */
/* Proof of work. */
#include "oauth/work.h"

#include "oauth/request.h"

enum { MAX_NUMBER = 20 };

static uint32_t leading_zero_bits(const uint8_t hash[SECRET_HASH_BYTES])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < SECRET_HASH_BYTES; i++) {
		if (hash[i])
			return bits + (uint32_t)__builtin_clz(hash[i]) - 24;
		bits += 8;
	}
	return bits;
}

bool work_is_done(struct view sealed, struct view number, uint32_t bits)
{
	auto_buf struct buf text = BUF_INIT(REQUEST_MAX_SEALED + MAX_NUMBER + 1);
	uint8_t hash[SECRET_HASH_BYTES];

	if (bits == 0)
		return true;
	if (number.len == 0 || number.len > MAX_NUMBER)
		return false;
	if (buf_addf(&text, "%.*s.%.*s", VIEW_ARG(sealed), VIEW_ARG(number)) < 0)
		return false;
	secret_hash(buf_view(&text), hash);
	return leading_zero_bits(hash) >= bits;
}
