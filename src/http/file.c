/* SPDX-License-Identifier: Apache-2.0 */
/* Files as answers. */
#include "http/internal.h"
#include "http/range.h"

#include <assert.h>
#include <stdio.h>

enum {
	FILE_BLOCK_BYTES = 32 * 1024, /* read at once; memory of a download */
	FILE_MAX_HEADERS = 24,
};

/* What the library reads from; freed with the response. */
struct http_sending {
	struct http_link *link; /* outlives the responses on it */
	int fd;                 /* -1: cut */
	uint64_t start, length;
	void (*done)(void *userdata);
	void *userdata;
};

static void sending_free(void *cls)
{
	struct http_sending *sending = cls;

	if (sending->done)
		sending->done(sending->userdata);
	free(sending);
}

static ssize_t sending_read(void *cls, uint64_t pos, char *out, size_t max)
{
	const struct http_sending *sending = cls;
	uint64_t left = sending->length - pos;
	ssize_t n;

	if (left == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	do
		n = pread(sending->fd, out, left < max ? (size_t)left : max,
			  (off_t)(sending->start + pos));
	while (n < 0 && errno == EINTR);
	/* Shorter than promised, or cut: the client must see that something is missing. */
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* What will be sent. */
struct file_answer {
	unsigned status;
	uint64_t first, length;
	char content_range[80];
	char last_modified[HTTP_DATE_SIZE];
};

/* If-Range with anything but our validator means: the whole. */
static bool range_applies(const struct http_request *req, const struct http_file *file,
			  const struct file_answer *answer)
{
	struct view condition = http_request_header(req, "If-Range");

	if (!condition.p)
		return true;
	return (file->etag && view_is(condition, file->etag)) ||
	       (file->last_modified && view_is(condition, answer->last_modified));
}

/* RFC 9110 13.2.2: If-None-Match decides alone when it is there. */
static bool is_not_modified(const struct http_request *req, const struct http_file *file,
			    const struct file_answer *answer)
{
	struct view none_match = http_request_header(req, "If-None-Match");
	struct view since = http_request_header(req, "If-Modified-Since");

	if (none_match.p)
		return file->etag && etag_list_has(none_match, view_str(file->etag));
	return since.p && file->last_modified && view_is(since, answer->last_modified);
}

static void choose_part(const struct http_request *req, const struct http_file *file,
			struct file_answer *answer)
{
	struct view range = http_request_header(req, "Range");
	uint64_t last;

	if (!range.p || http_request_header_count(req, "Range") > 1 ||
	    !range_applies(req, file, answer))
		return;
	switch (range_parse(range, file->size, &answer->first, &last)) {
	case RANGE_WHOLE:
		break;
	case RANGE_PART:
		answer->status = 206;
		answer->length = last - answer->first + 1;
		(void)snprintf(answer->content_range, sizeof(answer->content_range),
			       "bytes %llu-%llu/%llu", (unsigned long long)answer->first,
			       (unsigned long long)last, (unsigned long long)file->size);
		break;
	case RANGE_UNSATISFIABLE:
		answer->status = 416;
		answer->length = 0;
		(void)snprintf(answer->content_range, sizeof(answer->content_range), "bytes */%llu",
			       (unsigned long long)file->size);
		break;
	}
}

static struct file_answer choose_answer(const struct http_request *req,
					const struct http_file *file)
{
	struct file_answer answer = { .status = 200, .length = file->size };

	if (file->last_modified)
		http_date(file->last_modified, answer.last_modified);
	if (is_not_modified(req, file, &answer)) {
		answer.status = 304; /* with the length that a 200 would have */
	} else {
		choose_part(req, file, &answer);
	}
	return answer;
}

static void collect_headers(struct http_header out[FILE_MAX_HEADERS], const struct http_file *file,
			    const struct file_answer *answer)
{
	size_t n = 0;

	out[n++] = (struct http_header){ "Accept-Ranges", "bytes" };
	if (file->etag)
		out[n++] = (struct http_header){ "ETag", file->etag };
	if (file->last_modified)
		out[n++] = (struct http_header){ "Last-Modified", answer->last_modified };
	if (answer->content_range[0])
		out[n++] = (struct http_header){ "Content-Range", answer->content_range };
	for (const struct http_header *h = file->extra; h && h->name; h++) {
		assert(n < FILE_MAX_HEADERS - 1);
		out[n++] = *h;
	}
	out[n] = (struct http_header){ NULL, NULL };
}

static struct http_sending *make_sending(const struct http_request *req,
					 const struct http_file *file,
					 const struct file_answer *answer)
{
	struct http_sending *sending = calloc(1, sizeof(*sending));

	if (!sending)
		return NULL;
	*sending = (struct http_sending){ .link = req->link,
					  .fd = file->fd,
					  .start = answer->first,
					  .length = answer->length,
					  .userdata = file->userdata };
	return sending;
}

static struct MHD_Response *make_response(struct http_sending *sending)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		sending->length, FILE_BLOCK_BYTES, sending_read, sending, sending_free);

	if (!response)
		sending_free(sending);
	return response;
}

struct http_sending *http_send_file(struct http_request *req, const struct http_file *file)
{
	struct file_answer answer = choose_answer(req, file);
	struct http_header headers[FILE_MAX_HEADERS];
	struct http_sending *sending;

	assert(req->conn && !req->is_answered && req->phase != REQUEST_BODY);
	req->is_answered = true;
	collect_headers(headers, file, &answer);
	sending = make_sending(req, file, &answer);
	if (reply_by_library(req, answer.status, sending ? make_response(sending) : NULL,
			     file->content_type, headers) < 0)
		return NULL;
	sending->done = file->done;
	return sending;
}

void http_sending_cut(struct http_sending *sending)
{
	sending->fd = -1;
	sending->done = NULL;
	if (sending->link->conn)
		conn_break(sending->link->conn);
}
