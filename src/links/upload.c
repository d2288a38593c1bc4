/* SPDX-License-Identifier: Apache-2.0 */
/* /up/…: files into a workspace. */
#include "links/upload_internal.h"

#include "base/log.h"
#include "http/page.h"
#include "http/url.h"
#include "sys/io.h"

#include <stdio.h>

/* ---- life ---- */

static void on_aborted(void *userdata, const struct keeper_reply *reply, int fd)
{
	(void)userdata;
	(void)reply;
	if (fd >= 0)
		(void)close(fd);
}

static void upload_free(void *userdata)
{
	struct upload *u = userdata;
	struct keeper_request abort = { .verb = KEEPER_ABORT, .number = u->token };
	struct err err;

	if (u->wait)
		sandbox_wait_cancel(u->wait);
	if (u->asked)
		engine_files_forget(u->asked, u);
	/* A cut upload leaves nothing; a keeper that is gone has taken its files along. */
	if (u->token && u->sandbox && sandbox_files(u->sandbox) &&
	    engine_files_call(sandbox_files(u->sandbox), &abort, -1, on_aborted, NULL, &err) < 0)
		log_warning("an unfinished upload could not be removed: %s", err.msg);
	if (u->fd >= 0)
		(void)close(u->fd);
	sandbox_transfer_end(&u->transfer);
	if (u->sandbox)
		sandbox_release(u->sandbox);
	multipart_done(&u->parts);
	buf_done(&u->pending);
	buf_done(&u->left_out);
	link_done(&u->link);
	free(u->results);
	free(u);
}

static void refuse(struct upload *u, const struct err *err)
{
	http_request_on_gone(u->req, NULL, NULL);
	http_request_set_data(u->req, NULL, NULL);
	link_refuse(u->req, err);
	upload_free(u);
}

static void on_gone(struct http_request *req, void *userdata)
{
	http_request_set_data(req, NULL, NULL);
	upload_free(userdata);
}

static void on_cut(void *userdata, const struct err *why)
{
	refuse(userdata, why);
}

/* ---- one file ---- */

static int pump(struct upload *u);

static struct upload_result *current(struct upload *u)
{
	return &u->results[u->n_results - 1];
}

static void file_failed(struct upload *u, enum err_code code, const char *why)
{
	struct upload_result *result = current(u);

	result->code = code;
	(void)snprintf(result->why, sizeof(result->why), "%s", why);
	u->skipping = true;
}

static enum err_code code_of(int error)
{
	switch (error) {
	case EEXIST:
		return ERR_EXISTS;
	case EDQUOT:
	case ENOSPC:
	case EFBIG:
		return ERR_FULL;
	default:
		return ERR_INVALID;
	}
}

static const char *words_of(enum err_code code)
{
	if (code == ERR_EXISTS)
		return "a file of this name is there already and was not replaced";
	if (code == ERR_FULL)
		return "the sandbox's disk quota is reached; the file was not kept";
	return "it could not be written there";
}

/* 0: `fn` runs later, and the body is held back until then; -1: it will not run. */
static int ask_keeper(struct upload *u, const struct keeper_request *request, engine_reply_fn *fn)
{
	struct err err;

	u->asked = sandbox_files(u->sandbox);
	if (u->asked && engine_files_call(u->asked, request, -1, fn, u, &err) == 0) {
		http_request_pause_body(u->req);
		return 0;
	}
	u->asked = NULL;
	return -1;
}

static void on_created(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct upload *u = userdata;

	u->asked = NULL;
	u->state = UPLOAD_WRITING;
	if (reply && reply->error == 0 && fd >= 0) {
		u->fd = fd;
		u->token = reply->number;
	} else {
		enum err_code code = reply ? code_of(reply->error) : ERR_BUSY;

		if (fd >= 0)
			(void)close(fd);
		file_failed(u, code, words_of(code));
	}
	http_request_resume_body(u->req);
	(void)pump(u);
}

