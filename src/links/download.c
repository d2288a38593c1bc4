/* SPDX-License-Identifier: Apache-2.0 */
/* GET and HEAD of /dl/…: a file of a workspace, opened once, checked once, sent from its fd. */
#include "links/internal.h"

#include "base/log.h"
#include "http/url.h"
#include "links/sniff.h"

#include <stdio.h>
#include <sys/stat.h>

struct download {
	struct links *links;
	struct http_request *req;
	struct link link;
	struct sandbox_wait *wait; /* while the sandbox is being held */
	struct sandbox *sandbox;
	struct sandbox_transfer transfer;
	struct engine_files *asked;   /* while the keeper opens the file */
	int fd;                       /* of the file, or -1 */
	struct http_sending *sending; /* then; the request is not ours any more */
};

static void download_free(void *userdata)
{
	struct download *d = userdata;

	if (d->wait)
		sandbox_wait_cancel(d->wait);
	if (d->asked)
		engine_files_forget(d->asked, d);
	if (d->fd >= 0)
		sandbox_close_file(d->sandbox, d->fd);
	sandbox_transfer_end(&d->transfer);
	if (d->sandbox)
		sandbox_release(d->sandbox);
	link_done(&d->link);
	free(d);
}

/* The answer has been given; the request is not ours any more. */
static void refuse(struct download *d, const struct err *err)
{
	http_request_on_gone(d->req, NULL, NULL);
	link_refuse(d->req, err);
	download_free(d);
}

static void on_gone(struct http_request *req, void *userdata)
{
	(void)req;
	download_free(userdata);
}

static void on_cut(void *userdata, const struct err *why)
{
	struct download *d = userdata;

	if (!d->sending) {
		refuse(d, why);
		return;
	}
	http_sending_cut(d->sending);
	download_free(d);
}

/* ---- the answer ---- */

/* RFC 6266 4.3: a plain ASCII name for old clients, the exact one (RFC 8187) for the others. */
static int add_disposition(struct view path, enum sniff_use use, struct buf *out)
{
	struct view name = path;
	size_t slash;
	int r = buf_add_str(out, use == SNIFF_INLINE ? "inline; filename=\""
						     : "attachment; filename=\"");

	while ((slash = view_find(name, '/')) < name.len)
		name = view_from(name, slash + 1);
	for (size_t i = 0; r == 0 && i < name.len; i++) {
		char c = name.p[i];

		r = buf_add_char(
			out, c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%' ? c : '_');
	}
	if (r == 0)
		r = buf_add_str(out, "\"; filename*=UTF-8''");
	return r == 0 ? url_encode(out, name) : r;
}

static struct sniff sniff_file(int fd, uint64_t size)
{
	char head[4096], tail[SNIFF_TAIL_BYTES];
	uint64_t from = size > sizeof(tail) ? size - sizeof(tail) : 0;
	ssize_t n_head = pread(fd, head, sizeof(head), 0);
	ssize_t n_tail = pread(fd, tail, sizeof(tail), (off_t)from);

	return sniff_bytes(view_of(head, n_head > 0 ? (size_t)n_head : 0),
			   view_of(tail, n_tail > 0 ? (size_t)n_tail : 0), size);
}

static void send_file(struct download *d, const struct stat *st)
{
	auto_buf struct buf disposition = BUF_INIT(4 * KEEPER_MAX_PATH);
	struct sniff kind = sniff_file(d->fd, (uint64_t)st->st_size);
	char etag[96];
	/* The file's bytes are the tenant's: nothing in them may act in the name of this server. */
	struct http_header headers[] = {
		{ "Content-Disposition", NULL },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Content-Security-Policy", "sandbox; default-src 'none'; style-src "
					     "'unsafe-inline'; img-src 'self'; media-src "
					     "'self'; frame-ancestors 'none'" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cache-Control", "private, no-cache" },
		{ "X-Robots-Tag", "noindex, nofollow" },
		{ NULL, NULL },
	};
	struct http_file file = {
		.fd = d->fd,
		.size = (uint64_t)st->st_size,
		.content_type = kind.mime,
		.etag = etag,
		.last_modified = (uint64_t)st->st_mtim.tv_sec,
		.extra = headers,
		.done = download_free,
		.userdata = d,
	};

	if (add_disposition(buf_view(&d->link.path), kind.use, &disposition) < 0) {
		buf_truncate(&disposition, 0);
		headers[0].value = "attachment";
	} else {
		headers[0].value = buf_str(&disposition);
	}
	(void)snprintf(etag, sizeof(etag), "\"%llx-%llx-%lx\"", (unsigned long long)st->st_ino,
		       (unsigned long long)st->st_size,
		       (unsigned long)(st->st_mtim.tv_sec * 1000000000L + st->st_mtim.tv_nsec));
	http_request_on_gone(d->req, NULL, NULL);
	d->sending = http_send_file(d->req, &file);
	if (!d->sending)
		download_free(d);
}

/* ---- the way there ---- */

static void on_open(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct download *d = userdata;
	struct stat st;
	struct err err;

	d->asked = NULL;
	d->fd = fd;
	if (!reply) {
		(void)err_set(&err, ERR_BUSY, "The file cannot be read just now. Try again.");
		refuse(d, &err);
		return;
	}
	/* The keeper stands in the tenant's world: what it hands over is checked here again. */
	if (reply->error || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)err_set(&err, ERR_NOT_FOUND, "There is no such file any more.");
		refuse(d, &err);
		return;
	}
	send_file(d, &st);
}

static void on_sandbox(void *userdata, const struct sandbox_answer *answer)
{
	struct download *d = userdata;
	struct keeper_request open = { .verb = KEEPER_OPEN,
				       .flags = KEEPER_NOFOLLOW,
				       .path = buf_view(&d->link.path) };
	struct err err;

	d->wait = NULL;
	if (answer->verdict != SANDBOX_READY) {
		err = answer->err;
		link_explain(&err);
		refuse(d, &err);
		return;
	}
	d->sandbox = answer->sandbox;
	if (sandbox_transfer_begin(d->sandbox, &d->transfer, &err) < 0) {
		refuse(d, &err);
		return;
	}
	d->asked = sandbox_files(d->sandbox);
	if (engine_files_call(d->asked, &open, -1, on_open, d, &err) < 0) {
		d->asked = NULL;
		refuse(d, &err);
	}
}

static void on_request(struct http_request *req, void *userdata)
{
	struct download *d = calloc(1, sizeof(*d));
	struct err err;

	if (!d) {
		http_reply_text(req, 503, "The server is out of memory. Try again.\n");
		return;
	}
	d->links = userdata;
	d->req = req;
	d->fd = -1;
	d->transfer = (struct sandbox_transfer){ .cut = on_cut, .userdata = d };
	http_request_on_gone(req, on_gone, d);
	if (link_parse(d->links, LINK_DOWNLOAD, http_request_path(req), &d->link, &err) < 0) {
		refuse(d, &err);
		return;
	}
	if (sandbox_acquire_key(d->links->config.sandboxes, view_str(d->link.key), on_sandbox, d,
				&d->wait, &err) < 0) {
		link_explain(&err);
		refuse(d, &err);
	}
}

int downloads_add_routes(struct links *links, struct err *err)
{
	const struct http_route route = { .path = "/dl/",
					  .match = HTTP_MATCH_PREFIX,
					  .methods = HTTP_GET | HTTP_HEAD,
					  .handler = on_request,
					  .userdata = links };

	return http_server_add_route(links->config.http, &route, err);
}
