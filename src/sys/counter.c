/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the kernel in files of "key value" lines. */
#include "sys/counter.h"

#include "base/buf.h"
#include "base/parse.h"

#include <unistd.h>

enum { MAX_FILE = 4096 };

uint64_t counter_find(const char *text, const char *key)
{
	struct view rest = view_str(text), line, wanted = view_str(key);
	uint64_t value;

	while (view_split(&rest, '\n', &line)) {
		if (!view_starts(line, wanted) || line.len <= wanted.len ||
		    line.p[wanted.len] != ' ')
			continue;
		line = view_trim(view_from(line, wanted.len));
		return parse_u64(line, 0, UINT64_MAX, &value) < 0 ? UINT64_MAX : value;
	}
	return UINT64_MAX;
}

uint64_t counter_read(int fd, const char *key)
{
	char text[MAX_FILE + 1];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, MAX_FILE, 0);

	if (n < 0)
		return UINT64_MAX;
	text[n] = '\0';
	return counter_find(text, key);
}
