/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its bytes: each kind, and pictures that are none. */
#include "links/sniff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define PNG(w, h)                                                                                  \
	"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0" w "\0\0" h                                           \
	"\x08\x06\0\0\0----\0\0\0\0IEND\xae\x42\x60\x82"
#define GIF "GIF89a\x20\0\x10\0\0\0\0,-----;"
#define JPEG                                                                                       \
	"\xff\xd8\xff\xe0\0\x04--\xff\xff\xff\xc0\0\x0b\x08\0\x10\0\x20\x01\x01\x11\0----\xff\xd9"
#define WEBP_LOSSY    "RIFF\x18\0\0\0WEBPVP8 \x0c\0\0\0---\x9d\x01\x2a\x20\0\x10\0--"
#define WEBP_LOSSLESS "RIFF\x18\0\0\0WEBPVP8L\x0c\0\0\0\x2f\x1f\xc0\x03\0-------"
#define WEBP_EXTENDED "RIFF\x18\0\0\0WEBPVP8X\x0c\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0--"

static struct sniff sniff_all(struct view file)
{
	size_t tail = file.len > SNIFF_TAIL_BYTES ? file.len - SNIFF_TAIL_BYTES : 0;

	return sniff_bytes(view_first(file, SNIFF_HEAD_BYTES), view_from(file, tail), file.len);
}

static const struct {
	struct view file;
	const char *mime;
} pictures[] = {
	{ VIEW_INIT(PNG("\0\x20", "\0\x10")), "image/png" },
	{ VIEW_INIT(GIF), "image/gif" },
	{ VIEW_INIT(JPEG), "image/jpeg" },
	{ VIEW_INIT(WEBP_LOSSY), "image/webp" },
	{ VIEW_INIT(WEBP_LOSSLESS), "image/webp" },
	{ VIEW_INIT(WEBP_EXTENDED), "image/webp" },
};

static void test_pictures(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		struct sniff s = sniff_all(pictures[i].file);

		assert_string_equal(s.mime, pictures[i].mime);
		assert_int_equal(s.width, 32);
		assert_int_equal(s.height, 16);
		assert_true(s.is_picture);
		assert_int_equal(s.use, SNIFF_INLINE);
	}
}

/* However much is missing, it is no picture to attach, and nothing is read beyond it. */
static void test_cut_pictures(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		for (size_t len = 0; len < pictures[i].file.len; len++) {
			char *copy = malloc(len + 1);

			assert_non_null(copy);
			memcpy(copy, pictures[i].file.p, len);
			assert_false(sniff_all(view_of(copy, len)).is_picture);
			free(copy);
		}
	}
}

static void test_no_pixels(void **state)
{
	(void)state;
	assert_false(sniff_all(VIEW(PNG("\0\0", "\0\x10"))).is_picture);
	assert_false(sniff_all(VIEW("GIF89a\0\0\x10\0\0\0\0,-----;")).is_picture);
}

/* The markers of a JPEG may lead anywhere. */
static void test_wild_jpeg(void **state)
{
	(void)state;
	assert_false(sniff_all(VIEW("\xff\xd8\xff\xe0\xff\xff------------\xff\xd9")).is_picture);
	assert_false(sniff_all(VIEW("\xff\xd8\xff\xe0\0\0----------------\xff\xd9")).is_picture);
	assert_false(
		sniff_all(VIEW("\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xd9")).is_picture);
}

static void test_kinds(void **state)
{
	static const struct {
		struct view file;
		const char *mime;
		enum sniff_use use;
	} rows[] = {
		{ VIEW_INIT("BM------------"), "image/bmp", SNIFF_ATTACHMENT },
		{ VIEW_INIT("II*\0----"), "image/tiff", SNIFF_ATTACHMENT },
		{ VIEW_INIT("MM\0*----"), "image/tiff", SNIFF_ATTACHMENT },
		{ VIEW_INIT("%PDF-1.7\n"), "application/pdf", SNIFF_ATTACHMENT },
		{ VIEW_INIT("PK\x03\x04---"), "application/zip", SNIFF_ATTACHMENT },
		{ VIEW_INIT("\x1f\x8b\x08"), "application/gzip", SNIFF_ATTACHMENT },
		{ VIEW_INIT("BZh9"), "application/x-bzip2", SNIFF_ATTACHMENT },
		{ VIEW_INIT("\x28\xb5\x2f\xfd-"), "application/zstd", SNIFF_ATTACHMENT },
		{ VIEW_INIT("SQLite format 3\0--"), "application/vnd.sqlite3", SNIFF_ATTACHMENT },
		{ VIEW_INIT("ID3\x03"), "audio/mpeg", SNIFF_INLINE },
		{ VIEW_INIT("fLaC--"), "audio/flac", SNIFF_INLINE },
		{ VIEW_INIT("OggS--"), "application/ogg", SNIFF_INLINE },
		{ VIEW_INIT("RIFF----WAVEfmt "), "audio/wav", SNIFF_INLINE },
		{ VIEW_INIT("\0\0\0\x20"
			    "ftypM4A "),
		  "audio/mp4", SNIFF_INLINE },
		{ VIEW_INIT("\0\0\0\x20"
			    "ftypisom"),
		  "video/mp4", SNIFF_INLINE },
		{ VIEW_INIT("\x1a\x45\xdf\xa3--"), "video/webm", SNIFF_INLINE },
		{ VIEW_INIT("\x7f"
			    "ELF\x02"),
		  "application/octet-stream", SNIFF_ATTACHMENT },
		{ VIEW_INIT("\0\x01\x02\x03"), "application/octet-stream", SNIFF_ATTACHMENT },
		{ VIEW_INIT("\xff\xfe\xfd"), "application/octet-stream", SNIFF_ATTACHMENT },
		{ VIEW_INIT("plain text\n"), "text/plain; charset=utf-8", SNIFF_INLINE },
		{ VIEW_INIT("{\"a\": \"\xc3\xa9\"}"), "text/plain; charset=utf-8", SNIFF_INLINE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sniff s = sniff_all(rows[i].file);

		assert_string_equal(s.mime, rows[i].mime);
		assert_int_equal(s.use, rows[i].use);
		assert_false(s.is_picture);
	}
}

/* What a browser would run is never shown in our name. */
static void test_active(void **state)
{
	static const char *const active[] = {
		"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
		"<?xml version='1.0'?>\n<!-- x -->\n<SVG/>",
		"<!DOCTYPE html><title>x</title>",
		"  \n<HTML><body>",
		"text before <script>alert(1)</script>",
		"<?xml version='1.0'?><a/>",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(active); i++)
		assert_int_equal(sniff_all(view_str(active[i])).use, SNIFF_ATTACHMENT);
}

static void test_edges(void **state)
{
	/* The head ends inside a character: still text. A whole file that does is not. */
	struct view cut = VIEW_INIT("caf\xc3");

	(void)state;
	assert_string_equal(sniff_bytes(VIEW(""), VIEW(""), 0).kind, "empty file");
	assert_string_equal(sniff_bytes(cut, cut, 100).kind, "text");
	assert_string_equal(sniff_bytes(cut, cut, cut.len).kind, "binary data");
	/* Nothing could be read of a file that is said to have bytes. */
	assert_int_equal(sniff_bytes(VIEW(""), VIEW(""), 10).width, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pictures),  cmocka_unit_test(test_cut_pictures),
		cmocka_unit_test(test_no_pixels), cmocka_unit_test(test_wild_jpeg),
		cmocka_unit_test(test_kinds),     cmocka_unit_test(test_active),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
