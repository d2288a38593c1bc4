/* SPDX-License-Identifier: Apache-2.0 */
/* KEEPER_UNDO: the last edit of a file, or all of them, if nobody else changed it since. */
#include "keeper/edits.h"
#include "keeper/keeper_internal.h"
#include "keeper/lines.h"
#include "keeper/save.h"
#include "keeper/text.h"

#include <inttypes.h>

struct undoing {
	struct view path;
	struct loaded loaded;
	struct buf content, next;
	uint64_t steps;
	size_t at; /* where the oldest undone step begins, in the content before it */
};

static void undoing_done(struct undoing *u)
{
	loaded_done(&u->loaded);
	buf_done(&u->content);
	buf_done(&u->next);
}
#define auto_undoing CLEANUP(undoing_done)

static int check_undo(struct keeper *k, struct undoing *u, struct err *err)
{
	const struct edit_step *last = edits_last(k->edits, place_view(&u->loaded.file.place));
	struct content_hash now;
	char shown[SHOW_MAX];

	if (!last)
		return fail(err, ENOENT, "there is no edit of %s that could be undone",
			    show_name(u->path, shown));
	content_hash(buf_view(&u->loaded.content), &now);
	if (!content_hash_eq(&now, edit_step_after(last)))
		return fail(err, ESTALE,
			    "%s has changed since that edit (by a command or another program), so "
			    "it cannot be undone safely. Read it and edit it instead",
			    show_name(u->path, shown));
	return 0;
}

/* `content` goes back one step, or through all. */
static int revert(struct keeper *k, struct undoing *u, bool is_all)
{
	const struct edit_step *step = edits_last(k->edits, place_view(&u->loaded.file.place));
	int r;

	buf_init(&u->content, SAVE_MAX_BYTES);
	r = buf_add_view(&u->content, buf_view(&u->loaded.content));
	for (; r == 0 && step; step = is_all ? edit_step_earlier(step) : NULL) {
		struct buf spare = u->content;

		buf_init(&u->next, SAVE_MAX_BYTES);
		r = edit_step_revert(step, buf_view(&u->content), &u->next);
		u->content = u->next;
		u->next = spare;
		buf_done(&u->next);
		u->at = edit_step_at(step);
		u->steps++;
	}
	return r;
}

static int report(const struct undoing *u, bool is_all, bool is_complete, struct answer *answer)
{
	struct view all = buf_view(&u->content), head = view_first(all, TEXT_DETECT_BYTES);
	struct text_format format = text_detect(head, head.len == all.len);
	struct buf *out = &answer->text;
	int r = buf_add_str(out, "Undid ");

	if (r == 0)
		r = add_count(out, u->steps, "edit");
	if (r == 0)
		r = buf_add_str(out, " of ");
	if (r == 0)
		r = show_add(out, u->path);
	if (r == 0)
		r = buf_add_str(out, is_all && !is_complete
					     ? " (older ones are no longer remembered).\n"
					     : ".\n");
	if (r == 0 && format.encoding == TEXT_UTF8 && u->at >= format.bom_len) {
		struct view body = view_from(all, format.bom_len);

		answer->reply.number = text_line_of(body, u->at - format.bom_len);
		r = lines_add_around(out, body, u->at - format.bom_len, u->at - format.bom_len);
	}
	return r == -ENOSPC ? 0 : r;
}

int verb_undo(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	auto_undoing struct undoing u = { .path = request->path };
	bool is_all = request->flags & KEEPER_ALL, is_complete;
	char shown[SHOW_MAX];
	struct view place;
	int r;

	(void)in_fd;
	loaded_init(&u.loaded);
	if (load_file(k->workspace, request->path, &u.loaded, err) < 0 ||
	    check_undo(k, &u, err) < 0)
		return -1;
	r = revert(k, &u, is_all);
	if (r < 0)
		return fail_errno(err, -r, "undo the edit of %s", show_name(u.path, shown));
	if (save_file(k->workspace, k->self, &u.loaded, buf_view(&u.content), err) < 0)
		return -1;

	place = place_view(&u.loaded.file.place);
	(void)edits_count(k->edits, place, &is_complete);
	for (uint64_t i = 0; i < u.steps; i++)
		edits_pop(k->edits, place);
	answer->reply.size = u.content.len;
	answer->reply.count = u.steps;
	r = report(&u, is_all, is_complete, answer);
	return r < 0 ? fail_errno(err, -r, "undo the edit of %s", show_name(u.path, shown)) : 0;
}
