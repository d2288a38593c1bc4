/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of the file tools: placeholders, ripgrep's output, tags, path:symbol. */
#include "tools/grep.h"
#include "tools/placeholder.h"
#include "tools/symbol_lines.h"
#include "tools/symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void placeholders(void **state)
{
	static const struct {
		const char *text;
		uint64_t line;
	} rows[] = {
		{ "a\n// ... rest unchanged ...\nb", 2 },
		{ "# ... existing code ...\n", 1 },
		{ "x\n\n    /* … the rest of the file … */\n", 3 },
		{ "<!-- ... same as before -->", 1 },
		{ "...remaining methods", 1 },
		{ "# ... EXISTING CODE ...", 1 },
		{ "def f(self): ...\n", 0 },
		{ "...\n", 0 },
		{ "const a = [...rest, 1];", 0 },
		{ "int f(const char *fmt, ...);", 0 },
		{ "the remaining 3 ... were unchanged", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view line = VIEW_INIT("");

		if (placeholder_find(view_str(rows[i].text), &line) != rows[i].line)
			fail_msg("%s", rows[i].text);
		assert_true(!rows[i].line == !line.len);
	}
}

static void grep_output(void **state)
{
	static const struct view output = VIEW_INIT("./a.c\0"
						    "3:int x;\n"
						    "./a.c\0"
						    "4-\n"
						    "--\n"
						    "./a.c\0"
						    "9:x = 1;\n"
						    "./b \xff\n.c\0"
						    "1:x\n"
						    "garbage");
	auto_buf struct buf out = BUF_INIT(4096);
	struct grep_counts counts;

	(void)state;
	assert_int_equal(grep_format(&out, output, &counts), 0);
	assert_string_equal(buf_str(&out), "a.c\n3: int x;\n4- \n--\n9: x = 1;\n"
					   "$'b \\xff\\n.c'\n1: x\n");
	assert_true(counts.matches == 3 && counts.files == 2 && counts.shown == 3);
}

static void grep_is_bounded(void **state)
{
	auto_buf struct buf in = BUF_INIT(1 << 20);
	auto_buf struct buf out = BUF_INIT(GREP_MAX_BYTES * 2);
	struct grep_counts counts;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(buf_add(&in, "./f\0", 4), 0);
		assert_int_equal(buf_addf(&in, "%d:text\n", i + 1), 0);
	}
	assert_int_equal(grep_format(&out, buf_view(&in), &counts), 0);
	assert_true(counts.matches == 1000 && counts.shown == GREP_MAX_SHOWN);
}

static const char tags[] =
	"{\"_type\":\"tag\",\"name\":\"run\",\"path\":\"b.py\",\"line\":5,\"kind\":\"member\","
	"\"scope\":\"app.Parser\",\"signature\":\"(self)\",\"end\":9}\n"
	"not json\n"
	"{\"name\":\"x\"}\n"
	"{\"_type\":\"tag\",\"name\":\"f\",\"path\":\"a.c\",\"line\":2,\"kind\":\"function\"}\n"
	"{\"_type\":\"tag\",\"name\":\"bad\",\"path\":\"a.c\",\"line\":-2}\n"
	"{\"_type\":\"tag\",\"name\":\"m\",\"path\":\"a.c\",\"line\":1,\"kind\":\"member\","
	"\"end\":0}\n";

static void symbols(void **state)
{
	auto_symbols struct symbols s = { 0 };
	struct view rest = view_str(tags), line;

	(void)state;
	while (view_split(&rest, '\n', &line))
		assert_int_equal(symbols_add(&s, line), 0);
	symbols_finish(&s);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.list[0].name, "m");
	assert_string_equal(s.list[1].name, "f");
	assert_string_equal(s.list[2].scope, "app.Parser");
	assert_int_equal(s.list[2].end, 9);
	assert_true(symbol_is_major(&s.list[1]) && symbol_is_major(&s.list[2]));
	assert_false(symbol_is_major(&s.list[0]));
	assert_true(symbol_is_named(&s.list[2], VIEW("run")));
	assert_true(symbol_is_named(&s.list[2], VIEW("Parser.run")));
	assert_true(symbol_is_named(&s.list[2], VIEW("*Parser::run")));
	assert_true(symbol_is_named(&s.list[2], VIEW("app.Parser.run")));
	assert_false(symbol_is_named(&s.list[2], VIEW("Lexer.run")));
	assert_false(symbol_is_named(&s.list[2], VIEW("ru")));
	assert_false(symbol_is_named(&s.list[2], VIEW("")));
	assert_true(view_is(symbol_last_part(VIEW("a::b.run")), "run"));
	assert_true(view_is(symbol_last_part(VIEW("run.")), "run."));
	assert_int_equal(symbols_of(&s, VIEW("a.c")).n, 2);
	assert_int_equal(symbols_of(&s, VIEW("b.py")).n, 1);
	assert_int_equal(symbols_of(&s, VIEW("c.c")).n, 0);
}

static void path_and_symbol(void **state)
{
	static const struct {
		const char *path, *file, *name; /* file NULL: it is not of that form */
	} rows[] = {
		{ "a.c:f", "a.c", "f" }, { "d:x/a.cc:ns::f", "d:x/a.cc", "ns::f" },
		{ "a.c", NULL, NULL },   { "d:x/a.c", NULL, NULL },
		{ "a.c:", NULL, NULL },  { ":f", NULL, NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view file, name;
		bool is = symbol_lines_split(view_str(rows[i].path), &file, &name);

		assert_int_equal(is, rows[i].file != NULL);
		if (is)
			assert_true(view_is(file, rows[i].file) && view_is(name, rows[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders),    cmocka_unit_test(grep_output),
		cmocka_unit_test(grep_is_bounded), cmocka_unit_test(symbols),
		cmocka_unit_test(path_and_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
