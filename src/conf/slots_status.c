/* SPDX-License-Identifier: Apache-2.0 */
/* The status file of berth-slots. */
#include "conf/slots_status.h"

#include "base/parse.h"

enum kind { KIND_NUMBER, KIND_BOOL, KIND_WORD };

static const struct field {
	const char *name;
	enum kind kind;
	size_t offset;
} fields[] = {
	{ "slots", KIND_NUMBER, offsetof(struct slots_status, slots) },
	{ "storage", KIND_WORD, offsetof(struct slots_status, storage) },
	{ "workspace_bounded", KIND_BOOL, offsetof(struct slots_status, workspace_bounded) },
	{ "layer_bounded", KIND_BOOL, offsetof(struct slots_status, layer_bounded) },
	{ "network", KIND_WORD, offsetof(struct slots_status, network) },
	{ "connections_bounded", KIND_BOOL, offsetof(struct slots_status, connections_bounded) },
	{ "bandwidth_bounded", KIND_BOOL, offsetof(struct slots_status, bandwidth_bounded) },
	{ "settings", KIND_WORD, offsetof(struct slots_status, settings) },
	{ "cgroups", KIND_WORD, offsetof(struct slots_status, cgroups) },
};

static int print_field(const struct slots_status *status, const struct field *f, struct buf *out)
{
	const char *at = (const char *)status + f->offset;

	switch (f->kind) {
	case KIND_NUMBER:
		return buf_addf(out, "%s=%u\n", f->name, *(const uint32_t *)(const void *)at);
	case KIND_BOOL:
		return buf_addf(out, "%s=%s\n", f->name,
				*(const bool *)(const void *)at ? "yes" : "no");
	case KIND_WORD:
		break;
	}
	return buf_addf(out, "%s=%s\n", f->name, at);
}

int slots_status_print(const struct slots_status *status, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		int r = print_field(status, &fields[i], out);

		if (r < 0)
			return r;
	}
	return 0;
}

static int set_field(struct slots_status *status, struct view name, struct view value)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *at = (char *)status + fields[i].offset;

		if (!view_is(name, fields[i].name))
			continue;
		switch (fields[i].kind) {
		case KIND_NUMBER:
			return parse_u32(value, 1, UINT32_MAX, (uint32_t *)(void *)at);
		case KIND_BOOL:
			return parse_bool(value, (bool *)(void *)at);
		case KIND_WORD:
			return view_copy(value, at, SLOTS_STATUS_WORD);
		}
	}
	return 0;
}

int slots_status_parse(struct view text, struct slots_status *ret)
{
	struct slots_status status = { 0 };
	struct view line;

	while (view_split(&text, '\n', &line)) {
		size_t at = view_find(line, '=');

		if (at < line.len &&
		    set_field(&status, view_first(line, at), view_from(line, at + 1)) < 0)
			return -EINVAL;
	}
	if (status.slots == 0)
		return -EINVAL;
	*ret = status;
	return 0;
}
