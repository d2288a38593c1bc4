/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson behind bounds and typed getters. Input is refused before parsing when it is deeper or
 * has more nodes than JSON_MAX_*, since a parsed tree costs far more memory than its text.
 * Duplicate keys, trailing text and bad UTF-8 are refused.
 *
 * Output is written by hand where its shape is fixed (json_add_string) and by json_print() where it
 * is a tree. Both escape what some line-splitting readers take for a line end (U+0085, U+2028,
 * U+2029), so a text is one line to everybody.
 */
#ifndef BERTH_JSON_JSON_H
#define BERTH_JSON_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum {
	JSON_MAX_DEPTH = 64,
	JSON_MAX_NODES = 20000,
};

static inline void json_cleanup(json_t **j)
{
	json_decref(*j);
}
#define auto_json CLEANUP(json_cleanup)

/* jansson takes references to, and walks over, const values through pointers that are not. */
static inline json_t *json_mutable(const json_t *value)
{
	union {
		const json_t *in;
		json_t *out;
	} same = { .in = value };

	return same.out;
}

/* ---- reading ---- */

/*
 * The value, owned by the caller; NULL with ERR_INVALID (message with line and column). NUL in a
 * string (\u0000) is refused, so strings may be read as C strings.
 */
json_t *json_parse(struct view text, struct err *err) MUST_CHECK;

/*
 * The same, but a string may hold NUL: for callers that want to refuse it themselves, by name, as
 * the getters below do. Read such strings with their length only. Names never hold NUL.
 */
json_t *json_parse_allow_nul(struct view text, struct err *err) MUST_CHECK;

/*
 * Optional members of an object, as models send them: an absent one and null leave *ret untouched
 * and return 0; 1 when *ret was set; -1 with ERR_INVALID naming the member. "" counts as absent
 * too, except for json_get_text(). Strings are borrowed from the object and never hold NUL.
 */
int json_get_string(const json_t *obj, const char *name, struct view *ret,
		    struct err *err) MUST_CHECK;
/* "" is a value: for contents, where empty means something. */
int json_get_text(const json_t *obj, const char *name, struct view *ret,
		  struct err *err) MUST_CHECK;
/* A number, or a string of decimal digits ("30"), or a number without fraction (30.0). */
int json_get_u32(const json_t *obj, const char *name, uint32_t min, uint32_t max, uint32_t *ret,
		 struct err *err) MUST_CHECK;
/* true/false, or the strings "true"/"false". */
int json_get_bool(const json_t *obj, const char *name, bool *ret, struct err *err) MUST_CHECK;

/* A string value with its length; the empty view for anything else (NULL included). */
struct view json_view(const json_t *value);

/* ---- writing ---- */

/* Appends compact text on one line. -1 with ERR_FULL past the buffer's limit. */
int json_print(struct buf *out, const json_t *value, struct err *err) MUST_CHECK;

/*
 * Appends a quoted JSON string of bytes from outside: each invalid UTF-8 sequence becomes U+FFFD,
 * NUL becomes U+2400. As buf_add(): nothing is added on failure.
 */
int json_add_string(struct buf *out, struct view v) MUST_CHECK;

/* The same as a value. NULL when out of memory. */
json_t *json_text(struct view v) MUST_CHECK;

#endif
