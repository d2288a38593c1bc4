/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file is, by its bytes; names are never trusted. Pure functions over the first and the last
 * bytes of a file; bounded, whatever the bytes say.
 */
#ifndef BERTH_LINKS_SNIFF_H
#define BERTH_LINKS_SNIFF_H

#include "base/buf.h"

enum {
	SNIFF_HEAD_BYTES = 64 * 1024, /* enough for the size of nearly every JPEG */
	SNIFF_TAIL_BYTES = 64,
};

enum sniff_use {
	SNIFF_ATTACHMENT, /* may be active in a browser, or is of no use in one: saved, not shown */
	SNIFF_INLINE,     /* harmless to show: pictures, sound, video, plain text */
};

struct sniff {
	const char *kind; /* "PNG image", "text", … for people */
	const char *mime;
	enum sniff_use use;
	bool is_picture;        /* png, jpeg, gif, webp that looks whole */
	uint32_t width, height; /* of pictures; 0 if not found */
};

/*
 * `head` is the beginning (up to SNIFF_HEAD_BYTES), `tail` the end (up to SNIFF_TAIL_BYTES, may
 * overlap), `size` the whole length in bytes.
 */
struct sniff sniff_bytes(struct view head, struct view tail, uint64_t size);

#endif
