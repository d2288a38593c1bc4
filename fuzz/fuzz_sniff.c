/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of any file; a picture to attach has a size and bytes that say so. */
#include "links/sniff.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view file = view_of(data, size);
	size_t tail = size > SNIFF_TAIL_BYTES ? size - SNIFF_TAIL_BYTES : 0;
	struct sniff s =
		sniff_bytes(view_first(file, SNIFF_HEAD_BYTES), view_from(file, tail), size);

	assert(s.kind && s.mime);
	assert(!s.is_picture || (s.width && s.height && s.use == SNIFF_INLINE));
	/* The end alone says nothing. */
	assert(!sniff_bytes(VIEW(""), view_from(file, tail), size).is_picture);
	return 0;
}
