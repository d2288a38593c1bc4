/* SPDX-License-Identifier: Apache-2.0 */
/* The tool request_upload: a link to the upload page. */
#include "tools/link_tools.h"

#include "conf/conf.h"
#include "links/links.h"

#include <sys/stat.h>

struct request {
	struct buf folder; /* below /workspace */
};

static int check(struct tool_call *call, void *state)
{
	struct request *request = state;

	return link_tools_path(call, "directory", TOOL_PATH_OPTIONAL, &request->folder);
}

static void finish(struct tool_call *call, const struct request *request)
{
	struct tool_env *env = tool_call_env(call);
	auto_buf struct buf text = BUF_INIT(LINKS_MAX_URL + 1024);
	uint64_t expiry = 0;
	int r = buf_add_str(&text, "Upload page for the user: ");

	if (r == 0)
		r = links_upload(env->links, sandbox_key(tool_call_sandbox(call)),
				 buf_view(&request->folder), &text, &expiry);
	if (r == 0)
		r = buf_add_str(&text, "\nValid until ");
	if (r == 0)
		r = link_tools_add_expiry(env, expiry, &text);
	if (r == 0)
		r = buf_addf(&text,
			     "\nFiles land in /workspace/%s; the workspace holds %llu MiB in "
			     "all. From "
			     "a shell: curl -T FILE followed by the link works too.\n",
			     buf_str(&request->folder),
			     (unsigned long long)(env->conf->workspace >> 20));
	if (r < 0)
		tool_call_fail(call, "the folder's path is too long");
	else
		tool_call_finish(call, NULL, buf_view(&text));
}

static void on_stat(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	const struct request *request = state;

	if (fd >= 0)
		(void)close(fd);
	/* A folder that is not there yet is made by the first upload. */
	if (reply->error && reply->error != ENOENT)
		tool_call_fail(call, "%.*s", VIEW_ARG(reply->text));
	else if (!reply->error && !S_ISDIR(reply->mode))
		tool_call_fail(call, "directory names a file, not a folder");
	else
		finish(call, request);
}

static void ready(struct tool_call *call, void *state)
{
	const struct request *request = state;
	struct keeper_request stat = { .verb = KEEPER_STAT, .path = buf_view(&request->folder) };

	tool_call_files(call, &stat, -1, on_stat);
}

static void done(void *state)
{
	struct request *request = state;

	buf_done(&request->folder);
}

static const struct tool_begin begin = {
	.error_tag = "upload",
	.state_size = sizeof(struct request),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void request_upload_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin);
}
