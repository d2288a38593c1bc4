/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as files hold it and as the model sees it. The model always sees UTF-8 with "\n"; a file may
 * be UTF-16 or Latin-1, may begin with a byte order mark, may have CRLF line ends. Edits are made
 * in what the model sees (the body) and carried back to the file's bytes by offset, so that nothing
 * outside the edited span is ever converted.
 */
#ifndef BERTH_KEEPER_TEXT_H
#define BERTH_KEEPER_TEXT_H

#include "base/buf.h"
#include "base/err.h"

enum text_encoding {
	TEXT_UTF8,
	TEXT_UTF16LE,
	TEXT_UTF16BE,
	TEXT_LATIN1, /* with the printable characters that Windows-1252 has at 0x80 to 0x9f */
	TEXT_BINARY, /* not text */
};

enum { TEXT_DETECT_BYTES = 64 * 1024 }; /* how much of a file's beginning is looked at */

struct text_format {
	enum text_encoding encoding;
	size_t bom_len; /* bytes of the byte order mark */
};

/* From the beginning of a file; is_whole: there is nothing after it. */
struct text_format text_detect(struct view head, bool is_whole);

/* "UTF-8", "UTF-8 with BOM", …; NULL for plain UTF-8 when nothing needs to be said. */
const char *text_format_name(struct text_format format);

/* What kind of binary a file is, by its first bytes: "PNG image", …; never NULL. */
const char *kind_of_binary(struct view head);
/* The same, or NULL when the bytes are not of a known kind. */
const char *kind_by_magic(struct view head);

/*
 * Appends the body of `raw` (which is after the mark): decoded, CRLF as "\n". A lone surrogate
 * becomes its three bytes of generalised UTF-8. As buf_add().
 */
int text_decode(struct buf *out, enum text_encoding encoding, struct view raw) MUST_CHECK;

/* True where body and raw bytes are the same, so that decoding can be skipped. */
bool text_is_plain(enum text_encoding encoding, struct view raw);

/* Walks a raw text and its body in step: raw offsets for growing body offsets. */
struct text_walk {
	enum text_encoding encoding;
	struct view raw;
	size_t raw_at, body_at;
};
/* The raw offset of body offset `body` (>= that of the call before, on a character's bounds). */
size_t text_walk_to(struct text_walk *w, size_t body);

/* Which line end follows or fills a span; the ones of a file may be mixed. */
enum text_ending { TEXT_LF, TEXT_CRLF };

/* raw[from, to), whose line ends and surroundings a replacement follows. */
struct text_span {
	struct view raw;
	size_t from, to;
};

/*
 * Appends a replacement for the span as the file writes it: in its encoding, with its line ends
 * (the n-th line end like the n-th in the span, the rest like those around it). -EILSEQ with
 * *ret_bad for a character that the encoding does not have.
 */
int text_encode(struct buf *out, enum text_encoding encoding, const struct text_span *span,
		struct view replacement, uint32_t *ret_bad) MUST_CHECK;

/* Appends `text` with every "\r\n" as "\n". As buf_add(). */
int text_fold(struct buf *out, struct view text) MUST_CHECK;

/* How many line ends are before `at`, plus one. */
uint64_t text_line_of(struct view body, size_t at);
/* Offset of the start of the 1-based line, or body.len if there are fewer lines. */
size_t text_line_start(struct view body, uint64_t line);

#endif