static void begin_file(struct upload *u, struct view name)
{
	struct keeper_request create = { .verb = KEEPER_CREATE,
					 .flags = u->replace ? 0 : KEEPER_NOREPLACE };
	auto_buf struct buf path = BUF_INIT(KEEPER_MAX_PATH);
	struct upload_result *result;

	u->results[u->n_results++] = (struct upload_result){ 0 };
	result = current(u);
	u->bytes = 0;
	u->skipping = false;
	u->state = UPLOAD_WRITING;
	if (file_name_clean(name, result->name) < 0) {
		(void)snprintf(result->name, sizeof(result->name), "(no name)");
		file_failed(u, ERR_INVALID, "the file has no usable name");
		return;
	}
	if (buf_add_view(&path, buf_view(&u->link.path)) < 0 ||
	    (u->link.path.len && buf_add_char(&path, '/') < 0) ||
	    buf_add_str(&path, result->name) < 0) {
		file_failed(u, ERR_INVALID, "its path would be too long");
		return;
	}
	create.path = buf_view(&path);
	if (sandbox_is_full(u->sandbox))
		file_failed(u, ERR_FULL, words_of(ERR_FULL));
	else if (ask_keeper(u, &create, on_created) == 0)
		u->state = UPLOAD_OPENING;
	else
		file_failed(u, ERR_BUSY, words_of(ERR_BUSY));
}

static void write_file(struct upload *u, struct view data)
{
	uint64_t max = u->links->config.upload_max;
	int r;

	u->bytes += data.len;
	if (u->skipping)
		return;
	if (max && u->bytes > max) {
		file_failed(u, ERR_FULL, "it is larger than this server takes");
		return;
	}
	r = io_write_all(u->fd, data.p, data.len);
	if (r < 0)
		file_failed(u, code_of(-r), words_of(code_of(-r)));
}

static void on_committed(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct upload *u = userdata;

	u->asked = NULL;
	if (fd >= 0)
		(void)close(fd);
	u->state = UPLOAD_READY;
	u->token = 0;
	if (!reply || reply->error) {
		enum err_code code = reply ? code_of(reply->error) : ERR_BUSY;

		file_failed(u, code, words_of(code));
	}
	http_request_resume_body(u->req);
	(void)pump(u);
}

static void end_file(struct upload *u)
{
	bool keep = !u->skipping;
	struct keeper_request commit = { .verb = keep ? KEEPER_COMMIT : KEEPER_ABORT,
					 .flags = keep && !u->replace ? KEEPER_NOREPLACE : 0,
					 .number = u->token };

	current(u)->bytes = u->bytes;
	u->state = UPLOAD_READY;
	if (u->fd >= 0)
		(void)close(take_fd(u->fd));
	if (!u->token)
		return;
	if (ask_keeper(u, &commit, on_committed) == 0) {
		u->state = UPLOAD_COMMITTING;
		return;
	}
	u->token = 0;
	if (keep)
		file_failed(u, ERR_BUSY, words_of(ERR_BUSY));
}

/* ---- the body ---- */

static void take_field(struct upload *u, struct view data)
{
	/* The only field besides files: its presence with any value says yes. */
	if (data.len && !strcmp(u->parts.field, "replace"))
		u->replace = true;
}

/* Nothing of it is kept but its name, for the answer. */
static void leave_out(struct upload *u, struct view file)
{
	char name[FILE_NAME_MAX + 1];

	u->n_left_out++;
	if (file_name_clean(file, name) == 0 &&
	    buf_addf(&u->left_out, "%s%s", u->left_out.len ? ", " : "", name) < 0)
		log_debug("a file that was left out is counted only");
}

static void begin_part(struct upload *u)
{
	bool is_file = u->parts.has_file && u->parts.file[0];

	u->in_field = true;
	if (is_file && u->n_results == UPLOAD_MAX_FILES) {
		leave_out(u, view_str(u->parts.file));
	} else if (is_file) {
		u->in_field = false;
		begin_file(u, view_str(u->parts.file));
	}
}

