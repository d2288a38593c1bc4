/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_READ: a window of numbered lines. A file that could be edited is read to its end, since
 * its content is hashed as the version seen; of a larger one only as much as the window needs, in a
 * child if the window is far.
 */
#include "keeper/edits.h"
#include "keeper/keeper_internal.h"
#include "keeper/lines.h"
#include "keeper/save.h"
#include "keeper/text.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>

enum {
	CHUNK_BYTES = 256 * 1024,
	/* Of a line, enough for LINES_MAX_CHARS characters in any encoding. */
	LINE_BYTES = LINES_MAX_CHARS * 4 + 4,
	COUNT_ON_BYTES = 64 * 1024 * 1024, /* read after the window to learn the total */
	READ_SECONDS = 20,
};

/* A window of lines cut out of a stream of chunks. */
struct window {
	struct text_format format;
	uint64_t first, limit; /* lines wanted */
	uint64_t line;         /* the one being read, 1-based */
	uint64_t shown, crlf;
	struct buf bytes;    /* the beginning of the current line, raw, if it is wanted */
	uint64_t line_total; /* raw bytes of the current line */
	bool is_full;        /* the text has no more room */
	char last[2];        /* the last two bytes of the current line */
	struct buf *out;
};

static size_t unit_size(const struct window *w)
{
	return w->format.encoding == TEXT_UTF16LE || w->format.encoding == TEXT_UTF16BE ? 2 : 1;
}

static bool is_wanted(const struct window *w)
{
	return w->line >= w->first && w->line - w->first < w->limit && !w->is_full;
}

static bool is_past(const struct window *w)
{
	return w->is_full || (w->line >= w->first && w->line - w->first >= w->limit);
}

/* Index of the next line end in `v`, or v.len. */
static size_t find_end(const struct window *w, struct view v)
{
	size_t low = w->format.encoding == TEXT_UTF16BE ? 1 : 0;

	if (unit_size(w) == 1)
		return view_find(v, '\n');
	for (size_t i = 0; i + 1 < v.len; i += 2)
		if (v.p[i + low] == '\n' && v.p[i + 1 - low] == '\0')
			return i;
	return v.len;
}

static int add_part(struct window *w, struct view part)
{
	size_t room = LINE_BYTES - w->bytes.len;

	w->line_total += part.len;
	if (part.len >= 2)
		memcpy(w->last, part.p + part.len - 2, 2);
	else if (part.len == 1)
		memcpy(w->last, (char[2]){ w->last[1], *part.p }, 2);
	if (!is_wanted(w))
		return 0;
	return buf_add_view(&w->bytes, view_first(part, room));
}

static bool ends_with_cr(const struct window *w)
{
	switch (w->format.encoding) {
	case TEXT_UTF16LE:
		return w->line_total >= 2 && w->last[0] == '\r' && !w->last[1];
	case TEXT_UTF16BE:
		return w->line_total >= 2 && !w->last[0] && w->last[1] == '\r';
	case TEXT_UTF8:
	case TEXT_LATIN1:
	case TEXT_BINARY:
		break;
	}
	return w->line_total >= 1 && w->last[1] == '\r';
}

static int show_line(struct window *w, size_t end_len)
{
	auto_buf struct buf line = BUF_INIT((size_t)LINE_BYTES * 3);
	uint64_t total = w->line_total - end_len;
	size_t have = w->bytes.len < total ? w->bytes.len : (size_t)total;
	int r = text_decode(&line, w->format.encoding, view_first(buf_view(&w->bytes), have));

	if (r == 0)
		r = lines_add(w->out, w->line, buf_view(&line), have < total ? total : line.len);
	if (r == -ENOSPC || w->out->len > LINES_MAX_BYTES) {
		w->is_full = true;
		/* At least one line is always shown. */
		w->shown += r == 0;
		return 0;
	}
	w->shown += r == 0;
	return r;
}

static int end_line(struct window *w, bool has_end)
{
	size_t cr = has_end && ends_with_cr(w) ? unit_size(w) : 0;
	int r = is_wanted(w) ? show_line(w, cr) : 0;

	w->crlf += cr > 0;
	w->line++;
	w->line_total = 0;
	buf_truncate(&w->bytes, 0);
	return r;
}

