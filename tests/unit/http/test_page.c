/* SPDX-License-Identifier: Apache-2.0 */
/* HTML escaping, templates, built-in files. */
#include "http/html.h"
#include "http/page.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct page_var vars[] = {
	{ "name", VIEW_INIT("<b> & \"q\" 'a'"), PAGE_TEXT },
	{ "html", VIEW_INIT("<i>x</i>"), PAGE_HTML },
	{ "empty", VIEW_INIT(""), PAGE_TEXT },
	{ NULL, VIEW_INIT(""), PAGE_TEXT },
};

static void test_fills(void **state)
{
	static const struct {
		const char *template, *want;
	} rows[] = {
		{ "", "" },
		{ "plain { } {{", "plain { } {{" },
		{ "{{name", "{{name" },
		{ "[{{name}}]", "[&lt;b&gt; &amp; &quot;q&quot; &#39;a&#39;]" },
		{ "{{html}}{{empty}}", "<i>x</i>" },
		{ "a{{#name}}b{{/name}}c", "abc" },
		{ "a{{#empty}}b{{name}}{{/empty}}c", "ac" },
		{ "a{{^empty}}b{{/empty}}c", "abc" },
		{ "a{{^name}}b{{/name}}c", "ac" },
		{ "{{#name}}1{{#empty}}2{{#name}}3{{/name}}4{{/empty}}5{{/name}}", "15" },
		{ "{{#empty}}1{{#name}}2{{/name}}3{{/empty}}4", "4" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(256);

		assert_int_equal(page_fill(&out, view_str(rows[i].template), vars, &err), 0);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

static void test_refuses(void **state)
{
	static const char *const bad[] = {
		"{{unknown}}",
		"{{#unknown}}{{/unknown}}",
		"{{#name}}",
		"{{/name}}",
		"{{#name}}{{#html}}{{/name}}{{/html}}",
		"{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}",
	};
	auto_buf struct buf out = BUF_INIT(64);
	struct err err;

	(void)state;
	assert_int_equal(buf_add_str(&out, "kept"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(page_fill(&out, view_str(bad[i]), vars, &err), -1);
		assert_int_equal(err.code, ERR_BUG);
		assert_string_equal(buf_str(&out), "kept");
	}
}

static void test_refuses_what_does_not_fit(void **state)
{
	auto_buf struct buf out = BUF_INIT(8);
	struct err err;

	(void)state;
	assert_int_equal(page_fill(&out, VIEW("{{name}}"), vars, &err), -1);
	assert_int_equal(out.len, 0);
	assert_int_equal(html_escape(&out, VIEW("abc&&")), -ENOSPC);
	assert_int_equal(out.len, 0);
}

static void test_assets(void **state)
{
	const struct page_asset *css = page_asset("berth.css");
	auto_buf struct buf out = BUF_INIT(PAGE_MAX_BYTES);
	struct err err;

	(void)state;
	assert_non_null(css);
	assert_string_equal(css->content_type, "text/css; charset=utf-8");
	assert_true(css->content.len > 100);
	assert_int_equal(strlen(css->content.p), css->content.len);
	assert_null(page_asset("../berth.css"));
	assert_int_equal(page_fill(&out, VIEW("{{style}}"), vars, &err), 0);
	assert_true(view_eq(buf_view(&out), css->content));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_refuses_what_does_not_fit),
		cmocka_unit_test(test_assets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