/* One event of the form's body; false when more bytes are needed. */
static bool form_step(struct upload *u)
{
	struct view data = VIEW_INIT("");
	size_t taken;
	enum multipart_event event =
		multipart_next(&u->parts, buf_view(&u->pending), &taken, &data);

	switch (event) {
	case MULTIPART_MORE:
		break;
	case MULTIPART_PART:
		begin_part(u);
		break;
	case MULTIPART_DATA:
		if (u->in_field)
			take_field(u, data);
		else
			write_file(u, data);
		break;
	case MULTIPART_PART_END:
		if (!u->in_field)
			end_file(u);
		break;
	case MULTIPART_END:
	case MULTIPART_BAD:
		u->parts_ended = true;
		break;
	}
	buf_consume(&u->pending, taken);
	return event != MULTIPART_MORE && event != MULTIPART_BAD;
}

static bool put_step(struct upload *u)
{
	if (u->pending.len) {
		write_file(u, buf_view(&u->pending));
		buf_truncate(&u->pending, 0);
	}
	if (u->body_ended && u->state == UPLOAD_WRITING && !u->parts_ended) {
		u->parts_ended = true;
		end_file(u);
		return true;
	}
	return false;
}

static bool is_busy(const struct upload *u)
{
	return u->state == UPLOAD_WAITING || u->state == UPLOAD_OPENING ||
	       u->state == UPLOAD_COMMITTING || u->state == UPLOAD_ENDING;
}

/* ---- the answer ---- */

static void answer(struct upload *u, uint64_t used_bytes)
{
	http_request_on_gone(u->req, NULL, NULL);
	http_request_set_data(u->req, NULL, NULL);
	if (http_request_method(u->req) == HTTP_PUT)
		upload_reply_put(u);
	else if (u->is_form)
		upload_reply_results(u, used_bytes);
	else
		upload_reply_page(u, used_bytes);
	upload_free(u);
}

static void on_usage(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct upload *u = userdata;

	u->asked = NULL;
	if (fd >= 0)
		(void)close(fd);
	answer(u, reply && reply->error == 0 ? reply->number : UINT64_MAX);
}

/* Pages say how much room there is; a program that sends one file is told what became of it. */
static void end(struct upload *u)
{
	const struct keeper_request usage = { .verb = KEEPER_USAGE };

	u->state = UPLOAD_ENDING;
	if (http_request_method(u->req) == HTTP_PUT || ask_keeper(u, &usage, on_usage) < 0)
		answer(u, UINT64_MAX);
}

/* Uses what has come. -1 when the upload is not to be touched any more. */
static int pump(struct upload *u)
{
	struct err err;

	while (!is_busy(u) && (u->is_form ? form_step(u) : put_step(u)))
		;
	if (u->is_form && (u->parts.state == MP_FAILED ||
			   (u->body_ended && !is_busy(u) && u->parts.state != MP_DONE))) {
		(void)err_set(&err, ERR_INVALID, "The form did not arrive whole. Try again.");
		refuse(u, &err);
		return -1;
	}
	if (is_busy(u) || !u->body_ended)
		return 0;
	end(u);
	return -1;
}

static int on_body(struct http_request *req, struct view chunk, void *userdata)
{
	struct upload *u = http_request_data(req);
	struct err err;

	(void)userdata;
	if (buf_add_view(&u->pending, chunk) < 0) {
		(void)err_set(&err, ERR_BUSY, "The server is too slow just now. Try again.");
		refuse(u, &err);
		return -1;
	}
	return is_busy(u) ? 0 : pump(u);
}

static void on_body_end(struct http_request *req, void *userdata)
{
	struct upload *u = http_request_data(req);

	(void)userdata;
	/* GET was answered, or is being answered, by its handler. */
	if (!u || http_request_method(req) == HTTP_GET || http_request_method(req) == HTTP_HEAD)
		return;
	u->body_ended = true;
	if (!is_busy(u))
		(void)pump(u);
}

/* ---- the beginning ---- */

static void on_sandbox(void *userdata, const struct sandbox_answer *answer_given)
{
	struct upload *u = userdata;
	enum http_method method = http_request_method(u->req);
	struct err err;

	u->wait = NULL;
	if (answer_given->verdict != SANDBOX_READY) {
		err = answer_given->err;
		link_explain(&err);
		refuse(u, &err);
		return;
	}
	u->sandbox = answer_given->sandbox;
	u->state = UPLOAD_READY;
	if (method == HTTP_GET || method == HTTP_HEAD) {
		end(u);
		return;
	}
	if (sandbox_transfer_begin(u->sandbox, &u->transfer, &err) < 0) {
		refuse(u, &err);
		return;
	}
	http_request_resume_body(u->req);
	if (method == HTTP_PUT) {
		auto_buf struct buf name = BUF_INIT(4 * FILE_NAME_MAX);

		if (url_decode(&name, u->link.rest) < 0)
			buf_truncate(&name, 0);
		begin_file(u, buf_view(&name));
	}
	(void)pump(u);
}

