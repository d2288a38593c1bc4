/* SPDX-License-Identifier: Apache-2.0 */
/* The tool present_file: text first, then the image itself where it is small enough. */
#include "tools/link_tools.h"

#include "base/show.h"
#include "conf/conf.h"
#include "links/links.h"
#include "sys/io.h"
#include "tools/image_scale.h"

#include <sys/stat.h>

enum {
	MAX_CAPTION = 1000, /* bytes */
	MAX_TEXT = LINKS_MAX_URL + 6 * KEEPER_MAX_PATH,
};

struct present {
	struct buf path; /* below /workspace */
	struct view caption;
	struct sandbox *sandbox; /* whose file is open, or NULL */
	int fd;                  /* of the file */
	uint64_t size;
	struct sniff kind;
	struct buf text;
};

static int check(struct tool_call *call, void *state)
{
	struct present *present = state;
	struct err err;

	buf_init(&present->text, MAX_TEXT);
	if (link_tools_path(call, "path", TOOL_PATH_REQUIRED, &present->path) < 0)
		return -1;
	if (json_get_string(tool_call_arguments(call), "caption", &present->caption, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	present->caption = view_first(present->caption, MAX_CAPTION);
	return 0;
}

/* The file's last name. */
static int describe(struct tool_call *call, struct present *present)
{
	struct tool_env *env = tool_call_env(call);
	struct buf *text = &present->text;
	uint64_t expiry = 0;
	auto_buf struct buf path = BUF_INIT(KEEPER_MAX_PATH + sizeof("/workspace/"));
	int r = buf_add_str(&path, "/workspace/");

	if (r == 0)
		r = buf_add_view(&path, buf_view(&present->path));
	if (r == 0)
		r = show_add(text, view_base_name(buf_view(&path)));
	if (r == 0)
		r = buf_add_str(text, " (");
	if (r == 0)
		r = show_add(text, buf_view(&path));
	if (r == 0)
		r = buf_addf(text, "): %s", present->kind.kind);
	if (r == 0 && present->kind.width)
		r = buf_addf(text, ", %u x %u pixels", present->kind.width, present->kind.height);
	if (r == 0)
		r = buf_addf(text, ", %llu bytes\n", (unsigned long long)present->size);
	if (r == 0 && present->caption.len)
		r = buf_addf(text, "%.*s\n", VIEW_ARG(present->caption));
	if (r == 0)
		r = buf_add_str(text, "Link for the user: ");
	if (r == 0)
		r = links_download(env->links, sandbox_key(tool_call_sandbox(call)),
				   buf_view(&present->path), text, &expiry);
	if (r == 0)
		r = buf_add_str(text, "\nValid until ");
	if (r == 0)
		r = link_tools_add_expiry(env, expiry, text);
	return r == 0 ? buf_add_char(text, '\n') : r;
}

/* What a client takes beside the text. */
static uint64_t max_image_bytes(const struct tool_call *call)
{
	uint64_t max = tool_call_env(call)->conf->image_max;

	return max < MCP_MAX_IMAGE_BYTES ? max : MCP_MAX_IMAGE_BYTES;
}

/* The picture itself if it may be attached, else its link alone, with the reason. */
static void finish_whole(struct tool_call *call, struct present *present)
{
	auto_free char *image = NULL;
	ssize_t n = -1;

	if (!present->kind.is_picture) {
		tool_call_finish(call, NULL, buf_view(&present->text));
		return;
	}
	if (!image_fits(&present->kind, present->size, max_image_bytes(call))) {
		if (buf_add_str(&present->text, "The image is too large to be attached; the link "
						"has it. To attach it, make a smaller copy "
						"first.\n") < 0)
			tool_call_fail(call, "the path or the caption is too long");
		else
			tool_call_finish(call, NULL, buf_view(&present->text));
		return;
	}
	image = malloc(present->size);
	if (image && lseek(present->fd, 0, SEEK_SET) == 0)
		n = io_read_all(present->fd, image, present->size);
	if (n != (ssize_t)present->size) {
		tool_call_fail(call, "the file changed while it was read; try again");
		return;
	}
	tool_call_finish_image(call, NULL, buf_view(&present->text), view_of(image, present->size),
			       present->kind.mime);
}

static void on_scaled(struct tool_call *call, void *state, struct tool_output *output)
{
	struct present *present = state;
	struct sniff copy;

	if (!image_scaled(output, max_image_bytes(call), &copy) ||
	    buf_addf(&present->text,
		     "Attached is a copy scaled down to %u x %u pixels; the link has the whole.\n",
		     copy.width, copy.height) < 0)
		finish_whole(call, present);
	else
		tool_call_finish_image(call, NULL, buf_view(&present->text),
				       buf_view(&output->output), copy.mime);
}

static struct sniff sniff_file(int fd, uint64_t size)
{
	auto_free char *head = malloc(SNIFF_HEAD_BYTES);
	char tail[SNIFF_TAIL_BYTES];
	ssize_t n_head = head ? pread(fd, head, SNIFF_HEAD_BYTES, 0) : -1;
	ssize_t n_tail = pread(fd, tail, sizeof(tail),
			       (off_t)(size > sizeof(tail) ? size - sizeof(tail) : 0));

	return sniff_bytes(view_of(head, n_head > 0 ? (size_t)n_head : 0),
			   view_of(tail, n_tail > 0 ? (size_t)n_tail : 0), size);
}

static void present_fd(struct tool_call *call, struct present *present)
{
	uint64_t max = max_image_bytes(call);

	present->kind = sniff_file(present->fd, present->size);
	if (describe(call, present) < 0) {
		tool_call_fail(call, "the path or the caption is too long");
		return;
	}
	/* No container is started for it: whoever made a picture just now has one. */
	if (!image_wants_scaling(&present->kind, present->size, max) ||
	    !sandbox_box(tool_call_sandbox(call)) ||
	    image_scale(call, buf_view(&present->path), max, on_scaled) < 0)
		finish_whole(call, present);
}

static void on_open(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	struct present *present = state;
	struct stat st;

	present->fd = fd;
	present->sandbox = fd >= 0 ? tool_call_sandbox(call) : NULL;
	if (reply->error) {
		tool_call_fail(call, "%.*s", VIEW_ARG(reply->text));
		return;
	}
	if (!present->sandbox || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		tool_call_fail(call, "this is no regular file; only those can be handed over");
		return;
	}
	present->size = (uint64_t)st.st_size;
	present_fd(call, present);
}

static void ready(struct tool_call *call, void *state)
{
	struct present *present = state;
	struct keeper_request open = { .verb = KEEPER_OPEN,
				       .flags = KEEPER_NOFOLLOW,
				       .path = buf_view(&present->path) };

	tool_call_files(call, &open, -1, on_open);
}

static void done(void *state)
{
	struct present *present = state;

	buf_done(&present->path);
	buf_done(&present->text);
	if (present->sandbox)
		sandbox_close_file(present->sandbox, present->fd);
}

static const struct tool_begin begin = {
	.error_tag = "present",
	.state_size = sizeof(struct present),
	.state_done = done,
	.check = check,
	.ready = ready,
};

void present_file_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_FILES, &begin);
}
