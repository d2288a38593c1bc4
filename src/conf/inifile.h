/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an INI file with inih, strictly: a line that is too long for inih, holds a NUL or is not
 * "key = value" is an error with its number, where inih alone would cut it or go on.
 */
#ifndef BERTH_CONF_INIFILE_H
#define BERTH_CONF_INIFILE_H

#include "base/buf.h"
#include "base/err.h"

enum inifile_line {
	INIFILE_PAIR,      /* name = value */
	INIFILE_CONTINUED, /* an indented line: more of the value before */
};
/* 0, or -1 with err: reading stops, the message gets the file's name and line. */
typedef int inifile_fn(void *userdata, enum inifile_line line, const char *section,
		       const char *name, struct view value, struct err *err);

/* ERR_NOT_FOUND when the file cannot be opened, ERR_INVALID for a bad line. */
int inifile_read(const char *path, inifile_fn *fn, void *userdata, struct err *err) MUST_CHECK;

#endif
