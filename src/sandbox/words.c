/* SPDX-License-Identifier: Apache-2.0 */
/* What the model is told about its sandbox: short, true, with what to do. */
#include "sandbox/internal.h"

#include <stdio.h>

void duration_words(usec t, char *out, size_t size)
{
	unsigned long long seconds = t / USEC_PER_SEC;

	if (seconds < 90)
		(void)snprintf(out, size, "%llu seconds", seconds);
	else if (seconds < 90ULL * 60)
		(void)snprintf(out, size, "%llu minutes", (seconds + 30) / 60);
	else
		(void)snprintf(out, size, "%llu hours", (seconds + 1800) / 3600);
}

static void add_line(char *out, size_t size, const char *line)
{
	size_t len = strlen(out);

	(void)snprintf(out + len, size - len, "%s%s", len ? "\n" : "", line);
}

void disk_words(const struct place *p, char *out, size_t size)
{
	const struct disk_limits *limits = &p->s->config.disk;
	const struct disk_use *use = &p->disk.use;
	const char *what = "/workspace holds";
	uint64_t is = use->workspace, may = limits->workspace;

	switch (p->disk.full) {
	case DISK_FILES:
		(void)snprintf(out, size,
			       "the sandbox holds %llu files and folders of at most %llu",
			       (unsigned long long)use->files, (unsigned long long)limits->files);
		return;
	case DISK_TOO_DEEP:
		(void)snprintf(out, size,
			       "it has folders nested too deeply for their size to be measured");
		return;
	case DISK_LAYER:
		what = "what was written outside /workspace takes";
		is = use->layer;
		may = limits->layer;
		break;
	case DISK_WORKSPACE:
	case DISK_HAS_ROOM:
		break;
	}
	(void)snprintf(out, size, "%s %llu of %llu MiB", what, (unsigned long long)(is >> 20),
		       (unsigned long long)(may >> 20));
}

static void disk_note(const struct place *p, char *out, size_t size)
{
	char words[160], line[512];

	if (!p || !p->disk.full)
		return;
	disk_words(p, words, sizeof(words));
	(void)snprintf(line, sizeof(line),
		       "[limit] %s: files can be read and removed, and none can be written or made "
		       "larger. Remove some, then call again.",
		       words);
	add_line(out, size, line);
}

static const char *const note_words[] = {
	[POOL_NOTE_NONE] = NULL,
	[POOL_NOTE_READY] = "[note] Your sandbox is ready: the wait in the queue is over.",
	[POOL_NOTE_LAPSED] =
		"[note] Your earlier place in the queue had lapsed, since no call came "
		"for too long.",
	[POOL_NOTE_UNCLAIMED] =
		"[note] A sandbox had been ready for you but was not used in time and "
		"went to the next in the queue.",
	[POOL_NOTE_IDLE] = "[note] Your earlier sandbox was idle for too long and was emptied: its "
			   "files, packages and processes are gone.",
	[POOL_NOTE_MOVED] = "[note] The reset gave you another, empty sandbox.",
};
_Static_assert(ARRAY_SIZE(note_words) == POOL_NUM_NOTES, "a note has no words");

static void box_note(const struct sandbox *sandbox, char *out, size_t size)
{
	char line[512];

	if (!sandbox->had_box) {
		if (sandbox->is_unseen)
			add_line(out, size, "[note] A new sandbox: /workspace is empty.");
		return;
	}
	if (sandbox->lost_why[0])
		(void)snprintf(line, sizeof(line),
			       "[note] A fresh container: the earlier one ended (%s). Its packages "
			       "and processes are gone; files in /workspace are kept.",
			       sandbox->lost_why);
	else
		(void)snprintf(
			line, sizeof(line),
			"[note] A fresh container%s: packages and processes of the earlier one "
			"are gone; files in /workspace are kept.",
			sandbox->recycled_idle ? " (the earlier one was idle and was recycled)"
					       : "");
	add_line(out, size, line);
}

void queue_note(enum pool_note note, char *out, size_t size)
{
	if (note_words[note])
		add_line(out, size, note_words[note]);
}

void sandbox_notes(struct sandbox *sandbox, bool is_new_box, enum pool_note note, char *out,
		   size_t size)
{
	out[0] = '\0';
	queue_note(note, out, size);
	if (is_new_box) {
		box_note(sandbox, out, size);
		sandbox->had_box = true;
		sandbox->recycled_idle = false;
		sandbox->lost_why[0] = '\0';
	}
	/* Who came for the files alone may leave some. */
	sandbox->is_unseen = false;
	disk_note(sandbox->place, out, size);
}

void queue_words(const struct pool_answer *answer, char *out, size_t size)
{
	char wait[64];

	if (answer->wait == USEC_INFINITY) {
		(void)snprintf(wait, sizeof(wait), "the wait cannot be estimated yet");
	} else {
		(void)snprintf(wait, sizeof(wait), "about ");
		duration_words(answer->wait, wait + strlen(wait), sizeof(wait) - strlen(wait));
	}
	(void)snprintf(out, size, "position %u of %u, %s", answer->position, answer->length, wait);
}
