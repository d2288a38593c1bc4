/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small server on src/http for the end-to-end tests and the benchmark. Prints "port N", then one
 * line an event ("gone wait", "gone stream", "file done"). Ends on the end of its standard input.
 *
 *   http_echo [head_timeout_ms [body_timeout_ms [idle_timeout_ms [write_timeout_ms
 * [connections]]]]]
 */
#include "base/log.h"
#include "base/parse.h"
#include "http/cors.h"
#include "http/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

enum { FILE_BYTES = 1000 * 1000, STREAM_BUFFER = 64 * 1024 };

static void say(const char *text)
{
	(void)printf("%s\n", text);
	(void)fflush(stdout);
}

static void on_echo(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_reply(req, 200, "application/octet-stream", http_request_body(req), NULL);
}

static bool add_header_line(struct view name, struct view value, void *userdata)
{
	return buf_addf(userdata, "%.*s: %.*s\n", VIEW_ARG(name), VIEW_ARG(value)) == 0;
}

/* What the server understood. */
static void on_info(struct http_request *req, void *userdata)
{
	auto_buf struct buf text = BUF_INIT(64 * 1024);
	struct view path = http_request_path(req), query = http_request_query(req);

	(void)userdata;
	if (buf_addf(&text, "%s path=%.*s query=%.*s client=%s local=%d https=%d\n",
		     http_request_method_name(req), VIEW_ARG(path), VIEW_ARG(query),
		     http_request_client(req), http_request_is_local(req),
		     http_request_is_https(req)) < 0)
		return;
	http_request_each_header(req, add_header_line, &text);
	http_reply(req, 200, "text/plain", buf_view(&text), NULL);
}

/* Never answers: only the client's leaving ends it. */
static void on_wait_gone(struct http_request *req, void *userdata)
{
	(void)req;
	(void)userdata;
	say("gone wait");
}

static void on_wait(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_request_on_gone(req, on_wait_gone, NULL);
	say("waiting");
}

/* Answers a little later, from a timer. */
struct delayed {
	struct http_request *req; /* NULL: gone */
	sd_event_source *timer;
};

static void on_delayed_gone(struct http_request *req, void *userdata)
{
	struct delayed *d = userdata;

	(void)req;
	sd_event_source_disable_unref(d->timer);
	free(d);
	say("gone late");
}

static int on_delay_over(sd_event_source *source, uint64_t at, void *userdata)
{
	struct delayed *d = userdata;

	(void)source;
	(void)at;
	http_reply_text(d->req, 200, "late\n");
	sd_event_source_disable_unref(d->timer);
	free(d);
	return 0;
}

static void on_late(struct http_request *req, void *userdata)
{
	struct delayed *d = calloc(1, sizeof(*d));

	if (!d || sd_event_add_time_relative(userdata, &d->timer, CLOCK_MONOTONIC,
					     300 * USEC_PER_MSEC, 1, on_delay_over, d) < 0) {
		free(d);
		http_reply_text(req, 500, "no memory\n");
		return;
	}
	d->req = req;
	http_request_on_gone(req, on_delayed_gone, d);
}

static void on_stream_gone(void *userdata)
{
	(void)userdata;
	say("gone stream");
}

/* An SSE answer that says hello and then nothing. */
static void on_sse(struct http_request *req, void *userdata)
{
	struct http_stream *s =
		http_stream_begin(req, 200, "text/event-stream", NULL, STREAM_BUFFER);

	(void)userdata;
	if (!s)
		return;
	http_stream_on_gone(s, on_stream_gone, NULL);
	if (http_stream_write(s, VIEW(": hello\n\n")) < 0)
		say("cannot write");
}

/* Three events and the end, at once. */
static void on_sse3(struct http_request *req, void *userdata)
{
	struct http_stream *s =
		http_stream_begin(req, 200, "text/event-stream", NULL, STREAM_BUFFER);

	(void)userdata;
	if (!s)
		return;
	for (int i = 0; i < 3; i++)
		if (http_stream_write(s, VIEW("data: x\n\n")) < 0)
			say("cannot write");
	http_stream_end(s);
}

