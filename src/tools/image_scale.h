/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Smaller copies of pictures, for a model to look at. They are made inside the sandbox, by Pillow
 * where its image has it, in bounded time and within the sandbox's own limits: this server never
 * decodes a picture. What comes back is as hostile as the picture was, and is looked at again.
 */
#ifndef BERTH_TOOLS_IMAGE_SCALE_H
#define BERTH_TOOLS_IMAGE_SCALE_H

#include "links/sniff.h"
#include "tools/call.h"

enum {
	IMAGE_GOOD_SIDE = 1568,            /* pixels: models see no more */
	IMAGE_MAX_SIDE = 8000,             /* larger ones are refused by some clients */
	IMAGE_SCALE_MAX_PIXELS = 50000000, /* 200 MB when decoded */
};

/* Whether `kind`, a picture of `size` bytes, may be given to a client as it is. */
bool image_fits(const struct sniff *kind, uint64_t size, uint64_t max_bytes);
/* Whether a smaller copy should be tried: it does not fit, or has more pixels than are seen. */
bool image_wants_scaling(const struct sniff *kind, uint64_t size, uint64_t max_bytes);

/*
 * Tries it, in the call's sandbox, which must have a box. `path` is relative to the workspace;
 * `fn` gets the output for image_scaled(). -ENAMETOOLONG, -ENOMEM: `fn` will not run.
 */
int image_scale(struct tool_call *call, struct view path, uint64_t max_bytes,
		tool_output_fn *fn) MUST_CHECK;
/* True if `output` is a picture that fits and is no larger than asked for; then *ret says which. */
bool image_scaled(const struct tool_output *output, uint64_t max_bytes, struct sniff *ret);

#endif
