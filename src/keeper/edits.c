/* SPDX-License-Identifier: Apache-2.0 */
/* Seen versions and undo: a table of files, each with a chain of steps, the oldest evicted first.
 */
#include "keeper/edits.h"

#include "base/list.h"
#include "base/map.h"

#include <sodium.h>

/* Fixed costs of a step and a span count too, or a million tiny edits would be free. */
struct edit_step {
	struct list age; /* in edits.steps, oldest first */
	struct edit_step *earlier;
	struct edit_step **owner; /* where the step after this one, or the file, points to it */
	struct edited_file *file;
	struct content_hash before, after;
	size_t n_spans, size;
	struct saved_span {
		size_t at, old_len, new_len;
	} spans[]; /* followed by the old bytes of all spans */
};

struct edited_file {
	struct list age; /* in edits.files, least recently used first */
	struct content_hash seen;
	struct edit_step *last;
	bool lost_some; /* an older step was evicted */
	size_t path_len;
	char path[];
};

struct edits {
	struct map *by_path;
	struct list files, steps;
	size_t undo_bytes;
};

_Static_assert(EDITS_HASH_BYTES == crypto_generichash_BYTES, "hash size");

void content_hash(struct view content, struct content_hash *ret)
{
	(void)crypto_generichash(ret->bytes, sizeof(ret->bytes), (const unsigned char *)content.p,
				 content.len, NULL, 0);
}

