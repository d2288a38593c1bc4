/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's messages: round trips, and everything malformed is refused. */
#include "wire/keeper.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct keeper_request sample_request = {
	.verb = KEEPER_EDIT,
	.flags = KEEPER_REPLACE_ALL | KEEPER_NOFOLLOW,
	.number = UINT64_MAX,
	.offset = 1,
	.limit = 2,
	.mode = 0755,
	.path = VIEW_INIT("a/\xff\n b"),
	.path2 = VIEW_INIT("*.c"),
};

static const struct keeper_reply sample_reply = {
	.error = ENOENT,
	.size = 1,
	.mtime_ns = 2,
	.number = 3,
	.count = UINT64_MAX,
	.mode = 0100644,
	.text = VIEW_INIT("there is\0none"),
};

static void test_request_round_trip(void **state)
{
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct keeper_request got = { 0 };
	uint64_t id = 0;

	(void)state;
	assert_int_equal(keeper_request_encode(&b, 77, &sample_request), 0);
	assert_int_equal(keeper_request_decode(buf_view(&b), &id, &got), 0);
	assert_int_equal(id, 77);
	assert_int_equal(got.verb, sample_request.verb);
	assert_int_equal(got.flags, sample_request.flags);
	assert_true(got.number == sample_request.number && got.offset == sample_request.offset);
	assert_int_equal(got.limit, sample_request.limit);
	assert_int_equal(got.mode, sample_request.mode);
	assert_true(view_eq(got.path, sample_request.path));
	assert_true(view_eq(got.path2, sample_request.path2));
}

static void test_reply_round_trip(void **state)
{
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct keeper_reply got = { 0 };
	uint64_t id = 0;

	(void)state;
	assert_int_equal(keeper_reply_encode(&b, 1, &sample_reply), 0);
	assert_int_equal(keeper_reply_decode(buf_view(&b), &id, &got), 0);
	assert_int_equal(got.error, sample_reply.error);
	assert_true(got.size == sample_reply.size && got.mtime_ns == sample_reply.mtime_ns);
	assert_true(got.number == sample_reply.number && got.count == sample_reply.count);
	assert_int_equal(got.mode, sample_reply.mode);
	assert_true(view_eq(got.text, sample_reply.text));
}

static void test_unset_views_are_empty(void **state)
{
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct keeper_request request = { .verb = KEEPER_USAGE }, got;
	struct keeper_reply reply = { 0 }, got_reply;
	uint64_t id;

	(void)state;
	assert_int_equal(keeper_request_encode(&b, 0, &request), 0);
	assert_int_equal(keeper_request_decode(buf_view(&b), &id, &got), 0);
	assert_int_equal(got.path.len + got.path2.len, 0);
	buf_truncate(&b, 0);
	assert_int_equal(keeper_reply_encode(&b, 0, &reply), 0);
	assert_int_equal(keeper_reply_decode(buf_view(&b), &id, &got_reply), 0);
	assert_int_equal(got_reply.text.len, 0);
}

static void test_encode_refuses(void **state)
{
	static char big[KEEPER_MAX_TEXT + 1];
	const struct keeper_request rows[] = {
		{ .verb = KEEPER_NUM_VERBS },
		{ .flags = KEEPER_ALL_FLAGS + 1 },
		{ .mode = 01000 },
		{ .path = VIEW_INIT("a\0b") },
		{ .path2 = VIEW_INIT("\0") },
		{ .path = view_of(big, KEEPER_MAX_PATH + 1) },
	};
	const struct keeper_reply replies[] = {
		{ .error = -1 },
		{ .error = 4096 },
		{ .text = view_of(big, sizeof(big)) },
	};
	auto_buf struct buf b = BUF_INIT(KEEPER_MAX_MESSAGE);

	(void)state;
	memset(big, 'a', sizeof(big));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(keeper_request_encode(&b, 0, &rows[i]), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++)
		assert_int_equal(keeper_reply_encode(&b, 0, &replies[i]), -EINVAL);
	assert_int_equal(b.len, 0);
}