static int read_replace(struct upload *u)
{
	auto_url_form struct url_form query = { 0 };
	int r = url_form_parse(&query, http_request_query(u->req));

	if (r == 0)
		u->replace = view_is(url_form_get(&query, "replace"), "1");
	return r;
}

/* What can be said before anything is waited for. */
static int check_request(struct upload *u, struct err *err)
{
	enum http_method method = http_request_method(u->req);

	if (link_parse(u->links, LINK_UPLOAD, http_request_path(u->req), &u->link, err) < 0)
		return -1;
	if (read_replace(u) < 0)
		return err_set(err, ERR_INVALID, "The query is not understood.");
	if (method == HTTP_PUT &&
	    (u->link.rest.len == 0 || view_find(u->link.rest, '/') < u->link.rest.len))
		return err_set(err, ERR_INVALID,
			       "PUT needs the file's name behind the link, e.g. curl -T FILE LINK");
	if (method != HTTP_PUT && u->link.rest.len)
		return err_set(err, ERR_NOT_FOUND, "There is nothing at this address.");
	u->is_form = method == HTTP_POST;
	if (u->is_form &&
	    multipart_init(&u->parts, http_request_header(u->req, "Content-Type")) < 0)
		return err_set(err, ERR_INVALID, "The form must be multipart/form-data.");
	return 0;
}

static void on_request(struct http_request *req, void *userdata)
{
	struct upload *u = calloc(1, sizeof(*u));
	struct err err;

	if (u)
		u->results = calloc(UPLOAD_MAX_FILES, sizeof(*u->results));
	if (!u || !u->results) {
		free(u);
		http_reply_text(req, 503, "The server is out of memory. Try again.\n");
		return;
	}
	u->links = userdata;
	u->req = req;
	u->transfer = (struct sandbox_transfer){ .cut = on_cut, .userdata = u };
	u->fd = -1;
	buf_init(&u->pending, UPLOAD_MAX_PENDING);
	buf_init(&u->left_out, UPLOAD_MAX_LEFT_OUT);
	http_request_set_data(req, u, NULL);
	http_request_on_gone(req, on_gone, u);
	if (check_request(u, &err) < 0) {
		refuse(u, &err);
		return;
	}
	if (sandbox_acquire_key(u->links->config.sandboxes, view_str(u->link.key), on_sandbox, u,
				&u->wait, &err) < 0) {
		link_explain(&err);
		refuse(u, &err);
		return;
	}
	http_request_pause_body(req);
}

static void on_script(struct http_request *req, void *userdata)
{
	page_reply_asset(req, userdata);
}

int uploads_add_routes(struct links *links, struct err *err)
{
	uint64_t max = links->config.upload_max ? links->config.upload_max : links->config.quota;
	const struct page_asset *script = page_asset("upload.js");
	const struct http_route routes[] = {
		{ .path = "/up/",
		  .match = HTTP_MATCH_PREFIX,
		  .methods = HTTP_GET | HTTP_POST | HTTP_PUT,
		  /* A form may bring several files. */
		  .max_body_bytes =
			  max < SIZE_MAX / UPLOAD_MAX_FILES ? max * UPLOAD_MAX_FILES : SIZE_MAX,
		  .handler = on_request,
		  .on_body = on_body,
		  .on_body_end = on_body_end,
		  .userdata = links },
		/* Below /up/, which every proxy that knows the links passes on. */
		{ .path = "/up/upload.js",
		  .match = HTTP_MATCH_EXACT,
		  .methods = HTTP_GET,
		  .handler = on_script,
		  .userdata = (void *)(uintptr_t)script },
	};

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (http_server_add_route(links->config.http, &routes[i], err) < 0)
			return -1;
	return 0;
}