static int add_chunk(struct window *w, struct view chunk)
{
	while (chunk.len) {
		size_t at = find_end(w, chunk);
		int r = add_part(w, view_first(chunk, at));

		if (r == 0 && at < chunk.len)
			r = end_line(w, true);
		if (r < 0)
			return r;
		chunk = view_from(chunk, at < chunk.len ? at + unit_size(w) : at);
	}
	return 0;
}

/* ---- the file ---- */

struct reading {
	struct window window;
	struct jail_file file;
	bool is_small;    /* it is read to its end and hashed */
	bool is_complete; /* the end was reached */
	bool ends_in_newline;
	struct buf content; /* of a small one */
	char *chunk;
};

static void reading_done(struct reading *r)
{
	buf_done(&r->window.bytes);
	buf_done(&r->content);
	if (r->file.fd >= 0)
		(void)close(r->file.fd);
	free(r->chunk);
}
#define auto_reading CLEANUP(reading_done)

static int take_chunk(struct reading *r, struct view chunk, bool is_first)
{
	struct window *w = &r->window;
	int e = r->is_small ? buf_add_view(&r->content, chunk) : 0;

	if (e == -ENOSPC) /* it grew meanwhile: no longer one that can be edited */
		r->is_small = false;
	else if (e < 0)
		return e;
	return add_chunk(w, is_first ? view_from(chunk, w->format.bom_len) : chunk);
}

/* The next chunk, looked at and cut into lines: its length, 0 at the end. */
static ssize_t read_chunk(struct reading *r, bool is_first)
{
	struct window *w = &r->window;
	ssize_t n = io_read_all(r->file.fd, r->chunk, CHUNK_BYTES);
	size_t head = n < TEXT_DETECT_BYTES ? (size_t)n : TEXT_DETECT_BYTES;
	int e;

	if (n < 0)
		return n;
	if (is_first)
		w->format = text_detect(view_of(r->chunk, head), n < TEXT_DETECT_BYTES);
	if (n == 0 || w->format.encoding == TEXT_BINARY)
		return n;
	r->ends_in_newline =
		r->chunk[n - 1] == '\n' || (n > 1 && !r->chunk[n - 1] && r->chunk[n - 2] == '\n');
	e = take_chunk(r, view_of(r->chunk, (size_t)n), is_first);
	return e < 0 ? e : n;
}

static int read_lines(struct reading *r)
{
	usec deadline = clock_monotonic(&clock_system) + READ_SECONDS * USEC_PER_SEC;
	struct window *w = &r->window;
	uint64_t beyond = 0;

	for (bool is_first = true;; is_first = false) {
		ssize_t n = read_chunk(r, is_first);

		if (n < 0)
			return (int)n;
		if (w->format.encoding == TEXT_BINARY)
			return 0;
		if (n == 0)
			break;
		beyond += is_past(w) ? (uint64_t)n : 0;
		if (!r->is_small && beyond > COUNT_ON_BYTES)
			return 0;
		if (clock_monotonic(&clock_system) > deadline)
			return is_past(w) ? 0 : -ETIME;
	}
	r->is_complete = true;
	return w->line_total ? end_line(w, false) : 0;
}

static int add_heading(const struct reading *r, struct view path, struct buf *out)
{
	const struct window *w = &r->window;
	const char *format = text_format_name(w->format);
	uint64_t total = w->line - 1;
	int e = show_add(out, path);

	if (e == 0 && w->shown)
		e = buf_addf(out, ": lines %" PRIu64 "-%" PRIu64 " of %s", w->first,
			     w->first + w->shown - 1, r->is_complete ? "" : "at least ");
	else if (e == 0)
		e = buf_add_str(out, ": ");
	if (e == 0)
		e = add_count(out, total, w->shown ? NULL : "line");
	if (e == 0)
		e = buf_add_str(out, ", ");
	if (e == 0)
		e = add_size(out, (uint64_t)r->file.st.st_size);
	if (e == 0 && format)
		e = buf_addf(out, ", %s", format);
	if (e == 0 && w->crlf)
		e = buf_add_str(out, w->crlf + 1 >= total ? ", CRLF line ends"
							  : ", mixed line ends (LF and CRLF)");
	if (e == 0 && r->is_complete && total && !r->ends_in_newline)
		e = buf_add_str(out, ", no line end at the end");
	return e < 0 ? e : buf_add_char(out, '\n');
}

