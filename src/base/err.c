/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: filling, wrapping, naming. */
#define BERTH_BASE_ERR_C /* this file has the functions themselves */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char *const code_name[] = {
	[ERR_NONE] = "none",           [ERR_INVALID] = "invalid", [ERR_DENIED] = "denied",
	[ERR_NOT_FOUND] = "not found", [ERR_EXISTS] = "exists",   [ERR_BUSY] = "busy",
	[ERR_FULL] = "full",           [ERR_TIMEOUT] = "timeout", [ERR_GONE] = "gone",
	[ERR_SYSTEM] = "system",       [ERR_BUG] = "bug",
};
_Static_assert(ARRAY_SIZE(code_name) == ERR_NUM_CODES, "an error code has no name");

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->sys_errno = 0;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *err, int sys_errno, const char *fmt, ...)
{
	char reason[128];
	size_t len;
	va_list ap;

	err->code = ERR_SYSTEM;
	err->sys_errno = sys_errno;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);

	len = strlen(err->msg);
	(void)snprintf(err->msg + len, sizeof(err->msg) - len, ": %s",
		       strerror_r(sys_errno, reason, sizeof(reason)));
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	size_t len;
	va_list ap;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);

	len = strlen(err->msg);
	(void)snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", inner);
	return -1;
}

const char *err_code_name(enum err_code code)
{
	return (unsigned)code < ERR_NUM_CODES ? code_name[code] : "unknown";
}

const char *err_public(const struct err *err)
{
	if (err->code == ERR_SYSTEM || err->code == ERR_BUG)
		return "the server could not do this; its log says why";
	return err->msg;
}