static void test_encode_is_all_or_nothing(void **state)
{
	auto_buf struct buf b = BUF_INIT(60);

	(void)state;
	assert_int_equal(keeper_request_encode(&b, 1, &sample_request), -ENOSPC);
	assert_int_equal(b.len, 0);
}

/* Each cut, each extension and each foreign head is refused and leaves *ret alone. */
static void test_decode_refuses_other_lengths(void **state)
{
	auto_buf struct buf q = BUF_INIT(KEEPER_MAX_MESSAGE), r = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct keeper_request request = { .number = 5 };
	struct keeper_reply reply = { .number = 5 };
	uint64_t id = 5;

	(void)state;
	assert_int_equal(keeper_request_encode(&q, 1, &sample_request), 0);
	assert_int_equal(keeper_reply_encode(&r, 1, &sample_reply), 0);
	for (size_t n = 0; n < q.len; n++)
		assert_int_equal(keeper_request_decode(view_first(buf_view(&q), n), &id, &request),
				 -EBADMSG);
	for (size_t n = 0; n < r.len; n++)
		assert_int_equal(keeper_reply_decode(view_first(buf_view(&r), n), &id, &reply),
				 -EBADMSG);
	assert_int_equal(keeper_request_decode(buf_view(&r), &id, &request), -EBADMSG);
	assert_int_equal(keeper_reply_decode(buf_view(&q), &id, &reply), -EBADMSG);
	assert_int_equal(buf_add_char(&q, 'x'), 0);
	assert_int_equal(buf_add_char(&r, 'x'), 0);
	assert_int_equal(keeper_request_decode(buf_view(&q), &id, &request), -EBADMSG);
	assert_int_equal(keeper_reply_decode(buf_view(&r), &id, &reply), -EBADMSG);
	assert_true(id == 5 && request.number == 5 && reply.number == 5);
}

/* Any single changed byte either decodes to something sane or is refused; never past the end. */
static void test_decode_survives_flipped_bytes(void **state)
{
	auto_buf struct buf q = BUF_INIT(KEEPER_MAX_MESSAGE);
	size_t body = sample_request.path.len + sample_request.path2.len;

	(void)state;
	assert_int_equal(keeper_request_encode(&q, 1, &sample_request), 0);
	for (size_t i = 0; i < q.len * 256; i++) {
		char *at = &q.p[i / 256], saved = *at;
		struct keeper_request got;
		uint64_t id;

		*at = (char)(i % 256);
		if (keeper_request_decode(buf_view(&q), &id, &got) == 0) {
			assert_true(got.verb < KEEPER_NUM_VERBS);
			assert_int_equal(got.path.len + got.path2.len, body);
		}
		*at = saved;
	}
}

static void test_verbs_have_names(void **state)
{
	(void)state;
	for (int v = 0; v < KEEPER_NUM_VERBS; v++)
		assert_string_not_equal(keeper_verb_name((enum keeper_verb)v), "?");
	assert_string_equal(keeper_verb_name(KEEPER_NUM_VERBS), "?");
	assert_true(keeper_verb_takes_fd(KEEPER_WRITE) && keeper_verb_takes_fd(KEEPER_EDIT));
	assert_false(keeper_verb_takes_fd(KEEPER_OPEN) || keeper_verb_takes_fd(KEEPER_NUM_VERBS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_round_trip),
		cmocka_unit_test(test_reply_round_trip),
		cmocka_unit_test(test_unset_views_are_empty),
		cmocka_unit_test(test_encode_refuses),
		cmocka_unit_test(test_encode_is_all_or_nothing),
		cmocka_unit_test(test_decode_refuses_other_lengths),
		cmocka_unit_test(test_decode_survives_flipped_bytes),
		cmocka_unit_test(test_verbs_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
