/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its bytes: which text, or what kind of binary. */
#include "base/utf8.h"
#include "keeper/text.h"

static const struct magic {
	size_t offset;
	struct view bytes;
	const char *kind;
} magics[] = {
	{ 0, VIEW_INIT("\x89PNG\r\n\x1a\n"), "PNG image" },
	{ 0, VIEW_INIT("\xff\xd8\xff"), "JPEG image" },
	{ 0, VIEW_INIT("GIF87a"), "GIF image" },
	{ 0, VIEW_INIT("GIF89a"), "GIF image" },
	{ 8, VIEW_INIT("WEBP"), "WebP image" },
	{ 8, VIEW_INIT("WAVE"), "WAV audio" },
	{ 8, VIEW_INIT("AVI "), "AVI video" },
	{ 4, VIEW_INIT("ftypavif"), "AVIF image" },
	{ 4, VIEW_INIT("ftypheic"), "HEIC image" },
	{ 4, VIEW_INIT("ftyp"), "MP4 video or audio" },
	{ 0, VIEW_INIT("II*\0"), "TIFF image" },
	{ 0, VIEW_INIT("MM\0*"), "TIFF image" },
	{ 0, VIEW_INIT("\0\0\1\0"), "Windows icon" },
	{ 0, VIEW_INIT("8BPS"), "Photoshop image" },
	{ 0, VIEW_INIT("%PDF-"), "PDF document" },
	{ 30, VIEW_INIT("mimetypeapplication/vnd.oasis.opendocument"), "OpenDocument file" },
	{ 30, VIEW_INIT("mimetypeapplication/epub"), "EPUB book" },
	{ 30, VIEW_INIT("[Content_Types].xml"), "Office document" },
	{ 30, VIEW_INIT("META-INF/"), "Java archive" },
	{ 0, VIEW_INIT("PK\3\4"), "ZIP archive" },
	{ 0, VIEW_INIT("PK\5\6"), "ZIP archive (empty)" },
	{ 0, VIEW_INIT("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "old Office document" },
	{ 0, VIEW_INIT("\x1f\x8b"), "gzip data" },
	{ 0, VIEW_INIT("BZh"), "bzip2 data" },
	{ 0,
	  VIEW_INIT("\xfd"
		    "7zXZ\0"),
	  "xz data" },
	{ 0, VIEW_INIT("\x28\xb5\x2f\xfd"), "zstd data" },
	{ 0, VIEW_INIT("\x04\x22\x4d\x18"), "LZ4 data" },
	{ 0, VIEW_INIT("7z\xbc\xaf\x27\x1c"), "7-Zip archive" },
	{ 0, VIEW_INIT("Rar!\x1a\x07"), "RAR archive" },
	{ 0, VIEW_INIT("!<arch>\ndebian-binary"), "Debian package" },
	{ 0, VIEW_INIT("!<arch>\n"), "static library" },
	{ 257, VIEW_INIT("ustar"), "tar archive" },
	{ 0,
	  VIEW_INIT("\x7f"
		    "ELF"),
	  "ELF program or library" },
	{ 0, VIEW_INIT("MZ\x90\0"), "Windows program" },
	{ 0, VIEW_INIT("\xcf\xfa\xed\xfe"), "macOS program" },
	{ 0, VIEW_INIT("\xca\xfe\xba\xbe"), "Java class or macOS program" },
	{ 0, VIEW_INIT("\0asm"), "WebAssembly module" },
	{ 0, VIEW_INIT("SQLite format 3\0"), "SQLite database" },
	{ 0, VIEW_INIT("PAR1"), "Parquet data" },
	{ 0, VIEW_INIT("\x89HDF\r\n\x1a\n"), "HDF5 data" },
	{ 0, VIEW_INIT("\x93NUMPY"), "NumPy array" },
	{ 0, VIEW_INIT("OggS"), "Ogg audio or video" },
	{ 0, VIEW_INIT("fLaC"), "FLAC audio" },
	{ 0, VIEW_INIT("ID3"), "MP3 audio" },
	{ 0, VIEW_INIT("\x1a\x45\xdf\xa3"), "Matroska or WebM video" },
	{ 0, VIEW_INIT("wOFF"), "web font" },
	{ 0, VIEW_INIT("wOF2"), "web font" },
	{ 0, VIEW_INIT("OTTO\0"), "OpenType font" },
	{ 0, VIEW_INIT("\0\1\0\0\0"), "TrueType font" },
};

const char *kind_by_magic(struct view head)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (view_starts(view_from(head, magics[i].offset), magics[i].bytes))
			return magics[i].kind;
	return NULL;
}

const char *kind_of_binary(struct view head)
{
	const char *kind = kind_by_magic(head);

	return kind ? kind : "binary data";
}

/* UTF-8, where a character at the very end may be cut. */
static bool is_utf8(struct view head, bool is_whole)
{
	size_t cut = is_whole || head.len < 4 ? 0 : 3;

	for (size_t drop = 0; drop <= cut; drop++)
		if (utf8_valid(view_first(head, head.len - drop)))
			return true;
	return false;
}

static bool is_odd_control(unsigned char c)
{
	return c == 0x7f || (c < 0x20 && (c < 0x07 || c > 0x0d) && c != 0x1b);
}

/* Few control characters: the rest may well be letters of some 8-bit code. */
static bool is_mostly_printable(struct view head)
{
	size_t controls = 0;

	for (size_t i = 0; i < head.len; i++)
		controls += is_odd_control((unsigned char)head.p[i]);
	return controls <= head.len / 64;
}

/*
 * UTF-16 without a mark: mostly Latin letters, so one byte of each pair is mostly NUL and the other
 * never.
 */
static enum text_encoding guess_utf16(struct view head)
{
	size_t nul[2] = { 0, 0 }, pairs = head.len / 2;

	for (size_t i = 0; i < pairs * 2; i++)
		nul[i % 2] += !head.p[i];
	if (pairs >= 2 && !nul[0] && nul[1] > pairs * 3 / 4)
		return TEXT_UTF16LE;
	if (pairs >= 2 && !nul[1] && nul[0] > pairs * 3 / 4)
		return TEXT_UTF16BE;
	return TEXT_BINARY;
}

struct text_format text_detect(struct view head, bool is_whole)
{
	static const struct view bom8 = VIEW_INIT("\xef\xbb\xbf"), le = VIEW_INIT("\xff\xfe"),
				 be = VIEW_INIT("\xfe\xff"), le32 = VIEW_INIT("\xff\xfe\0\0");
	struct text_format binary = { .encoding = TEXT_BINARY };

	if (kind_by_magic(head) || view_starts(head, le32))
		return binary;
	if (view_starts(head, le))
		return (struct text_format){ TEXT_UTF16LE, le.len };
	if (view_starts(head, be))
		return (struct text_format){ TEXT_UTF16BE, be.len };
	if (head.len && memchr(head.p, '\0', head.len))
		return (struct text_format){ guess_utf16(head), 0 };
	if (is_utf8(head, is_whole))
		return (struct text_format){ TEXT_UTF8, view_starts(head, bom8) ? bom8.len : 0 };
	if (is_mostly_printable(head))
		return (struct text_format){ TEXT_LATIN1, 0 };
	return binary;
}

const char *text_format_name(struct text_format format)
{
	switch (format.encoding) {
	case TEXT_UTF8:
		return format.bom_len ? "UTF-8 with BOM" : NULL;
	case TEXT_UTF16LE:
		return format.bom_len ? "UTF-16LE with BOM" : "UTF-16LE";
	case TEXT_UTF16BE:
		return format.bom_len ? "UTF-16BE with BOM" : "UTF-16BE";
	case TEXT_LATIN1:
		return "Latin-1/Windows-1252";
	case TEXT_BINARY:
		break;
	}
	return "binary";
}