bool content_hash_eq(const struct content_hash *a, const struct content_hash *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

struct edits *edits_new(void)
{
	struct edits *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->by_path = map_new();
	if (!e->by_path) {
		free(e);
		return NULL;
	}
	list_init(&e->files);
	list_init(&e->steps);
	return e;
}

static void drop_step(struct edits *e, struct edit_step *step)
{
	list_remove(&step->age);
	e->undo_bytes -= step->size;
	*step->owner = step->earlier;
	if (step->earlier)
		step->earlier->owner = step->owner;
	free(step);
}

/* A step cannot be undone once one after it is gone, so eviction takes the oldest of a file first;
 * the age list is in that order. */
static void evict_oldest_step(struct edits *e)
{
	struct edit_step *step = container_of(e->steps.next, struct edit_step, age);

	step->file->lost_some = true;
	drop_step(e, step);
}

static void drop_steps_of(struct edits *e, struct edited_file *file)
{
	while (file->last)
		drop_step(e, file->last);
}

static void drop_file(struct edits *e, struct edited_file *file)
{
	drop_steps_of(e, file);
	list_remove(&file->age);
	(void)map_remove(e->by_path, view_of(file->path, file->path_len));
	free(file);
}

void edits_clear(struct edits *e)
{
	while (!list_is_empty(&e->files))
		drop_file(e, container_of(e->files.next, struct edited_file, age));
}

void edits_free(struct edits *e)
{
	if (!e)
		return;
	edits_clear(e);
	map_free(e->by_path);
	free(e);
}

/* The file's entry, made if there is none, as the most recently used one; NULL: out of memory. */
static struct edited_file *touch(struct edits *e, struct view path)
{
	struct edited_file *file = map_get(e->by_path, path);

	if (file) {
		list_remove(&file->age);
		list_add_tail(&e->files, &file->age);
		return file;
	}
	if (map_count(e->by_path) >= EDITS_MAX_FILES)
		drop_file(e, container_of(e->files.next, struct edited_file, age));
	file = calloc(1, sizeof(*file) + path.len);
	if (!file)
		return NULL;
	file->path_len = path.len;
	memcpy(file->path, path.p, path.len);
	if (map_put(e->by_path, path, file, NULL) < 0) {
		free(file);
		return NULL;
	}
	list_add_tail(&e->files, &file->age);
	return file;
}

void edits_saw(struct edits *e, struct view path, const struct content_hash *hash)
{
	struct edited_file *file = touch(e, path);

	if (file)
		file->seen = *hash;
}

enum edits_seen edits_check(const struct edits *e, struct view path,
			    const struct content_hash *hash)
{
	const struct edited_file *file = map_get(e->by_path, path);

	if (!file)
		return EDITS_NEVER;
	return content_hash_eq(&file->seen, hash) ? EDITS_SEEN : EDITS_CHANGED;
}

static char *old_bytes(struct edit_step *step)
{
	return (char *)&step->spans[step->n_spans];
}

static struct edit_step *make_step(const struct edit_span *spans, size_t n)
{
	size_t size = sizeof(struct edit_step) + n * sizeof(struct saved_span);
	struct edit_step *step;
	char *old;

	for (size_t i = 0; i < n; i++)
		size += spans[i].old.len;
	step = malloc(size);
	if (!step)
		return NULL;
	*step = (struct edit_step){ .n_spans = n, .size = size };
	old = old_bytes(step);
	for (size_t i = 0; i < n; i++) {
		step->spans[i] = (struct saved_span){ .at = spans[i].at,
						      .old_len = spans[i].old.len,
						      .new_len = spans[i].new_len };
		memcpy(old, spans[i].old.p, spans[i].old.len);
		old += spans[i].old.len;
	}
	return step;
}

int edits_record(struct edits *e, struct view path, const struct edit_span *spans, size_t n,
		 const struct content_hash *before, const struct content_hash *after)
{
	struct edited_file *file = touch(e, path);
	struct edit_step *step;

	if (!file)
		return -ENOMEM;
	file->seen = *after;
	step = make_step(spans, n);
	if (!step || step->size > EDITS_MAX_UNDO_BYTES) {
		free(step);
		drop_steps_of(e, file);
		file->lost_some = true;
		return -ENOSPC;
	}
	/* Somebody changed the file in between: what was before cannot be reached any more. */
	if (file->last && !content_hash_eq(&file->last->after, before)) {
		drop_steps_of(e, file);
		file->lost_some = true;
	}
	while (e->undo_bytes + step->size > EDITS_MAX_UNDO_BYTES)
		evict_oldest_step(e);
	step->before = *before;
	step->after = *after;
	step->file = file;
	step->earlier = file->last;
	step->owner = &file->last;
	if (step->earlier)
		step->earlier->owner = &step->earlier;
	file->last = step;
	list_add_tail(&e->steps, &step->age);
	e->undo_bytes += step->size;
	return 0;
}

const struct edit_step *edits_last(const struct edits *e, struct view path)
{
	const struct edited_file *file = map_get(e->by_path, path);

	return file ? file->last : NULL;
}

uint32_t edits_count(const struct edits *e, struct view path, bool *ret_is_complete)
{
	const struct edited_file *file = map_get(e->by_path, path);
	uint32_t n = 0;

	*ret_is_complete = !file || !file->lost_some;
	for (const struct edit_step *s = file ? file->last : NULL; s; s = s->earlier)
		n++;
	return n;
}

const struct content_hash *edit_step_after(const struct edit_step *step)
{
	return &step->after;
}

const struct edit_step *edit_step_earlier(const struct edit_step *step)
{
	return step->earlier;
}

size_t edit_step_at(const struct edit_step *step)
{
	return step->n_spans ? step->spans[0].at : 0;
}

int edit_step_revert(const struct edit_step *step, struct view content, struct buf *out)
{
	const char *old = (const char *)&step->spans[step->n_spans];
	size_t at = 0, was = 0; /* in the content after, in the content before */
	int r = 0;

	for (size_t i = 0; r == 0 && i < step->n_spans; i++) {
		const struct saved_span *s = &step->spans[i];
		size_t same = s->at - was;

		if (same > content.len - at || s->new_len > content.len - at - same)
			return -EINVAL;
		r = buf_add(out, content.p + at, same);
		if (r == 0)
			r = buf_add(out, old, s->old_len);
		at += same + s->new_len;
		was = s->at + s->old_len;
		old += s->old_len;
	}
	return r < 0 ? r : buf_add_view(out, view_from(content, at));
}

void edits_pop(struct edits *e, struct view path)
{
	struct edited_file *file = map_get(e->by_path, path);

	if (!file || !file->last)
		return;
	file->seen = file->last->before;
	drop_step(e, file->last);
}
