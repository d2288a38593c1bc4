/* SPDX-License-Identifier: Apache-2.0 */
/* Typed getters, as forgiving about types as models are careless about them. */
#include "json/json.h"

#include "base/parse.h"

struct view json_view(const json_t *value)
{
	if (!json_is_string(value))
		return VIEW("");
	return view_of(json_string_value(value), json_string_length(value));
}

/* The member, or NULL where it counts as absent. */
static const json_t *member(const json_t *obj, const char *name)
{
	const json_t *value = json_object_get(obj, name);

	return json_is_null(value) ? NULL : value;
}

static bool is_empty_string(const json_t *value)
{
	return json_is_string(value) && json_string_length(value) == 0;
}

int json_get_text(const json_t *obj, const char *name, struct view *ret, struct err *err)
{
	const json_t *value = member(obj, name);
	struct view text;
	size_t nul;

	if (!value)
		return 0;
	if (!json_is_string(value))
		return err_set(err, ERR_INVALID, "%s must be a string", name);
	text = json_view(value);
	nul = view_find(text, '\0');
	if (nul < text.len)
		return err_set(err, ERR_INVALID,
			       "%s must not contain a NUL character: there is one at byte %zu",
			       name, nul);
	*ret = text;
	return 1;
}

int json_get_string(const json_t *obj, const char *name, struct view *ret, struct err *err)
{
	if (is_empty_string(member(obj, name)))
		return 0;
	return json_get_text(obj, name, ret, err);
}

/* false if the value is no whole number from 0 to 2^53, in any of the accepted spellings. */
static bool whole_number(const json_t *value, uint64_t *ret)
{
	const double largest = 9007199254740992.0; /* every whole number up to it is exact */

	if (json_is_string(value))
		return parse_u64(json_view(value), 0, UINT64_MAX, ret) == 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret = (uint64_t)json_integer_value(value);
		return true;
	}
	if (json_is_real(value)) {
		double d = json_real_value(value);

		if (!(d >= 0 && d <= largest))
			return false;
		*ret = (uint64_t)d;
		return (double)*ret >= d;
	}
	return false;
}

int json_get_u32(const json_t *obj, const char *name, uint32_t min, uint32_t max, uint32_t *ret,
		 struct err *err)
{
	const json_t *value = member(obj, name);
	uint64_t n;

	if (!value || is_empty_string(value))
		return 0;
	if (!whole_number(value, &n) || n < min || n > max)
		return err_set(err, ERR_INVALID, "%s must be a whole number from %u to %u", name,
			       min, max);
	*ret = (uint32_t)n;
	return 1;
}

int json_get_bool(const json_t *obj, const char *name, bool *ret, struct err *err)
{
	const json_t *value = member(obj, name);

	if (!value || is_empty_string(value))
		return 0;
	if (json_is_boolean(value))
		*ret = json_is_true(value);
	else if (view_is_nocase(json_view(value), "true"))
		*ret = true;
	else if (view_is_nocase(json_view(value), "false"))
		*ret = false;
	else
		return err_set(err, ERR_INVALID, "%s must be true or false", name);
	return 1;
}
