/* SPDX-License-Identifier: Apache-2.0 */
/* Range and validator headers. */
#include "http/range.h"

#include "base/parse.h"

/* Like parse_u64(), but a number that is too large is the largest. */
static int parse_position(struct view text, uint64_t *ret)
{
	int r = parse_u64(text, 0, UINT64_MAX, ret);

	if (r == -ERANGE) {
		*ret = UINT64_MAX;
		return 0;
	}
	return r;
}

/* "-N": the last N bytes. */
static enum range_answer parse_suffix(struct view text, uint64_t size, uint64_t *ret_first,
				      uint64_t *ret_last)
{
	uint64_t n;

	if (parse_position(text, &n) < 0)
		return RANGE_WHOLE;
	if (n == 0)
		return RANGE_UNSATISFIABLE;
	*ret_first = n < size ? size - n : 0;
	*ret_last = size - 1;
	return RANGE_PART;
}

enum range_answer range_parse(struct view header, uint64_t size, uint64_t *ret_first,
			      uint64_t *ret_last)
{
	static const struct view unit = VIEW_INIT("bytes=");
	uint64_t first, last = UINT64_MAX;
	struct view spec, end;
	size_t dash;

	/* Nothing of an empty file can be asked for, but it can be sent. */
	if (size == 0 || !view_is_nocase(view_first(header, unit.len), unit.p))
		return RANGE_WHOLE;
	spec = view_trim(view_from(header, unit.len));
	dash = view_find(spec, '-');
	if (dash == spec.len || view_find(spec, ',') < spec.len)
		return RANGE_WHOLE;
	end = view_from(spec, dash + 1);
	if (dash == 0)
		return parse_suffix(end, size, ret_first, ret_last);
	if (parse_position(view_first(spec, dash), &first) < 0 ||
	    (end.len && parse_position(end, &last) < 0) || last < first)
		return RANGE_WHOLE;
	if (first >= size)
		return RANGE_UNSATISFIABLE;
	*ret_first = first;
	*ret_last = last < size ? last : size - 1;
	return RANGE_PART;
}

bool etag_list_has(struct view list, struct view etag)
{
	struct view part;

	while (view_split(&list, ',', &part)) {
		part = view_trim(part);
		if (view_is(part, "*"))
			return true;
		if (view_starts(part, VIEW("W/")))
			part = view_from(part, 2);
		if (view_eq(part, etag))
			return true;
	}
	return false;
}
