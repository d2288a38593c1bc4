/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's output as a model gets it: the beginning and the end within a limit of characters,
 * cut at character boundaries, with counts of what was left out. Memory is bounded whatever comes.
 */
#ifndef BERTH_TOOLS_OUTPUT_H
#define BERTH_TOOLS_OUTPUT_H

#include "base/buf.h"

struct output {
	struct buf head; /* the first bytes */
	struct buf tail; /* what followed, the last OUTPUT_TAIL_BYTES of it and more */
	uint64_t bytes;  /* all that ever came */
	uint64_t lines;  /* line feeds among them */
	uint32_t max_chars;
};

/* `max_chars` is 1,000 to 200,000: what output_render() shows at most, two thirds of it from the
 * beginning. */
void output_init(struct output *o, uint32_t max_chars);
void output_done(struct output *o);
/* Forgets what came so far; counts start at 0. */
void output_reset(struct output *o);
/* -ENOMEM: these bytes are counted but lost from view. */
int output_add(struct output *o, struct view bytes) MUST_CHECK;
/* True if with so many bytes more it is more than will be shown: the whole should be kept
 * elsewhere. Before that nothing is dropped: `head` is all that came. */
bool output_gets_long(const struct output *o, size_t more);

/*
 * Appends the text: valid UTF-8, terminal escapes stripped, NUL shown as U+2400. Where something is
 * left out, a line says how much and that `whole` (a path; NULL: nowhere) has it all.
 */
int output_render(const struct output *o, const char *whole, struct buf *text) MUST_CHECK;

/* The cleaning alone. As buf_add(). */
int output_clean(struct buf *text, struct view bytes) MUST_CHECK;

#endif