/* Fills the stream until it is full: a client that does not read. */
static void on_flood(struct http_request *req, void *userdata)
{
	static char block[8192];
	struct http_stream *s = http_stream_begin(req, 200, "text/plain", NULL, STREAM_BUFFER);
	uint64_t written = 0;

	(void)userdata;
	if (!s)
		return;
	http_stream_on_gone(s, on_stream_gone, NULL);
	memset(block, 'f', sizeof(block));
	while (written < 1ULL << 32 && http_stream_write(s, view_of(block, sizeof(block))) == 0)
		written += sizeof(block);
	say(written < 1ULL << 32 ? "flood full" : "flood endless");
}

/* A large whole answer. */
static void on_large(struct http_request *req, void *userdata)
{
	static char block[4 * 1024 * 1024];

	(void)userdata;
	memset(block, 'l', sizeof(block));
	http_reply(req, 200, "text/plain", view_of(block, sizeof(block)), NULL);
}

/* ---- uploads ---- */

static void on_upload_gone(struct http_request *req, void *userdata)
{
	(void)req;
	(void)userdata;
	say("gone upload");
}

static void on_upload(struct http_request *req, void *userdata)
{
	uint64_t *n = calloc(1, sizeof(*n));

	(void)userdata;
	http_request_set_data(req, n, free);
	http_request_on_gone(req, on_upload_gone, NULL);
	say("uploading");
	if (http_request_header_count(req, "X-Refuse"))
		http_reply_text(req, 403, "refused at the head\n");
}

static int on_upload_body(struct http_request *req, struct view chunk, void *userdata)
{
	uint64_t *n = http_request_data(req);

	(void)userdata;
	*n += chunk.len;
	if (http_request_header_count(req, "X-Refuse-Body") && *n > 100000) {
		http_reply_text(req, 507, "refused in the middle\n");
		return -1;
	}
	return 0;
}

static void on_upload_end(struct http_request *req, void *userdata)
{
	const uint64_t *n = http_request_data(req);

	(void)userdata;
	http_reply_text(req, 201, "%llu\n", (unsigned long long)*n);
}

/* ---- files ---- */

static void on_file_done(void *userdata)
{
	int *fd = userdata;

	(void)close(*fd);
	free(fd);
	say("file done");
}

/* Freed by on_file_done(). */
static int *make_file(size_t size)
{
	static char text[FILE_BYTES];
	int *ret = malloc(sizeof(*ret));
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (!ret)
		abort();
	*ret = fd;

	if (!text[0])
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)('0' + i % 10);
	if (fd < 0 || write(fd, text, size) < 0)
		say("cannot write the file");
	return ret;
}

static void send_file(struct http_request *req, size_t real_size)
{
	int *fd = make_file(real_size);
	const struct http_file file = {
		.fd = *fd,
		.size = FILE_BYTES,
		.content_type = "text/plain",
		.etag = "\"abc\"",
		.last_modified = 784111777,
		.done = on_file_done,
		.userdata = fd,
	};

	if (!http_send_file(req, &file))
		say("cannot send the file");
}

static void on_file(struct http_request *req, void *userdata)
{
	(void)userdata;
	send_file(req, FILE_BYTES);
}

/* A file that is shorter than it was when it was looked at. */
static void on_shrunk(struct http_request *req, void *userdata)
{
	(void)userdata;
	send_file(req, FILE_BYTES / 2);
}

static void on_page(struct http_request *req, void *userdata)
{
	const struct page_var vars[] = { { "title", VIEW("<Title>"), PAGE_TEXT },
					 { "message", VIEW("a & b"), PAGE_TEXT },
					 { "hint", VIEW(""), PAGE_TEXT },
					 { NULL, VIEW(""), PAGE_TEXT } };

	(void)userdata;
	page_reply(req, 200, "error.html", vars, NULL);
}

static const struct cors_policy cors = { "POST, OPTIONS", "WWW-Authenticate" };

static void on_preflight(struct http_request *req, void *userdata)
{
	(void)userdata;
	cors_preflight(req, &cors);
}

static struct http_server *the_server;

