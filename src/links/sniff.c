/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its bytes. */
#include "links/sniff.h"

#include "base/utf8.h"

#define BYTES(literal) VIEW_INIT(literal)

static uint32_t be16(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 8 | b[1];
}

static uint32_t be32(const char *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static uint32_t le16(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[1] << 8 | b[0];
}

static uint32_t le24(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[2] << 16 | le16(p);
}

/* ---- pictures: size, and whether the end is there ---- */

/* PNG (W3C PNG 5.2, 11.2.2): IHDR comes first, IEND last. */
static bool png_whole(struct view head, struct view tail, uint64_t size, struct sniff *s)
{
	static const struct view end = BYTES("IEND\xae\x42\x60\x82");

	(void)size;
	if (head.len < 24 || !view_eq(view_of(head.p + 12, 4), VIEW("IHDR")))
		return false;
	s->width = be32(head.p + 16);
	s->height = be32(head.p + 20);
	return view_ends(tail, end);
}

static bool gif_whole(struct view head, struct view tail, uint64_t size, struct sniff *s)
{
	(void)size;
	if (head.len < 13)
		return false;
	s->width = le16(head.p + 6);
	s->height = le16(head.p + 8);
	return tail.len && tail.p[tail.len - 1] == ';';
}

/* JPEG (ITU-T T.81 B.1): walks the segments to the frame header, which has the size. */
static bool jpeg_whole(struct view head, struct view tail, uint64_t size, struct sniff *s)
{
	static const struct view end = BYTES("\xff\xd9");
	size_t at = 2;

	(void)size;
	while (at + 9 < head.len && head.p[at] == '\xff') {
		unsigned marker = (unsigned char)head.p[at + 1];
		bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
				marker != 0xc8 && marker != 0xcc;

		if (is_frame) {
			s->height = be16(head.p + at + 5);
			s->width = be16(head.p + at + 7);
			break;
		}
		/* Fill bytes; markers without a segment; else skip the segment. */
		if (marker == 0xff)
			at += 1;
		else if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7))
			at += 2;
		else
			at += 2 + be16(head.p + at + 2);
	}
	return s->width && view_ends(tail, end);
}

/* WebP (RFC 9649): a RIFF file whose length field covers all but the first 8 bytes. */
static bool webp_whole(struct view head, struct view tail, uint64_t size, struct sniff *s)
{
	uint64_t riff;

	(void)tail;
	if (head.len < 30)
		return false;
	riff = (uint64_t)le16(head.p + 6) << 16 | le16(head.p + 4);
	if (view_eq(view_of(head.p + 12, 4), VIEW("VP8X"))) {
		s->width = le24(head.p + 24) + 1;
		s->height = le24(head.p + 27) + 1;
	} else if (view_eq(view_of(head.p + 12, 4), VIEW("VP8L"))) {
		uint32_t bits = le16(head.p + 23) << 16 | le16(head.p + 21);

		s->width = (bits & 0x3fff) + 1;
		s->height = (bits >> 14 & 0x3fff) + 1;
	} else if (view_eq(view_of(head.p + 12, 4), VIEW("VP8 "))) {
		s->width = le16(head.p + 26) & 0x3fff;
		s->height = le16(head.p + 28) & 0x3fff;
	}
	return s->width && riff + 8 <= size;
}

/* ---- the table ---- */

typedef bool whole_fn(struct view head, struct view tail, uint64_t size, struct sniff *s);

