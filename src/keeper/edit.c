/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_EDIT: exact replacement in the version that the client has seen. Matching is done in the
 * body (see text.h); what is written are the file's own bytes with only the spans replaced.
 */
#include "base/utf8.h"
#include "keeper/edits.h"
#include "keeper/keeper_internal.h"
#include "keeper/lines.h"
#include "keeper/match.h"
#include "keeper/save.h"
#include "keeper/text.h"

#include <inttypes.h>

enum {
	SHOWN_CHANGES = 3,
	SHOWN_LINE_NUMBERS = 20,
};

struct editing {
	const struct keeper_request *request;
	struct view path;
	struct loaded loaded;
	struct content_hash before, after;
	struct text_format format;
	struct view raw; /* after the byte order mark */
	struct buf decoded, content, old_buf, new_buf;
	struct view body, old, replacement; /* all with "\n" */
	size_t from, to;                    /* the part of the body that may be changed */
	size_t *matches;                    /* offsets in the body */
	size_t n;
	struct edit_span *spans;
	struct buf out; /* the new content */
};

static void editing_done(struct editing *e)
{
	loaded_done(&e->loaded);
	buf_done(&e->decoded);
	buf_done(&e->content);
	buf_done(&e->old_buf);
	buf_done(&e->new_buf);
	buf_done(&e->out);
	free(e->matches);
	free(e->spans);
}
#define auto_editing CLEANUP(editing_done)

static int fail_edit(const struct editing *e, int sys_errno, struct err *err)
{
	char shown[SHOW_MAX];

	return fail_errno(err, sys_errno, "edit %s", show_name(e->path, shown));
}

static int take_texts(struct editing *e, int in_fd, struct err *err)
{
	struct view all, old, replacement;
	int r;

	buf_init(&e->content, KEEPER_MAX_CONTENT);
	buf_init(&e->old_buf, KEEPER_MAX_CONTENT);
	buf_init(&e->new_buf, KEEPER_MAX_CONTENT);
	if (content_read(in_fd, &e->content, err) < 0)
		return -1;
	all = buf_view(&e->content);
	if (e->request->number > all.len || !utf8_valid(all))
		return fail(err, EINVAL, "the texts of the edit are malformed");
	old = view_first(all, e->request->number);
	replacement = view_from(all, e->request->number);
	r = text_fold(&e->old_buf, old);
	if (r == 0)
		r = text_fold(&e->new_buf, replacement);
	if (r < 0)
		return fail_edit(e, -r, err);
	e->old = buf_view(&e->old_buf);
	e->replacement = buf_view(&e->new_buf);
	return 0;
}

static int check_version(struct keeper *k, struct editing *e, struct err *err)
{
	char shown[SHOW_MAX];

	content_hash(buf_view(&e->loaded.content), &e->before);
	switch (edits_check(k->edits, place_view(&e->loaded.file.place), &e->before)) {
	case EDITS_SEEN:
		return 0;
	case EDITS_CHANGED:
		return fail(err, ESTALE,
			    "%s has changed since you read it (by a command or another program). "
			    "Read it again with read_file, then edit",
			    show_name(e->path, shown));
	case EDITS_NEVER:
		break;
	}
	return fail(err, EPERM, "%s has not been read yet. Read it with read_file, then edit",
		    show_name(e->path, shown));
}

static int make_body(struct editing *e, struct err *err)
{
	struct view all = buf_view(&e->loaded.content);
	struct view head = view_first(all, TEXT_DETECT_BYTES);
	char shown[SHOW_MAX];
	int r;

	e->format = text_detect(head, head.len == all.len);
	if (e->format.encoding == TEXT_BINARY)
		return fail(err, EILSEQ, "%s is not text (%s)", show_name(e->path, shown),
			    kind_of_binary(head));
	e->raw = view_from(all, e->format.bom_len);
	e->body = e->raw;
	if (text_is_plain(e->format.encoding, e->raw))
		return 0;
	/* UTF-16 grows by at most a half, Latin-1 to three times as much. */
	buf_init(&e->decoded, 3 * (size_t)SAVE_MAX_BYTES);
	r = text_decode(&e->decoded, e->format.encoding, e->raw);
	if (r < 0)
		return fail_edit(e, -r, err);
	e->body = buf_view(&e->decoded);
	return 0;
}

static int find_range(struct editing *e, struct err *err)
{
	uint64_t first = e->request->offset ? e->request->offset : 1, n = e->request->limit;
	char shown[SHOW_MAX];

	e->to = e->body.len;
	if (!(e->request->flags & KEEPER_LINES))
		return 0;
	if (!n || n > UINT64_MAX - first)
		return fail(err, EINVAL, "the lines to edit are malformed");
	e->from = text_line_start(e->body, first);
	e->to = text_line_start(e->body, first + n);
	if (e->from == e->body.len)
		return fail(err, EINVAL, "%s has no line %" PRIu64, show_name(e->path, shown),
			    first);
	return 0;
}

