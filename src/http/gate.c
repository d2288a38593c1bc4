/* SPDX-License-Identifier: Apache-2.0 */
/* The request gate. */
#include "http/gate.h"

#include "base/parse.h"
#include "http/limits.h"

#include <assert.h>

static void refuse(struct gate *g, uint16_t status, const char *reason)
{
	g->state = GATE_REFUSED;
	g->status = status;
	g->reason = reason;
}

static void bad(struct gate *g, const char *reason)
{
	refuse(g, 400, reason);
}

/* RFC 9110 5.6.2 */
static bool is_token_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void on_method(struct gate *g, unsigned char c)
{
	if (c == ' ' && g->line_bytes) {
		g->line_bytes = 0;
		g->state = GATE_TARGET;
	} else if (!is_token_char(c)) {
		bad(g, "The request line does not start with a method.");
	} else if (++g->line_bytes > HTTP_MAX_METHOD) {
		refuse(g, 501, "The method is not known here.");
	}
}

static void on_target(struct gate *g, unsigned char c)
{
	if (c == ' ' && g->line_bytes) {
		g->line_bytes = 0;
		g->state = GATE_VERSION;
	} else if (c <= ' ' || c >= 0x7f || c == '#') {
		bad(g, "The request target has a character that must be percent-encoded.");
	} else if (g->line_bytes == 0 && c != '/') {
		bad(g, "The request target must start with '/'.");
	} else if (++g->line_bytes > HTTP_MAX_TARGET) {
		refuse(g, 414, "The request target is too long.");
	} else if (c == '&' && ++g->n_query_parts > HTTP_MAX_QUERY_PARTS) {
		refuse(g, 414, "The query has too many parameters.");
	}
}

static void on_version(struct gate *g, unsigned char c)
{
	static const char prefix[] = "HTTP/";
	uint32_t at = g->line_bytes++;

	if (at < 5) {
		if (c != (unsigned char)prefix[at])
			bad(g, "The request line does not end with an HTTP version.");
	} else if (at == 6 ? c != '.' : at < 8 && (c < '0' || c > '9')) {
		bad(g, "The HTTP version is malformed.");
	} else if (at == 5) {
		if (c != '1')
			refuse(g, 505, "Only HTTP/1.1 is spoken here.");
	} else if (at == 7) {
		g->minor = (uint8_t)(c - '0');
		if (g->minor > 1)
			refuse(g, 505, "Only HTTP/1.1 is spoken here.");
	} else if (at == 8) {
		if (c == '\r')
			g->state = GATE_VERSION_LF;
		else
			bad(g, "The request line must end with CR LF after the version.");
	}
}

static void expect_lf(struct gate *g, unsigned char c, enum gate_state next)
{
	if (c == '\n')
		g->state = next;
	else
		bad(g, "A CR is not followed by LF.");
}

static void on_version_lf(struct gate *g, unsigned char c)
{
	expect_lf(g, c, GATE_FIELD_START);
}

static void count_field_byte(struct gate *g)
{
	if (++g->field_bytes > HTTP_MAX_FIELD_BYTES)
		refuse(g, 431, "The header fields are too long.");
}

static void on_field_name(struct gate *g, unsigned char c);

static void on_field_start(struct gate *g, unsigned char c)
{
	if (c == '\r') {
		g->state = GATE_HEAD_LF;
		return;
	}
	if (c == ' ' || c == '\t') {
		bad(g, "Folded header lines are not allowed.");
		return;
	}
	if (++g->n_fields > HTTP_MAX_FIELDS) {
		refuse(g, 431, "There are too many header fields.");
		return;
	}
	g->line_bytes = 0;
	g->state = GATE_FIELD_NAME;
	on_field_name(g, c);
}

