/* SPDX-License-Identifier: Apache-2.0 */
/* The call context of one tools/call: its beginning, its arguments, its end. */
#include "tools/call.h"

#include "base/log.h"
#include "conf/conf.h"
#include "links/links.h"
#include "tools/call_internal.h"

#include <assert.h>
#include <stdio.h>

enum { MAX_RESULT_BYTES = 1024 * 1024 };

int tool_env_add(struct tool_env *env, struct mcp_server *server, const struct mcp_tool *tool,
		 struct err *err)
{
	struct mcp_tool *copy = &env->tools[env->n_tools];
	int r;

	assert(env->n_tools < TOOL_ENV_MAX_TOOLS);
	*copy = *tool;
	copy->userdata = env;
	env->n_tools++;
	r = mcp_server_add_tool(server, copy, err);
	copy->properties = copy->required = copy->input_schema = NULL;
	return r;
}

static void call_free(struct tool_call *call)
{
	tool_call_forget_work(call);
	if (call->wait)
		sandbox_wait_cancel(call->wait);
	if (call->begin->state_done)
		call->begin->state_done(call->state);
	if (call->sandbox)
		sandbox_release(call->sandbox);
	free(call->state);
	free(call);
}

static void on_cancel(void *userdata)
{
	struct tool_call *call = userdata;

	call->mcp = NULL;
	call_free(call);
}

struct mcp_call *tool_call_mcp(const struct tool_call *call)
{
	return call->mcp;
}

struct tool_env *tool_call_env(const struct tool_call *call)
{
	return call->env;
}

struct sandbox *tool_call_sandbox(const struct tool_call *call)
{
	return call->sandbox;
}

const json_t *tool_call_arguments(const struct tool_call *call)
{
	return mcp_call_arguments(call->mcp);
}

/* ---- the end of a call ---- */

/* "[sandbox KEY] [new] [status]" and the notes, each on a line. */
static int add_heading(const struct tool_call *call, const char *status, struct buf *out)
{
	int r = call->sandbox ? buf_addf(out, "[sandbox %s]%s", sandbox_key(call->sandbox),
					 call->is_new_box ? " [new]" : "")
			      : buf_add_str(out, "[no sandbox yet]");

	if (r == 0 && status)
		r = buf_addf(out, " [%s]", status);
	if (r == 0)
		r = buf_add_char(out, '\n');
	if (r == 0 && call->notes[0])
		r = buf_addf(out, "%s\n", call->notes);
	return r;
}

/* Before the result is given: a client that leaves now is no longer this call's business. */
static struct mcp_call *take_mcp(struct tool_call *call)
{
	mcp_call_on_cancel(call->mcp, NULL, NULL);
	return take_ptr(call->mcp);
}

static int compose(const struct tool_call *call, const char *status, struct view text,
		   struct buf *out)
{
	int r = add_heading(call, status, out);

	return r == 0 ? buf_add_view(out, text) : r;
}

void tool_call_finish(struct tool_call *call, const char *status, struct view text)
{
	auto_buf struct buf out = BUF_INIT(MAX_RESULT_BYTES);

	if (compose(call, status, text, &out) < 0) {
		tool_call_fail(call, "the result is too large to be sent; ask for less of it");
		return;
	}
	mcp_call_finish(take_mcp(call), MCP_OK, buf_view(&out));
	call_free(call);
}

void tool_call_finish_image(struct tool_call *call, const char *status, struct view text,
			    struct view image, const char *mime)
{
	auto_buf struct buf out = BUF_INIT(MAX_RESULT_BYTES);

	if (compose(call, status, text, &out) < 0) {
		tool_call_fail(call, "the result is too large to be sent; ask for less of it");
		return;
	}
	mcp_call_finish_image(take_mcp(call), buf_view(&out), image, mime);
	call_free(call);
}

/* The notes are shown once only, so an error carries them too. */
static void fail_with(struct tool_call *call, const char *sentence)
{
	auto_buf struct buf out = BUF_INIT(MAX_RESULT_BYTES);
	int r = buf_addf(&out, "[%s error] %s", call->begin->error_tag, sentence);

	if (r == 0 && call->sandbox)
		r = buf_addf(&out, "\n[sandbox %s]%s", sandbox_key(call->sandbox),
			     call->is_new_box ? " [new]" : "");
	if (r == 0 && call->notes[0])
		r = buf_addf(&out, "\n%s", call->notes);
	if (r < 0)
		log_warning("an error text was cut: %s", call->begin->error_tag);
	mcp_call_finish(take_mcp(call), MCP_ERROR, buf_view(&out));
	call_free(call);
}

void tool_call_fail(struct tool_call *call, const char *fmt, ...)
{
	auto_buf struct buf sentence = BUF_INIT(MAX_RESULT_BYTES / 2);
	va_list ap;

	va_start(ap, fmt);
	if (buf_vaddf(&sentence, fmt, ap) < 0)
		log_warning("an error text was cut: %s", call->begin->error_tag);
	va_end(ap);
	fail_with(call, buf_str(&sentence));
}

void tool_call_fail_err(struct tool_call *call, const struct err *err)
{
	if (err->code == ERR_SYSTEM || err->code == ERR_BUG)
		log_error("%s: %s", mcp_call_tool(call->mcp), err->msg);
	fail_with(call, err_public(err));
}

void tool_call_fail_memory(struct tool_call *call)
{
	tool_call_fail(call, "the server is out of memory; try again");
}

/* ---- the beginning ---- */

/*
 * With what to do, and the way to be told, where there is one: a model that waits does not call by
 * itself.
 */