/* An empty old text: the whole range, or the whole of an empty file. */
static int match_range(struct editing *e, struct err *err)
{
	struct view range = view_first(view_from(e->body, e->from), e->to - e->from);
	char shown[SHOW_MAX];

	if (!(e->request->flags & KEEPER_LINES) && e->body.len)
		return fail(
			err, EINVAL,
			"old_text is empty. Give the text of %s to be replaced (to insert, give "
			"the line before and repeat it in new_text)",
			show_name(e->path, shown));
	/* The last line end stays, unless the new text brings its own. */
	if (e->replacement.len && !view_ends(e->replacement, VIEW("\n")) &&
	    view_ends(range, VIEW("\n")))
		e->to--;
	e->matches = calloc(1, sizeof(*e->matches));
	if (!e->matches)
		return fail_edit(e, ENOMEM, err);
	e->matches[0] = e->from;
	e->n = 1;
	e->old = view_first(view_from(e->body, e->from), e->to - e->from);
	return 0;
}

static int fail_no_match(struct editing *e, struct answer *answer, struct err *err)
{
	struct view range = view_first(view_from(e->body, e->from), e->to - e->from);
	uint64_t line = text_line_of(e->body, e->from);
	char shown[SHOW_MAX];
	int r;

	r = buf_addf(&answer->text, "old_text is not in %s%s; nothing was changed. ",
		     e->request->flags & KEEPER_LINES ? "that part of " : "",
		     show_name(e->path, shown));
	if (r == 0)
		r = match_diagnose(&answer->text, range, line, e->old);
	if (r < 0 && r != -ENOSPC)
		return fail_edit(e, -r, err);
	return fail(err, ENOMSG, "%s", "");
}

static int fail_ambiguous(struct editing *e, struct answer *answer, struct err *err)
{
	uint64_t line = text_line_of(e->body, e->matches[0]);
	char shown[SHOW_MAX];
	int r;

	r = buf_addf(&answer->text, "old_text is in %s %zu times; nothing was changed. Lines: ",
		     show_name(e->path, shown), e->n);
	for (size_t i = 0; r == 0 && i < e->n && i < SHOWN_LINE_NUMBERS; i++) {
		size_t before = i ? e->matches[i - 1] : e->matches[0];

		line += text_line_of(view_from(e->body, before), e->matches[i] - before) - 1;
		r = buf_addf(&answer->text, "%s%" PRIu64, i ? ", " : "", line);
	}
	if (r == 0)
		r = buf_addf(&answer->text,
			     "%s. Add neighbouring lines to old_text until it is unique, or set "
			     "replace_all.\n",
			     e->n > SHOWN_LINE_NUMBERS ? ", …" : "");
	return r < 0 ? fail_edit(e, -r, err) : fail(err, ENOTUNIQ, "%s", "");
}

static int find_matches(struct editing *e, struct answer *answer, struct err *err)
{
	int64_t n;

	if (!e->old.len)
		return match_range(e, err);
	if (view_eq(e->old, e->replacement))
		return fail(err, EINVAL, "old_text and new_text are the same; nothing to do");
	n = match_all(view_first(view_from(e->body, e->from), e->to - e->from), e->old,
		      &e->matches);
	if (n == -E2BIG)
		return fail(err, E2BIG, "old_text is there more than %d times; use run_command",
			    MATCH_MAX);
	if (n < 0)
		return fail_edit(e, (int)-n, err);
	e->n = (size_t)n;
	for (size_t i = 0; i < e->n; i++)
		e->matches[i] += e->from;
	if (!e->n)
		return fail_no_match(e, answer, err);
	if (e->n > 1 && !(e->request->flags & KEEPER_REPLACE_ALL))
		return fail_ambiguous(e, answer, err);
	return 0;
}

/* Copies the raw bytes, with each match replaced, into `out`, noting the spans. */
static int replace_spans(struct editing *e, uint32_t *ret_bad)
{
	struct text_walk walk = { .encoding = e->format.encoding, .raw = e->raw };
	bool is_same = e->body.p == e->raw.p;
	size_t bom = e->format.bom_len, at = 0;
	int r = buf_add(&e->out, e->loaded.content.p, bom);

	for (size_t i = 0; r == 0 && i < e->n; i++) {
		size_t start = e->matches[i], end = start + e->old.len, mark;

		if (!is_same) {
			start = text_walk_to(&walk, start);
			end = text_walk_to(&walk, end);
		}
		r = buf_add(&e->out, e->raw.p + at, start - at);
		mark = e->out.len;
		if (r == 0)
			r = text_encode(&e->out, e->format.encoding,
					&(struct text_span){ e->raw, start, end }, e->replacement,
					ret_bad);
		e->spans[i] = (struct edit_span){ .at = bom + start,
						  .old = view_of(e->raw.p + start, end - start),
						  .new_len = e->out.len - mark };
		at = end;
	}
	return r < 0 ? r : buf_add_view(&e->out, view_from(e->raw, at));
}