static enum gate_field field_of(struct view name)
{
	static const struct {
		const char *name;
		enum gate_field field;
	} known[] = {
		{ "host", GATE_FIELD_HOST },
		{ "content-length", GATE_FIELD_LENGTH },
		{ "transfer-encoding", GATE_FIELD_CODING },
		{ "expect", GATE_FIELD_EXPECT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (view_is_nocase(name, known[i].name))
			return known[i].field;
	return GATE_FIELD_OTHER;
}

static void on_field_name(struct gate *g, unsigned char c)
{
	count_field_byte(g);
	if (g->state == GATE_REFUSED)
		return;
	if (c == ':' && g->line_bytes) {
		size_t kept = g->line_bytes <= sizeof(g->name) ? g->line_bytes : 0;

		g->field = field_of(view_of(g->name, kept));
		g->has_gap = false;
		g->is_value_bad = false;
		g->n_value = 0;
		g->state = GATE_FIELD_VALUE;
	} else if (c == ' ' || c == '\t') {
		bad(g, "There is white space between a header's name and its colon.");
	} else if (!is_token_char(c)) {
		bad(g, "A header's name has a character that is not allowed.");
	} else if (g->line_bytes == HTTP_MAX_FIELD_NAME) {
		refuse(g, 431, "A header's name is too long.");
	} else {
		if (g->line_bytes < sizeof(g->name))
			g->name[g->line_bytes] = (char)c;
		g->line_bytes++;
	}
}

static bool is_host_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._:[]", c));
}

/* One byte of a value that matters: kept without the white space around it. */
static void keep_value_byte(struct gate *g, unsigned char c)
{
	size_t room = g->field == GATE_FIELD_HOST ? GATE_MAX_HOST : sizeof(g->value);

	if (c == ' ' || c == '\t') {
		g->has_gap = g->n_value > 0;
		return;
	}
	if (g->has_gap || g->n_value == room || (g->field == GATE_FIELD_HOST && !is_host_char(c))) {
		g->is_value_bad = true;
		return;
	}
	if (g->n_value < sizeof(g->value))
		g->value[g->n_value] = (char)c;
	g->n_value++;
}

static struct view kept_value(const struct gate *g)
{
	size_t len = g->n_value < sizeof(g->value) ? g->n_value : sizeof(g->value);

