/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line an event to stderr, with a "<priority>" prefix when journald reads it (JOURNAL_STREAM).
 * Text from outside must come through log_quote(); secrets never come here at all.
 */
#ifndef BERTH_BASE_LOG_H
#define BERTH_BASE_LOG_H

#include "base/buf.h"
#include "base/err.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_NUM_LEVELS,
};

/* `program` is borrowed for the life of the process and starts each line. */
void log_init(const char *program, enum log_level level);
/* "error", "warning", "info", "debug"; -EINVAL. */
int log_level_parse(struct view name, enum log_level *ret) MUST_CHECK;

void log_at(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#define log_error(...)   log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * Writes `v` into `out` quoted and with everything but printable ASCII escaped, cut with "…" to
 * fit. Returns out. `size` is at least 8.
 */
const char *log_quote(struct view v, char *out, size_t size);

#endif
