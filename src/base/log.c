/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one line an event. */
#include "base/log.h"

#include <assert.h>
#include <stdio.h>

static const char *log_program = "berth";
static enum log_level log_max = LOG_LEVEL_INFO;

static const char *const level_name[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(ARRAY_SIZE(level_name) == LOG_NUM_LEVELS, "a log level has no name");

/* syslog(3) priorities */
static const int level_priority[] = { 3, 4, 6, 7 };

void log_init(const char *program, enum log_level level)
{
	log_program = program;
	log_max = level;
}

int log_level_parse(struct view name, enum log_level *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_name); i++)
		if (view_is(name, level_name[i])) {
			*ret = (enum log_level)i;
			return 0;
		}
	return -EINVAL;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	size_t len;
	va_list ap;

	if (level > log_max)
		return;
	if (getenv("JOURNAL_STREAM"))
		len = (size_t)snprintf(line, sizeof(line), "<%d>%s: ", level_priority[level],
				       log_program);
	else
		len = (size_t)snprintf(line, sizeof(line), "%s: %s: ", log_program,
				       level_name[level]);
	va_start(ap, fmt);
	(void)vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);

	len = strlen(line);
	for (size_t i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[len++] = '\n';
	/* One write, so that lines of several processes do not mix. A full or closed stderr is no
	 * reason to stop serving. */
	(void)!write(STDERR_FILENO, line, len);
}

const char *log_quote(struct view v, char *out, size_t size)
{
	static const char cut[] = "\xe2\x80\xa6\"";
	size_t at = 0;

	assert(size >= 8);
	out[at++] = '"';
	for (size_t i = 0; i < v.len; i++) {
		unsigned char c = (unsigned char)v.p[i];
		bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';

		if (at + 4 + sizeof(cut) > size) {
			memcpy(out + at, cut, sizeof(cut));
			return out;
		}
		if (plain)
			out[at++] = (char)c;
		else
			at += (size_t)snprintf(out + at, 5, "\\x%02x", c);
	}
	out[at++] = '"';
	out[at] = '\0';
	return out;
}