	return view_of(g->value, g->is_value_bad ? 0 : len);
}

static void end_length(struct gate *g)
{
	if (++g->n_lengths > 1)
		bad(g, "There is more than one Content-Length.");
	else if (parse_u64(kept_value(g), 0, INT64_MAX, &g->left) < 0)
		bad(g, "Content-Length is not a decimal number.");
}

static void end_coding(struct gate *g)
{
	if (++g->n_codings > 1)
		bad(g, "There is more than one Transfer-Encoding.");
	else if (!view_is_nocase(kept_value(g), "chunked"))
		refuse(g, 501, "Only the transfer coding \"chunked\" is known here.");
}

static void end_field(struct gate *g)
{
	/* Legal, but libmicrohttpd takes "chunked " for an unknown coding. */
	if (g->has_gap && !g->is_value_bad &&
	    (g->field == GATE_FIELD_LENGTH || g->field == GATE_FIELD_CODING)) {
		bad(g, "There is white space after Content-Length or Transfer-Encoding.");
		return;
	}
	switch (g->field) {
	case GATE_FIELD_OTHER:
		break;
	case GATE_FIELD_HOST:
		if (++g->n_hosts > 1)
			bad(g, "There is more than one Host.");
		else if (g->is_value_bad || g->n_value == 0)
			bad(g, "Host is not a host name with an optional port.");
		break;
	case GATE_FIELD_LENGTH:
		end_length(g);
		break;
	case GATE_FIELD_CODING:
		end_coding(g);
		break;
	case GATE_FIELD_EXPECT:
		if (!view_is_nocase(kept_value(g), "100-continue"))
			refuse(g, 417, "Only \"Expect: 100-continue\" can be met.");
		break;
	}
}

static void on_field_value(struct gate *g, unsigned char c)
{
	count_field_byte(g);
	if (g->state == GATE_REFUSED)
		return;
	if (c == '\r') {
		g->state = GATE_FIELD_LF;
		end_field(g);
	} else if ((c < ' ' && c != '\t') || c == 0x7f) {
		bad(g, "A header's value has a control character.");
	} else if (g->field != GATE_FIELD_OTHER) {
		keep_value_byte(g, c);
	}
}

static void on_field_lf(struct gate *g, unsigned char c)
{
	expect_lf(g, c, GATE_FIELD_START);
}

static void on_head_lf(struct gate *g, unsigned char c)
{
	expect_lf(g, c, GATE_DONE);
	if (g->state == GATE_REFUSED)
		return;
	if (g->minor == 1 && g->n_hosts == 0)
		bad(g, "There is no Host.");
	else if (g->n_codings && g->n_lengths)
		bad(g, "There are both a Content-Length and a Transfer-Encoding.");
	else if (g->n_codings && g->minor == 0)
		bad(g, "HTTP/1.0 has no Transfer-Encoding.");
	else if (g->n_codings)
		g->state = GATE_CHUNK_SIZE;
	else if (g->left)
		g->state = GATE_BODY;
	g->line_bytes = 0;
}

static void on_chunk_size(struct gate *g, unsigned char c)
{
	int digit = hex_digit((char)c);

	if (c == '\r' && g->line_bytes) {
		g->state = GATE_CHUNK_SIZE_LF;
	} else if (digit < 0) {
		bad(g, "A chunk's size is not a hexadecimal number alone on its line.");
	} else if (++g->line_bytes > GATE_MAX_CHUNK_DIGITS) {
		refuse(g, 413, "A chunk is too large.");
	} else {
		g->left = (g->line_bytes == 1 ? 0 : g->left << 4) | (uint64_t)digit;
	}
}

static void on_chunk_size_lf(struct gate *g, unsigned char c)
{
	g->line_bytes = 0;
	expect_lf(g, c, g->left ? GATE_CHUNK_DATA : GATE_LAST_CR);
}

static void on_chunk_data_cr(struct gate *g, unsigned char c)
{
	if (c == '\r')
		g->state = GATE_CHUNK_DATA_LF;
	else
		bad(g, "A chunk is longer than its size says.");
}

static void on_chunk_data_lf(struct gate *g, unsigned char c)
{
	expect_lf(g, c, GATE_CHUNK_SIZE);
}

static void on_last_cr(struct gate *g, unsigned char c)
{
	if (c == '\r')
		g->state = GATE_LAST_LF;
	else
		bad(g, "Trailer fields are not allowed.");
}

static void on_last_lf(struct gate *g, unsigned char c)
{
	expect_lf(g, c, GATE_DONE);
}

/* States without an entry take many bytes at once, or none: gate_feed(). */
static void (*const on_byte[GATE_NUM_STATES])(struct gate *g, unsigned char c) = {
	[GATE_METHOD] = on_method,
	[GATE_TARGET] = on_target,
	[GATE_VERSION] = on_version,
	[GATE_VERSION_LF] = on_version_lf,
	[GATE_FIELD_START] = on_field_start,
	[GATE_FIELD_NAME] = on_field_name,
	[GATE_FIELD_VALUE] = on_field_value,
	[GATE_FIELD_LF] = on_field_lf,
	[GATE_HEAD_LF] = on_head_lf,
	[GATE_CHUNK_SIZE] = on_chunk_size,
	[GATE_CHUNK_SIZE_LF] = on_chunk_size_lf,
	[GATE_CHUNK_DATA_CR] = on_chunk_data_cr,
	[GATE_CHUNK_DATA_LF] = on_chunk_data_lf,
	[GATE_LAST_CR] = on_last_cr,
	[GATE_LAST_LF] = on_last_lf,
};

void gate_reset(struct gate *g)
{
	*g = (struct gate){ .state = GATE_METHOD };
}

bool gate_has_head(const struct gate *g)
{
	return g->state >= GATE_BODY && g->state != GATE_REFUSED;
}

/* Counts down the body or chunk; returns how many of `len` bytes belong to it. */
static size_t skip_data(struct gate *g, size_t len)
{
	size_t n = g->left < len ? (size_t)g->left : len;

	g->left -= n;
	if (g->left == 0)
		g->state = g->state == GATE_BODY ? GATE_DONE : GATE_CHUNK_DATA_CR;
	return n;
}

enum gate_event gate_feed(struct gate *g, struct view in, size_t *ret_taken)
{
	size_t i = 0;

	while (i < in.len && g->state < GATE_DONE) {
		if (g->state == GATE_BODY || g->state == GATE_CHUNK_DATA) {
			i += skip_data(g, in.len - i);
			continue;
		}
		bool was_head_lf = g->state == GATE_HEAD_LF;

		on_byte[g->state](g, (unsigned char)in.p[i++]);
		if (was_head_lf && g->state != GATE_REFUSED) {
			*ret_taken = i;
			return GATE_HEAD_ENDS;
		}
	}
	*ret_taken = i;
	if (g->state == GATE_REFUSED)
		return GATE_REFUSAL;
	return g->state == GATE_DONE ? GATE_REQUEST_ENDS : GATE_MORE;
}
