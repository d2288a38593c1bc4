/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments repeated in headers. */
#include "mcp/param_headers.h"

#include "mcp/headers.h"

#include <stdio.h>

/* The text a client puts into the header; false for a value that has none. */
static bool header_text(const json_t *value, char *scratch, size_t size, struct view *ret)
{
	if (json_is_string(value)) {
		*ret = json_view(value);
		return true;
	}
	if (json_is_boolean(value)) {
		*ret = json_is_true(value) ? VIEW("true") : VIEW("false");
		return true;
	}
	if (!json_is_integer(value))
		return false;
	(void)snprintf(scratch, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	*ret = view_str(scratch);
	return true;
}

static int check_header(const char *header_name, const json_t *value,
			const struct http_request *req, struct err *err)
{
	char name[80], scratch[24];
	struct view got, want;

	(void)snprintf(name, sizeof(name), "Mcp-Param-%s", header_name);
	got = http_request_header(req, name);
	if (!value || json_is_null(value)) {
		if (!got.p)
			return 0;
		return err_set(err, ERR_INVALID,
			       "Header mismatch: %s was sent without its argument", name);
	}
	if (!got.p)
		return err_set(err, ERR_INVALID, "Header mismatch: the %s header is missing", name);

	auto_buf struct buf decoded = BUF_INIT(got.len + 1);
	if (http_request_header_count(req, name) > 1 ||
	    mcp_header_decode(view_trim(got), &decoded) < 0)
		return err_set(err, ERR_INVALID,
			       "Header mismatch: the %s header is not encoded correctly", name);
	if (!header_text(value, scratch, sizeof(scratch), &want) ||
	    !view_eq(buf_view(&decoded), want))
		return err_set(err, ERR_INVALID, "Header mismatch: %s does not match the argument",
			       name);
	return 0;
}

int param_headers_check(const json_t *properties, const json_t *arguments,
			const struct http_request *req, struct err *err)
{
	const char *name;
	json_t *schema;

	json_object_foreach(json_mutable(properties), name, schema)
	{
		const char *header = json_string_value(json_object_get(schema, "x-mcp-header"));

		if (header && check_header(header, json_object_get(arguments, name), req, err) < 0)
			return -1;
	}
	return 0;
}
