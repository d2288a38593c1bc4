/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A form as a client sends it: the first byte says in which pieces it comes, the first line is the
 * Content-Type. Cutting it may change nothing.
 */
#include "links/multipart.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT = 1 << 14 };

/* All that came out, in order; parts of data run together. */
static void run(struct view type, struct view body, size_t piece, struct buf *out)
{
	struct view data = VIEW_INIT("");
	size_t begin = 0, end = 0, taken;
	enum multipart_event event = MULTIPART_MORE;
	struct multipart m;

	if (multipart_init(&m, type) < 0) {
		multipart_done(&m);
		return;
	}
	while (event != MULTIPART_BAD && event != MULTIPART_END) {
		event = multipart_next(&m, view_of(body.p + begin, end - begin), &taken, &data);
		assert(taken <= end - begin);
		begin += taken;
		if (event == MULTIPART_MORE && end == body.len)
			break;
		if (event == MULTIPART_MORE)
			end = body.len - end < piece ? body.len : end + piece;
		else if (event == MULTIPART_PART)
			assert(buf_addf(out, "<%s|%s>", m.field, m.file) == 0);
		else if (event == MULTIPART_DATA)
			assert(data.len && buf_add_view(out, data) == 0);
		else
			assert(buf_addf(out, "<%d>", (int)event) == 0);
	}
	multipart_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf whole = BUF_INIT(8 * MAX_INPUT), cut = BUF_INIT(8 * MAX_INPUT);
	struct view rest, type;

	if (size < 2 || size > MAX_INPUT)
		return 0;
	rest = view_of(data + 1, size - 1);
	if (!view_split(&rest, '\n', &type))
		return 0;
	run(type, rest, rest.len + 1, &whole);
	run(type, rest, 1U + data[0], &cut);
	assert(view_eq(buf_view(&whole), buf_view(&cut)));
	return 0;
}
