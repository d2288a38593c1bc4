/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's messages: what decodes encodes to the same bytes again. */
#include "wire/keeper.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view message = view_of(data, size);
	auto_buf struct buf out = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct keeper_request request;
	struct keeper_reply reply;
	uint64_t id;

	if (keeper_request_decode(message, &id, &request) == 0) {
		assert(keeper_request_encode(&out, id, &request) == 0);
		assert(view_eq(buf_view(&out), message));
	} else if (keeper_reply_decode(message, &id, &reply) == 0) {
		assert(keeper_reply_encode(&out, id, &reply) == 0);
		assert(view_eq(buf_view(&out), message));
	}
	return 0;
}