static void finish_queued(struct tool_call *call, const char *text)
{
	const struct links *links = call->env->links;
	const char *principal = mcp_call_principal(call->mcp)->id;
	auto_buf struct buf note = BUF_INIT(LINKS_MAX_URL);
	uint32_t patience = call->env->conf->queue_patience;
	uint64_t expiry = 0;
	int r = 0;

	switch (links_mail_state(links, principal)) {
	case LINKS_MAIL_OFFERED:
		r = buf_addf(&note,
			     "\n[note] Your user may leave an e-mail address for one message "
			     "when it is ready; hand on this link, valid for %u minutes: ",
			     (patience + 30) / 60);
		if (r == 0)
			r = links_mail(links, principal, &note, &expiry);
		break;
	case LINKS_MAIL_LEFT:
		patience = call->env->conf->queue_patience_mail;
		r = buf_add_str(&note, "\n[note] An e-mail tells your user when it is ready.");
		break;
	case LINKS_MAIL_NONE:
	case LINKS_MAIL_CLOSED:
	case LINKS_MAIL_NO_WAIT:
		break;
	}
	mcp_call_finishf(
		take_mcp(call), MCP_OK,
		"[queue] %s\n[note] Nothing was done yet. The place is kept: make this call "
		"again in a few minutes; after %u minutes without a call it is lost.%s",
		text, (patience + 30) / 60, r == 0 ? buf_str(&note) : "");
	call_free(call);
}

static void on_acquired(void *userdata, const struct sandbox_answer *answer)
{
	struct tool_call *call = userdata;

	call->wait = NULL;
	switch (answer->verdict) {
	case SANDBOX_QUEUED:
		finish_queued(call, answer->text);
		return;
	case SANDBOX_REFUSED:
		if (call->need == SANDBOX_NEED_EXISTING && answer->err.code == ERR_NOT_FOUND) {
			call->begin->ready(call, call->state);
			return;
		}
		if (answer->text && answer->text[0])
			tool_call_fail(call, "%s", answer->text);
		else
			tool_call_fail_err(call, &answer->err);
		return;
	case SANDBOX_READY:
		break;
	}
	call->sandbox = answer->sandbox;
	call->is_new_box = answer->is_new_box;
	(void)snprintf(call->notes, sizeof(call->notes), "%s", answer->notes);
	call->begin->ready(call, call->state);
}

static void on_progress(void *userdata, const char *message)
{
	struct tool_call *call = userdata;

	mcp_call_progress(call->mcp, message);
}

static void acquire(struct tool_call *call)
{
	const struct mcp_principal *principal = mcp_call_principal(call->mcp);
	struct sandbox_request request = {
		.principal = principal->id,
		.need = call->need,
		.max_wait = call->env->conf->queue_hold * USEC_PER_SEC,
		.acquired = on_acquired,
		.progress = on_progress,
		.userdata = call,
	};
	struct err err;

	if (principal->may_use_labels) {
		int r = json_get_string(tool_call_arguments(call), "sandbox", &request.label, &err);

		if (r < 0) {
			tool_call_fail_err(call, &err);
			return;
		}
		if (request.label.len == 0)
			request.label = VIEW("default");
	}
	if (sandbox_acquire(call->env->sandboxes, &request, &call->wait, &err) < 0)
		tool_call_fail_err(call, &err);
}

void tool_call_begin(struct mcp_call *mcp, struct tool_env *env, enum sandbox_need need,
		     const struct tool_begin *begin)
{
	struct tool_call *call = calloc(1, sizeof(*call));
	void *state = calloc(1, begin->state_size ? begin->state_size : 1);

	if (!call || !state) {
		free(call);
		free(state);
		mcp_call_finishf(mcp, MCP_ERROR,
				 "[%s error] the server is out of memory; try again",
				 begin->error_tag);
		return;
	}
	*call = (struct tool_call){
		.mcp = mcp, .env = env, .need = need, .begin = begin, .state = state
	};
	list_init(&call->requests);
	list_init(&call->helpers);
	mcp_call_on_cancel(mcp, on_cancel, call);
	if (begin->check && begin->check(call, state) < 0)
		return;
	acquire(call);
}

/* ---- paths ---- */

/* "/workspace/x" and "./x" give "x"; an absolute path elsewhere gives false. */
static bool strip_workspace(struct view path, struct view *ret)
{
	static const struct view workspace = VIEW_INIT("/workspace");

	if (path.len && path.p[0] == '/') {
		if (!view_starts(path, workspace))
			return false;
		path = view_from(path, workspace.len);
		if (path.len && path.p[0] != '/')
			return false;
	}
	for (;;) {
		if (path.len && path.p[0] == '/')
			path = view_from(path, 1);
		else if (view_starts(path, VIEW("./")) || view_is(path, "."))
			path = view_from(path, path.len == 1 ? 1 : 2);
		else
			break;
	}
	*ret = path;
	return true;
}

int tool_call_path(struct tool_call *call, const char *name, enum tool_path_kind kind,
		   struct view *ret)
{
	struct view path = VIEW_INIT("");
	struct err err;

	if (json_get_string(tool_call_arguments(call), name, &path, &err) < 0) {
		tool_call_fail_err(call, &err);
		return -1;
	}
	if (path.len > KEEPER_MAX_PATH) {
		tool_call_fail(call, "%s is longer than %d bytes", name, (int)KEEPER_MAX_PATH);
		return -1;
	}
	if (!strip_workspace(path, &path)) {
		tool_call_fail(
			call,
			"%s must be under /workspace (or relative to it); for other files use "
			"run_command, e.g. with cp to /workspace",
			name);
		return -1;
	}
	if (path.len == 0 && kind == TOOL_PATH_REQUIRED) {
		tool_call_fail(call, "%s is missing: name a file under /workspace", name);
		return -1;
	}
	*ret = path;
	return 0;
}
