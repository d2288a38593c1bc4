/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ripgrep prints (--null, with line numbers and context), grouped by file for a model.
 */
#ifndef BERTH_TOOLS_GREP_H
#define BERTH_TOOLS_GREP_H

#include "base/buf.h"

enum {
	GREP_MAX_SHOWN = 150,              /* matching lines */
	GREP_MAX_BYTES = 24 * 1024,        /* of the text */
	GREP_MAX_COLUMNS = 400,            /* of one line; ripgrep cuts it */
	GREP_MAX_OUTPUT = 2 * 1024 * 1024, /* of ripgrep that is looked at */
};

struct grep_counts {
	uint64_t matches, files; /* in what was looked at */
	uint64_t shown;          /* matching lines in the text */
};

/* The words for ripgrep that its readers here expect, without those of the search. */
extern const char *const grep_options[];

/* Appends "path\n12: match\n13- context\n" for as much as fits. As buf_add(). */
int grep_format(struct buf *out, struct view output, struct grep_counts *ret) MUST_CHECK;

#endif