static int make_content(struct editing *e, struct err *err)
{
	char shown[SHOW_MAX];
	uint32_t bad = 0;
	int r;

	buf_init(&e->out, SAVE_MAX_BYTES);
	e->spans = calloc(e->n, sizeof(*e->spans));
	if (!e->spans)
		return fail_edit(e, ENOMEM, err);
	r = replace_spans(e, &bad);
	if (r == -EILSEQ)
		return fail(err, EILSEQ,
			    "%s is %s, which has no character U+%04X; nothing was changed",
			    show_name(e->path, shown), text_format_name(e->format), bad);
	if (r == -ENOSPC)
		return fail(err, EFBIG, "%s would become larger than %d MiB",
			    show_name(e->path, shown), SAVE_MAX_BYTES >> 20);
	if (r < 0)
		return fail_edit(e, -r, err);
	if (view_eq(buf_view(&e->out), buf_view(&e->loaded.content)))
		return fail(err, EINVAL, "that would change nothing in %s",
			    show_name(e->path, shown));
	return 0;
}

static int report_counts(const struct editing *e, bool can_undo, struct answer *answer)
{
	struct buf *out = &answer->text;
	int r = buf_add_str(out, "Edited ");

	if (r == 0)
		r = show_add(out, e->path);
	if (r == 0)
		r = buf_add_str(out, ": ");
	if (r == 0)
		r = add_count(out, e->n, "replacement");
	if (r == 0)
		r = buf_add_str(out, ", now ");
	if (r == 0)
		r = add_size(out, e->out.len);
	return r < 0 ? r
		     : buf_add_str(out, can_undo ? ".\n" : ". (Too large to be undone here.)\n");
}

/* Where match `i` is in the new body. */
static size_t new_place(const struct editing *e, size_t i)
{
	return e->matches[i] + i * e->replacement.len - i * e->old.len;
}

/* Is no line left out between those shown around `to` and those around `from`, which comes after?
 */
static bool touch(struct view body, size_t to, size_t from)
{
	return text_line_of(view_from(body, to), from - to) <= 2 * (uint64_t)LINES_CONTEXT + 2;
}

/* The first changes, as they are in the new body; each line once. */
static int report_changes(struct editing *e, struct answer *answer)
{
	struct view raw = view_from(buf_view(&e->out), e->format.bom_len), body = raw;
	size_t grow = e->replacement.len, next = 0;
	int r = 0;

	if (!text_is_plain(e->format.encoding, raw)) {
		buf_truncate(&e->decoded, 0);
		r = text_decode(&e->decoded, e->format.encoding, raw);
		body = buf_view(&e->decoded);
	}
	answer->reply.number = text_line_of(body, e->matches[0]);
	for (int shown = 0; r == 0 && next < e->n && shown < SHOWN_CHANGES; shown++) {
		size_t from = new_place(e, next), to = from + grow;

		while (++next < e->n && touch(body, to, new_place(e, next)))
			to = new_place(e, next) + grow;
		if (shown)
			r = buf_add_str(&answer->text, "…\n");
		if (r == 0)
			r = lines_add_around(&answer->text, body, from, to);
	}
	if (r == 0 && next < e->n)
		r = buf_addf(&answer->text, "… [%zu more place%s]\n", e->n - next,
			     e->n - next == 1 ? "" : "s");
	return r == -ENOSPC ? 0 : r;
}

int verb_edit(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	auto_editing struct editing e = { .request = request, .path = request->path };
	bool can_undo;
	int r;

	loaded_init(&e.loaded);
	if (take_texts(&e, in_fd, err) < 0 ||
	    load_file(k->workspace, request->path, &e.loaded, err) < 0 ||
	    check_version(k, &e, err) < 0 || make_body(&e, err) < 0 || find_range(&e, err) < 0 ||
	    find_matches(&e, answer, err) < 0 || make_content(&e, err) < 0 ||
	    save_file(k->workspace, k->self, &e.loaded, buf_view(&e.out), err) < 0)
		return -1;

	content_hash(buf_view(&e.out), &e.after);
	can_undo = edits_record(k->edits, place_view(&e.loaded.file.place), e.spans, e.n, &e.before,
				&e.after) == 0;
	answer->reply.size = e.out.len;
	answer->reply.count = e.n;
	r = report_counts(&e, can_undo, answer);
	if (r == 0)
		r = report_changes(&e, answer);
	return r < 0 ? fail_edit(&e, -r, err) : 0;
}
