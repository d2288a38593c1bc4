/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded parsing: a linear look at the text first, then jansson. */
#include "json/json.h"

/* Past the closing quote of the string that starts at `at` (or the end of the text). */
static size_t skip_string(struct view text, size_t at)
{
	for (at++; at < text.len; at++) {
		if (text.p[at] == '\\')
			at++;
		else if (text.p[at] == '"')
			return at + 1;
	}
	return text.len;
}

/*
 * Depth and number of values, without building anything. A text that is no JSON may be counted
 * wrongly; jansson refuses it next.
 */
static int check_size(struct view text, struct err *err)
{
	size_t depth = 0, nodes = 1;

	for (size_t i = 0; i < text.len;) {
		switch (text.p[i]) {
		case '"':
			i = skip_string(text, i);
			continue;
		case '{':
		case '[':
			nodes++;
			if (++depth > JSON_MAX_DEPTH)
				return err_set(err, ERR_INVALID, "JSON nested deeper than %d",
					       JSON_MAX_DEPTH);
			break;
		case '}':
		case ']':
			if (depth)
				depth--;
			break;
		case ',':
			nodes++;
			break;
		default:
			break;
		}
		if (nodes > JSON_MAX_NODES)
			return err_set(err, ERR_INVALID, "JSON with more than %d values",
				       JSON_MAX_NODES);
		i++;
	}
	return 0;
}

static json_t *parse(struct view text, size_t flags, struct err *err)
{
	json_error_t why;
	json_t *value;

	if (check_size(text, err) < 0)
		return NULL;
	value = json_loadb(text.p, text.len, flags | JSON_REJECT_DUPLICATES, &why);
	if (!value)
		(void)err_set(err, ERR_INVALID, "not JSON: %s (line %d, column %d)", why.text,
			      why.line, why.column);
	return value;
}

json_t *json_parse(struct view text, struct err *err)
{
	return parse(text, JSON_DECODE_ANY, err);
}

json_t *json_parse_allow_nul(struct view text, struct err *err)
{
	return parse(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, err);
}
