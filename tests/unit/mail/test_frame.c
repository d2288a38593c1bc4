/* SPDX-License-Identifier: Apache-2.0 */
/* The frame to berth-mail, what it refuses, and the message made from it. */
#include "mail/frame.h"
#include "mail/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct mail_frame good(void)
{
	return (struct mail_frame){
		.relay = VIEW("smtps://mail.example.org:465"),
		.ca_file = VIEW("/etc/ssl/own.pem"),
		.user = VIEW("berth"),
		.password = VIEW("p w \"'\xc3\xa4"),
		.from = VIEW("berth@example.org"),
		.to = VIEW("visitor+x@mail.example.net"),
		.url = VIEW("https://berth.example.org/x"),
		.claim_minutes = 600,
	};
}

static void test_there_and_back(void **state)
{
	struct mail_frame frame = good(), got;
	char bytes[MAIL_MAX_FRAME];
	struct err err;
	ssize_t n;

	(void)state;
	assert_int_equal(mail_frame_check(&frame, &err), 0);
	n = mail_frame_write(&frame, bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_int_equal(mail_frame_write(&frame, bytes, (size_t)n - 1), -ENOSPC);
	assert_int_equal(mail_frame_write(&frame, bytes, (size_t)n), n);
	assert_int_equal(mail_frame_read(view_of(bytes, (size_t)n), &got), 0);
	assert_true(view_eq(got.relay, frame.relay) && view_eq(got.ca_file, frame.ca_file));
	assert_true(view_eq(got.user, frame.user) && view_eq(got.password, frame.password));
	assert_true(view_eq(got.from, frame.from) && view_eq(got.to, frame.to));
	assert_true(view_eq(got.url, frame.url));
	assert_int_equal(got.claim_minutes, 600);

	/* cut off anywhere, or with more behind it: refused */
	for (ssize_t i = 0; i < n; i++)
		assert_int_equal(mail_frame_read(view_of(bytes, (size_t)i), &got), -EINVAL);
	assert_int_equal(mail_frame_read(view_of(bytes, (size_t)n + 1), &got), -EINVAL);
	bytes[0] = 'b';
	assert_int_equal(mail_frame_read(view_of(bytes, (size_t)n), &got), -EINVAL);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *relay, *from, *to, *url, *user;
	} rows[] = {
		{ .relay = "" },
		{ .relay = "http://mail.example.org" },
		{ .relay = "smtp://" },
		{ .relay = "smtp://user@mail.example.org" },
		{ .relay = "smtp://mail.example.org/x" },
		{ .relay = "smtp://mail.example.org:0" },
		{ .relay = "smtp://mail.example.org:65536" },
		{ .relay = "smtp://mail.example.org:" },
		{ .relay = "smtp://:25" },
		{ .relay = "smtp://[::1" },
		{ .relay = "smtp://[::1]x" },
		{ .relay = "smtp://a b" },
		{ .relay = "smtp://a?b" },
		{ .from = "" },
		{ .from = "Berth <berth@example.org>" },
		{ .from = "berth" },
		{ .to = "" },
		{ .to = "a@b.example,c@d.example" },
		{ .to = "a@b.example\r\nBcc: c@d.example" },
		{ .to = "a@b.example\nc" },
		{ .to = "a@b.example>" },
		{ .to = "\"a\"@b.example" },
		{ .to = "a%c@b.example" },
		{ .to = "-a@b.example" },
		{ .to = "a@localhost" },
		{ .to = "a@192.168.0.1" },
		{ .to = "a@[192.168.0.1]" },
		{ .to = "a@b..example" },
		{ .to = "a..b@c.example" },
		{ .to = "a@b@c.example" },
		{ .to = " a@b.example" },
		{ .to = "a@b.example " },
		{ .to = "\xc3\xa4@b.example" },
		{ .url = "" },
		{ .url = "javascript:x" },
		{ .url = "https://a\r\nX: y" },
		{ .url = "https://a b" },
		{ .url = "https://a>" },
		{ .user = "a\r\nb" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mail_frame f = good();

		if (rows[i].relay)
			f.relay = view_str(rows[i].relay);
		if (rows[i].from)
			f.from = view_str(rows[i].from);
		if (rows[i].to)
			f.to = view_str(rows[i].to);
		if (rows[i].url)
			f.url = view_str(rows[i].url);
		if (rows[i].user)
			f.user = view_str(rows[i].user);
		if (mail_frame_check(&f, &err) == 0)
			fail_msg("row %zu was accepted", i);
		assert_int_equal(err.code, ERR_INVALID);
		if (rows[i].to && rows[i].to[0])
			assert_null(strstr(err.msg, rows[i].to)); /* addresses stay out of logs */
	}
}

static void test_too_long(void **state)
{
	static char text[MAIL_MAX_TEXT + 1];
	char bytes[MAIL_MAX_FRAME];
	struct mail_frame f = good();
	struct err err;

	(void)state;
	memset(text, 'a', sizeof(text));
	f.password = view_of(text, sizeof(text));
	assert_int_equal(mail_frame_check(&f, &err), -1);
	assert_int_equal(mail_frame_write(&f, bytes, sizeof(bytes)), -EINVAL);
	f.password.len--;
	assert_int_equal(mail_frame_check(&f, &err), 0);
}

static void test_local_relays(void **state)
{
	static const struct {
		const char *relay;
		bool want;
	} rows[] = {
		{ "smtp://localhost", true },         { "smtp://LOCALHOST:25", true },
		{ "smtp://127.0.0.1:2525", true },    { "smtps://[::1]:465", true },
		{ "smtp://127.evil.example", false }, { "smtp://localhost.evil.example", false },
		{ "smtp://mail.example.org", false }, { "smtp://10.0.0.1", false },
		{ "smtp://1.127.0.0", false },        { "smtp://[::2]", false },
		{ "http://localhost", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(mail_relay_is_local(view_str(rows[i].relay)), rows[i].want);
}

static void test_message(void **state)
{
	auto_buf struct buf out = BUF_INIT(MAIL_MAX_MESSAGE);
	struct mail_frame f = good();

	(void)state;
	f.claim_minutes = 10;
	assert_int_equal(mail_message(&f, 1764400000, "0123456789abcdef", &out), 0);
	assert_non_null(strstr(buf_str(&out), "Date: Sat, 29 Nov 2025 07:06:40 +0000\r\n"));
	assert_non_null(strstr(buf_str(&out), "\r\nTo: <visitor+x@mail.example.net>\r\n"));
	assert_non_null(strstr(buf_str(&out), "\r\nFrom: Berth <berth@example.org>\r\n"));
	assert_non_null(
		strstr(buf_str(&out), "\r\nMessage-ID: <0123456789abcdef@example.org>\r\n"));
	assert_non_null(strstr(buf_str(&out), "within 10 minutes"));
	assert_non_null(strstr(buf_str(&out), "https://berth.example.org/x/\r\n"));
	/* every line ends with CRLF, none is longer than mail may have, none starts with a dot */
	for (size_t i = 0, start = 0; i < out.len; i++) {
		assert_true((unsigned char)out.p[i] < 0x80);
		if (out.p[i] != '\n')
			continue;
		assert_true(i > 0 && out.p[i - 1] == '\r');
		assert_true(i - start < 600);
		assert_true(out.p[start] != '.');
		start = i + 1;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_too_long),       cmocka_unit_test(test_local_relays),
		cmocka_unit_test(test_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