static const struct magic {
	size_t at;
	struct view bytes;
	const char *kind, *mime;
	enum sniff_use use;
	whole_fn *whole; /* pictures only */
} magics[] = {
	{ 0, BYTES("\x89PNG\r\n\x1a\n"), "PNG image", "image/png", SNIFF_INLINE, png_whole },
	{ 0, BYTES("\xff\xd8\xff"), "JPEG image", "image/jpeg", SNIFF_INLINE, jpeg_whole },
	{ 0, BYTES("GIF87a"), "GIF image", "image/gif", SNIFF_INLINE, gif_whole },
	{ 0, BYTES("GIF89a"), "GIF image", "image/gif", SNIFF_INLINE, gif_whole },
	{ 8, BYTES("WEBPVP8"), "WebP image", "image/webp", SNIFF_INLINE, webp_whole },
	{ 0, BYTES("BM"), "BMP image", "image/bmp", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("II*\0"), "TIFF image", "image/tiff", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("MM\0*"), "TIFF image", "image/tiff", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("%PDF-"), "PDF document", "application/pdf", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("PK\x03\x04"), "ZIP archive or office document", "application/zip",
	  SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "old office document",
	  "application/octet-stream", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("\x1f\x8b"), "gzip archive", "application/gzip", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("BZh"), "bzip2 archive", "application/x-bzip2", SNIFF_ATTACHMENT, NULL },
	{ 0,
	  BYTES("\xfd"
		"7zXZ\0"),
	  "xz archive", "application/x-xz", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("\x28\xb5\x2f\xfd"), "zstd archive", "application/zstd", SNIFF_ATTACHMENT,
	  NULL },
	{ 0, BYTES("7z\xbc\xaf\x27\x1c"), "7z archive", "application/x-7z-compressed",
	  SNIFF_ATTACHMENT, NULL },
	{ 257, BYTES("ustar"), "tar archive", "application/x-tar", SNIFF_ATTACHMENT, NULL },
	{ 0,
	  BYTES("\x7f"
		"ELF"),
	  "ELF program or library", "application/octet-stream", SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("SQLite format 3\0"), "SQLite database", "application/vnd.sqlite3",
	  SNIFF_ATTACHMENT, NULL },
	{ 0, BYTES("ID3"), "MP3 audio", "audio/mpeg", SNIFF_INLINE, NULL },
	{ 0, BYTES("\xff\xfb"), "MP3 audio", "audio/mpeg", SNIFF_INLINE, NULL },
	{ 0, BYTES("fLaC"), "FLAC audio", "audio/flac", SNIFF_INLINE, NULL },
	{ 0, BYTES("OggS"), "Ogg audio or video", "application/ogg", SNIFF_INLINE, NULL },
	{ 8, BYTES("WAVE"), "WAV audio", "audio/wav", SNIFF_INLINE, NULL },
	{ 4, BYTES("ftypM4A"), "M4A audio", "audio/mp4", SNIFF_INLINE, NULL },
	{ 4, BYTES("ftyp"), "MP4 video", "video/mp4", SNIFF_INLINE, NULL },
	{ 0, BYTES("\x1a\x45\xdf\xa3"), "WebM or Matroska video", "video/webm", SNIFF_INLINE,
	  NULL },
};

static bool matches(const struct magic *m, struct view head)
{
	return head.len >= m->at + m->bytes.len &&
	       view_eq(view_of(head.p + m->at, m->bytes.len), m->bytes);
}

/* ---- text ---- */

static bool contains_nocase(struct view text, const char *needle)
{
	size_t len = strlen(needle);

	for (size_t i = 0; i + len <= text.len; i++)
		if (view_is_nocase(view_of(text.p + i, len), needle))
			return true;
	return false;
}

/* A cut at the end of `head` may split a character: up to 3 bytes of it are no fault. */
static bool is_text(struct view head, uint64_t size)
{
	if (memchr(head.p, '\0', head.len))
		return false;
	for (size_t cut = 0; cut < 4 && cut <= head.len; cut++)
		if (utf8_valid(view_first(head, head.len - cut)))
			return cut == 0 || head.len < size;
	return false;
}

/* Markup that a browser would run is saved, never shown, whatever it is called. */
static struct sniff text_kind(struct view head)
{
	static const char *const html[] = { "<!doctype html", "<html", "<script", "<body",
					    "<iframe" };
	struct view start = view_first(head, 1024);

	if (contains_nocase(start, "<svg"))
		return (struct sniff){ .kind = "SVG image", .mime = "image/svg+xml" };
	for (size_t i = 0; i < ARRAY_SIZE(html); i++)
		if (contains_nocase(start, html[i]))
			return (struct sniff){ .kind = "HTML page",
					       .mime = "text/html; charset=utf-8" };
	if (view_starts(start, VIEW("<?xml")))
		return (struct sniff){ .kind = "XML text", .mime = "application/xml" };
	return (struct sniff){ .kind = "text",
			       .mime = "text/plain; charset=utf-8",
			       .use = SNIFF_INLINE };
}

struct sniff sniff_bytes(struct view head, struct view tail, uint64_t size)
{
	if (size == 0)
		return (struct sniff){ .kind = "empty file", .mime = "application/octet-stream" };
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		const struct magic *m = &magics[i];
		struct sniff s = { .kind = m->kind, .mime = m->mime, .use = m->use };

		if (!matches(m, head))
			continue;
		if (m->whole)
			s.is_picture = m->whole(head, tail, size, &s) && s.width && s.height;
		return s;
	}
	if (is_text(head, size))
		return text_kind(head);
	return (struct sniff){ .kind = "binary data", .mime = "application/octet-stream" };
}
