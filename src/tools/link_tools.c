/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that hand out links: descriptions and registration. */
#include "tools/link_tools.h"

#include <time.h>

static const struct mcp_tool tools[] = {
	{ .name = "present_file",
	  .title = "Present file",
	  .description =
		  "Give the user a file from /workspace: returns a download link that is valid for "
		  "some minutes (show it to the user), and attaches small png, jpeg, gif and webp "
		  "images. For several files make an archive first.",
	  .properties = "{\"path\":{\"type\":\"string\",\"description\":\"File under /workspace\"},"
			"\"caption\":{\"type\":\"string\",\"description\":\"A line about it\"}}",
	  .required = "[\"path\"]",
	  .takes_sandbox = true,
	  .read_only = true,
	  .fn = present_file_tool },
	{ .name = "request_upload",
	  .title = "Request upload",
	  .description =
		  "Get a link to a page where the user drops files into /workspace. Show the "
		  "link to the user, wait for their word, then look with find_files.",
	  .properties = "{\"directory\":{\"type\":\"string\",\"description\":\"Folder under "
			"/workspace; default /workspace\"}}",
	  .required = "[]",
	  .takes_sandbox = true,
	  .fn = request_upload_tool },
};

int link_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (tool_env_add(env, server, &tools[i], err) < 0)
			return -1;
	return 0;
}

/* One component more, or one less. */
static int add_component(struct buf *path, struct view part)
{
	struct view so_far = buf_view(path), last = view_base_name(so_far);
	int r;

	if (part.len == 0 || view_is(part, "."))
		return 0;
	if (view_is(part, "..") && last.len && !view_is(last, "..")) {
		size_t left = so_far.len - last.len;

		buf_truncate(path, left ? left - 1 : 0);
		return 0;
	}
	r = path->len ? buf_add_char(path, '/') : 0;
	return r == 0 ? buf_add_view(path, part) : r;
}

int link_tools_path(struct tool_call *call, const char *name, enum tool_path_kind kind,
		    struct buf *path)
{
	struct view given, part;

	buf_init(path, KEEPER_MAX_PATH);
	if (tool_call_path(call, name, kind, &given) < 0)
		return -1;
	while (view_split(&given, '/', &part))
		if (add_component(path, part) < 0) {
			tool_call_fail_memory(call);
			return -1;
		}
	return 0;
}

int link_tools_add_expiry(const struct tool_env *env, uint64_t expiry, struct buf *out)
{
	time_t t = (time_t)expiry;
	uint64_t now = clock_wall_seconds(env->clock);
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		return -EINVAL;
	return buf_addf(out, "%04d-%02d-%02d %02d:%02d:%02d UTC (%llu seconds from now)",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			tm.tm_sec, (unsigned long long)(expiry > now ? expiry - now : 0));
}