static void on_quiesce(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_server_quiesce(the_server);
	http_reply_text(req, 200, "quiet\n");
}

static void on_count(struct http_request *req, void *userdata)
{
	(void)userdata;
	http_reply_text(req, 200, "%u\n", http_server_connections(the_server));
}

static int on_stdin(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	char byte;

	(void)userdata;
	(void)events;
	if (read(fd, &byte, 1) <= 0)
		(void)sd_event_exit(sd_event_source_get_event(source), 0);
	return 0;
}

static int add_routes(struct http_server *server, sd_event *event, struct err *err)
{
	const struct http_route routes[] = {
		{ "/echo", HTTP_MATCH_EXACT, HTTP_POST | HTTP_PUT, 4 * 1024 * 1024, on_echo, 0 },
		{ "/echo", HTTP_MATCH_EXACT, HTTP_OPTIONS, 0, on_preflight, 0 },
		{ "/info", HTTP_MATCH_PREFIX, HTTP_GET, 0, on_info, 0 },
		{ "/wait", HTTP_MATCH_EXACT, HTTP_GET | HTTP_POST, 1024, on_wait, 0 },
		{ "/late", HTTP_MATCH_EXACT, HTTP_GET | HTTP_POST, 1024, on_late, 0, 0, event },
		{ "/sse", HTTP_MATCH_EXACT, HTTP_GET | HTTP_POST, 1024, on_sse, 0 },
		{ "/sse3", HTTP_MATCH_EXACT, HTTP_GET | HTTP_POST, 1024, on_sse3, 0 },
		{ "/flood", HTTP_MATCH_EXACT, HTTP_GET, 0, on_flood, 0 },
		{ "/large", HTTP_MATCH_EXACT, HTTP_GET, 0, on_large, 0 },
		{ "/up", HTTP_MATCH_EXACT, HTTP_PUT, 200 * 1024 * 1024, on_upload, on_upload_body,
		  on_upload_end },
		{ "/file", HTTP_MATCH_EXACT, HTTP_GET, 0, on_file, 0 },
		{ "/shrunk", HTTP_MATCH_EXACT, HTTP_GET, 0, on_shrunk, 0 },
		{ "/page", HTTP_MATCH_EXACT, HTTP_GET, 0, on_page, 0 },
		{ "/quiesce", HTTP_MATCH_EXACT, HTTP_POST, 0, on_quiesce, 0 },
		{ "/count", HTTP_MATCH_EXACT, HTTP_GET, 0, on_count, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (http_server_add_route(server, &routes[i], err) < 0)
			return -1;
	return 0;
}

static usec arg_ms(int argc, char **argv, int at)
{
	uint64_t ms = 0;

	if (at < argc && parse_u64(view_str(argv[at]), 0, 1000000, &ms) < 0)
		say("bad argument");
	return ms * USEC_PER_MSEC;
}

static uint32_t arg_connections(int argc, char **argv, int at)
{
	uint32_t n = 1000;

	if (at < argc && parse_u32(view_str(argv[at]), 1, 100000, &n) < 0)
		say("bad argument");
	return n;
}

int main(int argc, char **argv)
{
	const struct http_config config = {
		.address = "127.0.0.1",
		.listen_fd = -1,
		.max_connections = arg_connections(argc, argv, 5),
		.trusted_proxies = "127.0.0.1, 10.0.0.0/8",
		.head_timeout = arg_ms(argc, argv, 1),
		.body_timeout = arg_ms(argc, argv, 2),
		.idle_timeout = arg_ms(argc, argv, 3),
		.write_timeout = arg_ms(argc, argv, 4),
	};
	sd_event *event = NULL;
	struct err err;
	int r;

	log_init("http_echo", LOG_LEVEL_INFO);
	if (sd_event_default(&event) < 0 ||
	    sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_stdin, NULL) < 0)
		return 1;
	if (http_server_new(event, &config, &the_server, &err) < 0 ||
	    add_routes(the_server, event, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	(void)printf("port %u\n", http_server_port(the_server));
	(void)fflush(stdout);
	r = sd_event_loop(event);
	http_server_free(the_server);
	sd_event_unref(event);
	return r;
}
