/* SPDX-License-Identifier: Apache-2.0 */
/* Failures as the keeper reports them. */
#include "keeper/fail.h"

#include <stdio.h>

static enum err_code code_of(int sys_errno)
{
	switch (sys_errno) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EXDEV:
	case ELOOP:
		return ERR_DENIED;
	case EBUSY:
	case EAGAIN:
		return ERR_BUSY;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return ERR_FULL;
	case ESTALE:
		return ERR_GONE;
	default:
		return ERR_INVALID;
	}
}

static int PRINTF(3, 0) fail_v(struct err *err, int sys_errno, const char *fmt, va_list ap)
{
	err->code = code_of(sys_errno);
	err->sys_errno = sys_errno;
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	return -1;
}

int fail(struct err *err, int sys_errno, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fail_v(err, sys_errno, fmt, ap);
	va_end(ap);
	return -1;
}

static const char *reason(int sys_errno)
{
	switch (sys_errno) {
	case EDQUOT:
		return "the disk quota is reached; delete something in /workspace first";
	case ENOSPC:
		return "no space is left; delete something in /workspace first";
	case ENAMETOOLONG:
		return "the name or path is too long (255 bytes a name, 4095 a path)";
	case ENOTDIR:
		return "a part of the path is not a folder";
	case EISDIR:
		return "it is a folder";
	case EROFS:
		return "it is read-only";
	case ENOMEM:
		return "the file service is out of memory; try a smaller file";
	default:
		return strerror(sys_errno);
	}
}

int fail_errno(struct err *err, int sys_errno, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	(void)fail_v(err, sys_errno, fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	(void)snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", reason(sys_errno));
	return -1;
}
