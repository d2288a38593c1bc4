/* SPDX-License-Identifier: Apache-2.0 */
/* What keys are to be told once. */
#include "pool/notes.h"

struct note {
	struct list link; /* in oldest_first */
	enum pool_note what;
	char *key;
};

int notes_init(struct notes *notes)
{
	list_init(&notes->oldest_first);
	notes->by_key = map_new();
	return notes->by_key ? 0 : -ENOMEM;
}

static void note_free(struct notes *notes, struct note *note)
{
	(void)map_remove(notes->by_key, view_str(note->key));
	list_remove(&note->link);
	free(note->key);
	free(note);
}

void notes_done(struct notes *notes)
{
	if (!notes->by_key)
		return;
	while (!list_is_empty(&notes->oldest_first))
		note_free(notes, container_of(notes->oldest_first.next, struct note, link));
	map_free(notes->by_key);
	notes->by_key = NULL;
}

void notes_put(struct notes *notes, const char *key, enum pool_note what)
{
	struct note *note;

	(void)notes_take(notes, key);
	if (map_count(notes->by_key) == POOL_MAX_NOTES)
		note_free(notes, container_of(notes->oldest_first.next, struct note, link));
	note = calloc(1, sizeof(*note));
	if (!note)
		return;
	note->what = what;
	note->key = view_dup(view_str(key));
	if (!note->key || map_put(notes->by_key, view_str(key), note, NULL) < 0) {
		free(note->key);
		free(note);
		return;
	}
	list_add_tail(&notes->oldest_first, &note->link);
}

enum pool_note notes_take(struct notes *notes, const char *key)
{
	struct note *note = map_get(notes->by_key, view_str(key));
	enum pool_note what;

	if (!note)
		return POOL_NOTE_NONE;
	what = note->what;
	note_free(notes, note);
	return what;
}