static int add_footer(const struct reading *r, struct buf *out)
{
	const struct window *w = &r->window;
	uint64_t next = w->first + w->shown;

	if (!w->shown && w->first > 1 && w->line <= w->first)
		return buf_addf(out, "[there is no line %" PRIu64 "]\n", w->first);
	if (next >= w->line)
		return 0;
	return buf_addf(out, "[%s; go on with offset %" PRIu64 "]\n",
			w->is_full ? "cut here, the result would be too long" : "more lines follow",
			next);
}

static int fail_binary(const struct reading *r, struct view path, struct err *err)
{
	auto_buf struct buf size = BUF_INIT(64);
	struct view head = view_of(r->chunk, TEXT_DETECT_BYTES);
	char shown[SHOW_MAX];

	if (add_size(&size, (uint64_t)r->file.st.st_size) < 0)
		return fail_errno(err, ENOMEM, "read %s", show_name(path, shown));
	return fail(err, EILSEQ,
		    "%s is not text: %s, %s. Use present_file to give it to the user, or a program "
		    "in run_command to look into it",
		    show_name(path, shown), kind_of_binary(head), buf_str(&size));
}

static int read_file(struct keeper *k, struct reading *r, const struct keeper_request *request,
		     struct answer *answer, struct err *err)
{
	auto_buf struct buf lines = BUF_INIT(KEEPER_MAX_TEXT - 8 * 1024);
	struct content_hash hash;
	char shown[SHOW_MAX];
	int e;

	r->chunk = calloc(1, CHUNK_BYTES);
	if (!r->chunk)
		return fail_errno(err, ENOMEM, "read %s", show_name(request->path, shown));
	buf_init(&r->content, SAVE_MAX_BYTES);
	r->window = (struct window){ .first = request->offset ? request->offset : 1,
				     .limit = request->limit ? request->limit : UINT64_MAX,
				     .line = 1,
				     .bytes = BUF_INIT(LINE_BYTES),
				     .out = &lines };
	e = read_lines(r);
	if (e == -ETIME)
		return fail(err, ETIME,
			    "line %" PRIu64 " of %s is too far in; use run_command (tail, sed -n)",
			    r->window.first, show_name(request->path, shown));
	if (e == 0 && r->window.format.encoding == TEXT_BINARY)
		return fail_binary(r, request->path, err);
	if (e == 0)
		e = add_heading(r, request->path, &answer->text);
	if (e == 0)
		e = buf_add_view(&answer->text, buf_view(&lines));
	if (e == 0)
		e = add_footer(r, &answer->text);
	if (e < 0)
		return fail_errno(err, -e, "read %s", show_name(request->path, shown));
	if (r->is_small && r->is_complete) {
		content_hash(buf_view(&r->content), &hash);
		edits_saw(k->edits, place_view(&r->file.place), &hash);
	}
	answer_stat(answer, &r->file.st);
	answer->reply.number = r->window.first;
	answer->reply.count = r->window.shown;
	return 0;
}

/* Folders, and far into large files: in a child. */
int verb_read_later(struct keeper *k, const struct keeper_request *request, int in_fd,
		    struct answer *answer, struct err *err)
{
	auto_reading struct reading r = { .file = { .fd = -1 } };

	if (jail_open(k->workspace, request->path, JAIL_FOLLOW, O_RDONLY, &r.file, err) == 0)
		return read_file(k, &r, request, answer, err);
	if (err->sys_errno != EISDIR)
		return -1;

	const struct keeper_request list = { .verb = KEEPER_LIST, .path = request->path };
	return verb_list(k, &list, in_fd, answer, err);
}

int verb_read(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	auto_reading struct reading r = { .file = { .fd = -1 } };

	(void)in_fd;
	if (jail_open(k->workspace, request->path, JAIL_FOLLOW, O_RDONLY, &r.file, err) < 0)
		return err->sys_errno == EISDIR ? VERB_LATER : -1;
	r.is_small = r.file.st.st_size < SAVE_MAX_BYTES;
	if (!r.is_small && request->offset > 1)
		return VERB_LATER;
	return read_file(k, &r, request, answer, err);
}
