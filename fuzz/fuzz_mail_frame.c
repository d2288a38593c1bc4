/* SPDX-License-Identifier: Apache-2.0 */
/* berth-mail's input: what passes the check makes a message whose headers are exactly ours. */
#include "mail/frame.h"
#include "mail/message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const struct mail_frame *frame)
{
	auto_buf struct buf out = BUF_INIT(MAIL_MAX_MESSAGE);
	struct view rest, line;
	unsigned headers = 0;

	assert(mail_message(frame, 1700000000, "id", &out) == 0);
	rest = buf_view(&out);
	while (view_split(&rest, '\n', &line) && !view_is(line, "\r")) {
		assert(view_ends(line, VIEW("\r")));
		assert(view_find(line, '\r') == line.len - 1);
		headers++;
	}
	assert(headers == 8);
	while (view_split(&rest, '\n', &line)) {
		assert(view_ends(line, VIEW("\r")));
		assert(line.p[0] != '.');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char bytes[MAIL_MAX_FRAME];
	struct mail_frame frame;
	struct err err;
	ssize_t n;

	if (mail_frame_read(view_of(data, size), &frame) < 0)
		return 0;
	n = mail_frame_write(&frame, bytes, sizeof(bytes));
	assert(n == (ssize_t)size && memcmp(bytes, data, size) == 0);
	(void)mail_relay_is_local(frame.relay);
	if (mail_frame_check(&frame, &err) == 0)
		check_message(&frame);
	return 0;
}
