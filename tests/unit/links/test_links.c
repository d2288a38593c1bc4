/* SPDX-License-Identifier: Apache-2.0 */
/* Signed links: what was signed comes back, anything else does not. */
#include "links/internal.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define HOST "https://box.example.org"

enum { NOW = 1700000000, TTL = 600, MAIL_TTL = 1800 };

static usec now_s = NOW;

static usec wall(void *userdata)
{
	(void)userdata;
	return now_s * USEC_PER_SEC;
}

static const struct clock fake = { .monotonic = wall, .wall = wall };

static const struct links links = {
	.config = { .clock = &fake,
		    .public_url = HOST,
		    .key = "a key for tests",
		    .ttl_s = TTL,
		    .mail_ttl_s = MAIL_TTL },
};

/* The request's path of a new link. */
static void make(enum link_purpose purpose, struct view path, struct buf *target)
{
	uint64_t expiry = 0;

	now_s = NOW;
	if (purpose == LINK_DOWNLOAD)
		assert_int_equal(links_download(&links, "otter-3f9a1c", path, target, &expiry), 0);
	else
		assert_int_equal(links_upload(&links, "otter-3f9a1c", path, target, &expiry), 0);
	assert_int_equal(expiry, NOW + TTL);
	assert_true(view_starts(buf_view(target), VIEW(HOST "/")));
	buf_consume(target, sizeof(HOST) - 1);
}

static enum err_code parse(enum link_purpose purpose, struct view target, struct link *ret)
{
	struct err err = { 0 };

	return link_parse(&links, purpose, target, ret, &err) == 0 ? ERR_NONE : err.code;
}

static void check_round_trip(enum link_purpose purpose, struct view path)
{
	auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);
	auto_link struct link link = { 0 };

	make(purpose, path, &target);
	for (size_t i = 0; i < target.len; i++)
		assert_true(target.p[i] > 0x20 && target.p[i] < 0x7f && target.p[i] != '?' &&
			    target.p[i] != '#' && target.p[i] != ';');
	assert_int_equal(parse(purpose, buf_view(&target), &link), ERR_NONE);
	assert_true(view_eq(buf_view(&link.path), path));
	assert_string_equal(link.key, "otter-3f9a1c");
	assert_int_equal(link.expiry, NOW + TTL);
	assert_int_equal(link.rest.len, 0);
}

static void test_round_trip(void **state)
{
	static const struct view paths[] = {
		VIEW_INIT("a"),
		VIEW_INIT("a/b/c.txt"),
		VIEW_INIT(" #%?;&=+\"'\\\n\r\t"),
		VIEW_INIT("-rf"),
		VIEW_INIT("trailing "),
		VIEW_INIT("%2F%00"),
		VIEW_INIT("\xf0\x9f\xa6\xa6"),
		VIEW_INIT("\xff\xfe\x80"),
	};
	char every[255];

	(void)state;
	for (size_t i = 0; i < sizeof(every); i++)
		every[i] = (char)(i + 1);
	check_round_trip(LINK_DOWNLOAD, view_of(every, sizeof(every)));
	check_round_trip(LINK_UPLOAD, view_of(every, sizeof(every)));
	check_round_trip(LINK_UPLOAD, VIEW(""));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		check_round_trip(LINK_DOWNLOAD, paths[i]);
		check_round_trip(LINK_UPLOAD, paths[i]);
	}
}

/* No byte of a link may be another one. */
static void test_tampering(void **state)
{
	(void)state;
	for (int purpose = LINK_DOWNLOAD; purpose <= LINK_UPLOAD; purpose++) {
		auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);

		make((enum link_purpose)purpose, VIEW("folder/a b"), &target);
		for (size_t i = sizeof("/dl/") - 1; i < target.len; i++) {
			char saved = target.p[i];
			struct link link;

			/* The '/' behind an upload's folder may come as %2F of another folder only.
			 */
			target.p[i] = saved == 'A' ? 'B' : 'A';
			assert_int_equal(
				parse((enum link_purpose)purpose, buf_view(&target), &link),
				ERR_NOT_FOUND);
			target.p[i] = saved;
		}
	}
}

static void test_cut(void **state)
{
	auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);
	struct link link;

	(void)state;
	make(LINK_DOWNLOAD, VIEW("folder/a b"), &target);
	for (size_t len = sizeof("/dl/") - 1; len < target.len; len++)
		assert_int_equal(parse(LINK_DOWNLOAD, view_first(buf_view(&target), len), &link),
				 ERR_NOT_FOUND);
	assert_int_equal(buf_add_str(&target, "%00"), 0);
	assert_int_equal(parse(LINK_DOWNLOAD, buf_view(&target), &link), ERR_NOT_FOUND);
}

