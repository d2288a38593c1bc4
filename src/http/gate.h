/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request gate: decides where an HTTP/1 request begins and ends, and refuses whatever two
 * parsers could understand differently (RFC 9112 and nothing more: CRLF only, token method,
 * origin-form target, HTTP/1.1 or 1.0, exactly one Host, one decimal Content-Length or one
 * "chunked", no folding, no control bytes, no chunk extensions, no trailers). Every byte passes
 * through it before the HTTP library sees it. A pure state machine: no memory, no clock, no
 * socket; the bytes may come in any pieces.
 */
#ifndef BERTH_HTTP_GATE_H
#define BERTH_HTTP_GATE_H

#include "base/buf.h"

enum gate_state {
	GATE_METHOD,
	GATE_TARGET,
	GATE_VERSION,
	GATE_VERSION_LF,
	GATE_FIELD_START, /* a field, or the empty line that ends the head */
	GATE_FIELD_NAME,
	GATE_FIELD_VALUE,
	GATE_FIELD_LF,
	GATE_HEAD_LF,
	GATE_BODY, /* `left` bytes of a body with a length */
	GATE_CHUNK_SIZE,
	GATE_CHUNK_SIZE_LF,
	GATE_CHUNK_DATA, /* `left` bytes of a chunk */
	GATE_CHUNK_DATA_CR,
	GATE_CHUNK_DATA_LF,
	GATE_LAST_CR, /* after the chunk of size 0 */
	GATE_LAST_LF,
	GATE_DONE,
	GATE_REFUSED,
	GATE_NUM_STATES,
};

/* Fields whose value matters for framing. */
enum gate_field {
	GATE_FIELD_OTHER,
	GATE_FIELD_HOST,
	GATE_FIELD_LENGTH,
	GATE_FIELD_CODING,
	GATE_FIELD_EXPECT,
};

enum {
	GATE_MAX_NAME = 18,        /* the longest name above and one more */
	GATE_MAX_VALUE = 20,       /* the longest value kept: a 64-bit number */
	GATE_MAX_CHUNK_DIGITS = 8, /* hex digits of a chunk's size */
	GATE_MAX_HOST = 300,       /* bytes */
};

struct gate {
	enum gate_state state;
	enum gate_field field;
	uint32_t line_bytes;  /* of the method, target, version or name under way */
	uint32_t field_bytes; /* of all fields so far */
	uint16_t n_fields;
	uint16_t n_query_parts;
	uint8_t n_hosts, n_lengths, n_codings; /* how often each field was sent */
	uint8_t minor;                         /* HTTP/1.x */
	bool has_gap;                          /* white space came after the value began */
	bool is_value_bad; /* the value is not a single word of allowed characters */
	uint16_t n_value;  /* bytes of the value, without outer white space */
	char name[GATE_MAX_NAME];
	char value[GATE_MAX_VALUE];
	uint64_t left;      /* bytes of the body or the chunk to come */
	uint16_t status;    /* when refused: what to answer … */
	const char *reason; /* … and a sentence for it */
};

enum gate_event {
	GATE_MORE,         /* all bytes were taken */
	GATE_HEAD_ENDS,    /* the head is complete; feed again for the body */
	GATE_REQUEST_ENDS, /* the request is complete; gate_reset() before the next */
	GATE_REFUSAL,      /* see status and reason; nothing may follow */
};

void gate_reset(struct gate *g);
/* Looks at bytes of `in` until something happens; *ret_taken says how many (none of them on
 * GATE_REFUSAL may be used). */
enum gate_event gate_feed(struct gate *g, struct view in, size_t *ret_taken);
/* True once the head is complete. */
bool gate_has_head(const struct gate *g);

#endif
