/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's bytes and back: whatever the encoding, the body is found in the file by offset, and what
 * replaces a span with itself changes nothing.
 */
#include "keeper/glob.h"
#include "keeper/match.h"
#include "keeper/text.h"

#include "base/utf8.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct view all)
{
	struct text_format format = text_detect(view_first(all, TEXT_DETECT_BYTES), true);
	auto_buf struct buf body = BUF_INIT(1 << 20);
	struct view raw = view_from(all, format.bom_len);
	struct text_walk walk = { .encoding = format.encoding, .raw = raw };
	size_t middle, at;

	assert(kind_of_binary(all));
	if (format.encoding == TEXT_BINARY || text_decode(&body, format.encoding, raw) < 0)
		return;
	if (text_is_plain(format.encoding, raw))
		assert(view_eq(buf_view(&body), raw));
	middle = body.len / 2;
	at = text_walk_to(&walk, middle);
	assert(at <= raw.len && walk.body_at >= middle);
	assert(text_walk_to(&walk, body.len) == raw.len);
	assert(text_line_start(buf_view(&body), text_line_of(buf_view(&body), middle)) <= middle);
}

/* Valid UTF-8 comes back as it was, mixed line ends and all. */
static void check_round_trip(struct view raw)
{
	auto_buf struct buf body = BUF_INIT(1 << 20), back = BUF_INIT(1 << 20);
	uint32_t bad;

	if (!utf8_valid(raw) || text_decode(&body, TEXT_UTF8, raw) < 0)
		return;
	assert(text_encode(&back, TEXT_UTF8, &(struct text_span){ raw, 0, raw.len },
			   buf_view(&body), &bad) == 0);
	assert(view_eq(buf_view(&back), raw));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view all = view_of(data, size);
	struct view pattern = view_first(all, view_find(all, '\n'));
	struct view rest = view_from(all, pattern.len + 1);
	auto_buf struct buf out = BUF_INIT(1 << 20);
	auto_of(glob) struct glob *glob = NULL;

	if (size > 4096)
		return 0;
	check_text(all);
	check_round_trip(all);
	if (!memchr(pattern.p, '\0', pattern.len) && glob_new(pattern, &glob) == 0)
		(void)glob_match(glob, rest);
	if (pattern.len && match_diagnose(&out, rest, 1, pattern) == 0)
		assert(out.len < (1 << 20));
	return 0;
}