/* A link to see a file is none to write one, and the other way round. */
static void test_purposes(void **state)
{
	auto_buf struct buf down = BUF_INIT(LINKS_MAX_URL), up = BUF_INIT(LINKS_MAX_URL);
	struct link link;

	(void)state;
	make(LINK_DOWNLOAD, VIEW("workspace/x"), &down);
	make(LINK_UPLOAD, VIEW("x"), &up);
	assert_int_equal(parse(LINK_UPLOAD, buf_view(&down), &link), ERR_NOT_FOUND);
	assert_int_equal(parse(LINK_DOWNLOAD, buf_view(&up), &link), ERR_NOT_FOUND);
}

static void test_other_key(void **state)
{
	struct links other = links;
	auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);
	struct link link;
	struct err err = { 0 };

	(void)state;
	other.config.key[31] ^= 1;
	make(LINK_DOWNLOAD, VIEW("a"), &target);
	assert_int_equal(link_parse(&other, LINK_DOWNLOAD, buf_view(&target), &link, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_expiry(void **state)
{
	auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);
	auto_link struct link link = { 0 };
	struct link none;

	(void)state;
	make(LINK_DOWNLOAD, VIEW("a"), &target);
	now_s = NOW + TTL - 1;
	assert_int_equal(parse(LINK_DOWNLOAD, buf_view(&target), &link), ERR_NONE);
	now_s = NOW + TTL;
	assert_int_equal(parse(LINK_DOWNLOAD, buf_view(&target), &none), ERR_GONE);
	/* One that never was a link is not told so. */
	target.p[target.len - 1] = 'b';
	assert_int_equal(parse(LINK_DOWNLOAD, buf_view(&target), &none), ERR_NOT_FOUND);
}

static void test_file_behind_folder(void **state)
{
	auto_buf struct buf target = BUF_INIT(LINKS_MAX_URL);
	auto_link struct link link = { 0 };

	(void)state;
	make(LINK_UPLOAD, VIEW("my folder"), &target);
	assert_int_equal(buf_add_str(&target, "a%20b.txt"), 0);
	assert_int_equal(parse(LINK_UPLOAD, buf_view(&target), &link), ERR_NONE);
	assert_true(view_is(buf_view(&link.path), "my folder"));
	assert_true(view_is(link.rest, "a%20b.txt"));
}

/* A link of its own kind, for one principal, as long as its place is kept. */
static void test_mail(void **state)
{
	char principal[LINK_MAX_KEY];
	auto_buf struct buf url = BUF_INIT(LINKS_MAX_URL);
	auto_link struct link link = { 0 };
	struct link none;
	struct view target;
	uint64_t expiry = 0;

	(void)state;
	memset(principal, 'p', sizeof(principal) - 1);
	principal[sizeof(principal) - 1] = '\0';
	now_s = NOW;
	assert_int_equal(links_mail(&links, principal, &url, &expiry), 0);
	assert_int_equal(expiry, NOW + MAIL_TTL);
	target = view_from(buf_view(&url), sizeof(HOST) - 1);
	assert_true(view_starts(target, VIEW("/mail/")));
	assert_int_equal(parse(LINK_MAIL, target, &link), ERR_NONE);
	assert_string_equal(link.key, principal);
	assert_int_equal(link.path.len, 0);

	for (size_t i = sizeof("/mail/") - 1; i < target.len; i++) {
		char *c = url.p + sizeof(HOST) - 1 + i, saved = *c;

		*c = saved == 'A' ? 'B' : 'A';
		assert_int_equal(parse(LINK_MAIL, target, &none), ERR_NOT_FOUND);
		*c = saved;
	}
	assert_int_equal(parse(LINK_DOWNLOAD, target, &none), ERR_NOT_FOUND);
	assert_int_equal(parse(LINK_UPLOAD, target, &none), ERR_NOT_FOUND);
	now_s = NOW + MAIL_TTL;
	assert_int_equal(parse(LINK_MAIL, target, &none), ERR_GONE);
	now_s = NOW;
	assert_int_equal(buf_add_str(&url, "x"), 0);
	assert_int_equal(parse(LINK_MAIL, view_from(buf_view(&url), sizeof(HOST) - 1), &none),
			 ERR_NOT_FOUND);
}

/* Gone is what is gone; who can come back is told so. */
static void test_what_is_told_of_a_sandbox(void **state)
{
	static const struct {
		enum err_code why, told;
		const char *words;
	} rows[] = {
		{ ERR_NOT_FOUND, ERR_NOT_FOUND, "its files with it" },
		{ ERR_GONE, ERR_NOT_FOUND, "its files with it" },
		{ ERR_BUSY, ERR_BUSY, "as it was" },
		{ ERR_TIMEOUT, ERR_BUSY, "just now" },
		{ ERR_SYSTEM, ERR_BUSY, "just now" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err;

		(void)err_set(&err, rows[i].why, "as it was");
		link_explain(&err);
		assert_int_equal(err.code, rows[i].told);
		assert_non_null(strstr(err.msg, rows[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_tampering),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_purposes),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_file_behind_folder),
		cmocka_unit_test(test_mail),
		cmocka_unit_test(test_what_is_told_of_a_sandbox),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
