/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data: the same events however the bytes are cut. */
#include "links/multipart.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TYPE       "multipart/form-data; boundary=XyZ"
#define HEAD(rest) "Content-Disposition: form-data; " rest "\r\n\r\n"

/* What came out, in one line: "field/file=data;" a part, "." the end, "!" refused. */
static void run(struct view body, size_t piece, struct buf *out)
{
	struct multipart m;
	struct view data;
	size_t begin = 0, end = 0;
	enum multipart_event event = MULTIPART_MORE;

	assert_int_equal(multipart_init(&m, VIEW(TYPE)), 0);
	while (event != MULTIPART_BAD && event != MULTIPART_END) {
		size_t taken;

		event = multipart_next(&m, view_of(body.p + begin, end - begin), &taken, &data);
		assert_true(taken <= end - begin);
		begin += taken;
		if (event == MULTIPART_PART)
			assert_int_equal(
				buf_addf(out, "%s/%s%s=", m.field, m.file, m.has_file ? "" : "-"),
				0);
		else if (event == MULTIPART_DATA)
			assert_int_equal(buf_add_view(out, data), 0);
		else if (event == MULTIPART_PART_END)
			assert_int_equal(buf_add_char(out, ';'), 0);
		else if (event == MULTIPART_MORE && end == body.len)
			break;
		else if (event == MULTIPART_MORE)
			end = body.len - end < piece ? body.len : end + piece;
	}
	if (event == MULTIPART_END || event == MULTIPART_BAD)
		assert_int_equal(buf_add_char(out, event == MULTIPART_END ? '.' : '!'), 0);
	multipart_done(&m);
}

static const struct {
	struct view body;
	struct view events;
} rows[] = {
	{ VIEW_INIT("--XyZ--\r\n"), VIEW_INIT(".") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=\"a\"") "1\r\n--XyZ--\r\n"), VIEW_INIT("a/-=1;.") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=\"f\"; filename=\"x.txt\"") "a\r\nb\r\n--XyZ--"),
	  VIEW_INIT("f/x.txt=a\r\nb;.") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=f; filename=\"\"") "\r\n--XyZ--"), VIEW_INIT("f/=;.") },
	{ VIEW_INIT("preamble\r\n--XyZ\r\n" HEAD("name=a") "\r\n--Xy\r\n-\r\n--XyZ\r\n" HEAD(
		  "name=b") "2\r\n--XyZ--epilogue --XyZ"),
	  VIEW_INIT("a/-=\r\n--Xy\r\n-;b/-=2;.") },
	{ VIEW_INIT("--XyZ\r\ncontent-type: text/plain\r\nCONTENT-DISPOSITION:form-data; "
		    "filename=\"a\\\"b\"; name=\"f\"\r\n\r\n\0\xff\r\n--XyZ--"),
	  VIEW_INIT("f/a\"b=\0\xff;.") },
	/* A form that ends too early has no end. */
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=a") "12"), VIEW_INIT("a/-=12") },
	{ VIEW_INIT("no boundary at all"), VIEW_INIT("") },
	/* Refused. */
	{ VIEW_INIT("--XyZ rubbish\r\n"), VIEW_INIT("!") },
	{ VIEW_INIT("--XyZ\r\nX: no disposition\r\n\r\n"), VIEW_INIT("!") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("filename=\"x\"") "1"), VIEW_INIT("!") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=\"unclosed") "1"), VIEW_INIT("!") },
	{ VIEW_INIT("--XyZ\r\n" HEAD("name=\"a\0b\"") "1"), VIEW_INIT("!") },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t piece = 1; piece <= rows[i].body.len; piece++) {
			auto_buf struct buf out = BUF_INIT(4096);

			run(rows[i].body, piece, &out);
			if (!view_eq(buf_view(&out), rows[i].events))
				fail_msg("row %zu in pieces of %zu: %s", i, piece, buf_str(&out));
		}
	}
}

static void test_types(void **state)
{
	static const struct {
		const char *type;
		int result;
	} types[] = {
		{ TYPE, 0 },
		{ "Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", 0 },
		{ "multipart/form-data", -EINVAL },
		{ "multipart/form-data; boundary=", -EINVAL },
		{ "multipart/form-data; boundary=\"unclosed", -EINVAL },
		{ "multipart/form-data; boundary", -EINVAL },
		{ "multipart/mixed; boundary=a", -EINVAL },
		{ "application/x-www-form-urlencoded", -EINVAL },
		{ "", -EINVAL },
		/* 70 characters are allowed, 71 are not. */
		{ "multipart/form-data; boundary="
		  "1234567890123456789012345678901234567890123456789012345678901234567890",
		  0 },
		{ "multipart/form-data; boundary="
		  "12345678901234567890123456789012345678901234567890123456789012345678901",
		  -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct multipart m;

		assert_int_equal(multipart_init(&m, view_str(types[i].type)), types[i].result);
		multipart_done(&m);
	}
}

/* A head without an end costs a bounded buffer. */
static void test_endless_head(void **state)
{
	auto_buf struct buf body = BUF_INIT(64 * 1024), out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(buf_add_str(&body, "--XyZ\r\nX: "), 0);
	for (size_t i = 0; i < 2 * MULTIPART_MAX_HEAD; i++)
		assert_int_equal(buf_add_char(&body, 'x'), 0);
	run(buf_view(&body), 1000, &out);
	assert_string_equal(buf_str(&out), "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_endless_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
