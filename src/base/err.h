/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a cause for machines, a sentence for people, no allocation.
 *
 * Layers base, sys and wire return 0 or -errno. Everything above takes `struct err *err` as its
 * last parameter, returns 0 or -1 and fills *err exactly on failure.
 */
#ifndef BERTH_BASE_ERR_H
#define BERTH_BASE_ERR_H

#include "base/attr.h"

#include <stdarg.h>

enum err_code {
	ERR_NONE = 0,
	ERR_INVALID,   /* the caller's input is wrong; HTTP 400 */
	ERR_DENIED,    /* known, but not allowed; HTTP 403 */
	ERR_NOT_FOUND, /* HTTP 404 */
	ERR_EXISTS,    /* HTTP 409 */
	ERR_BUSY,      /* a limit is reached, retry later; HTTP 429 or 503 */
	ERR_FULL,      /* a quota or size limit is reached, free something; HTTP 413 or 507 */
	ERR_TIMEOUT,   /* HTTP 504 */
	ERR_GONE,      /* it existed, but no longer does (ended, expired); HTTP 410 */
	ERR_SYSTEM,    /* a system call failed; see sys_errno; HTTP 500 */
	ERR_BUG,       /* our own fault; HTTP 500 */
	ERR_NUM_CODES,
};

struct err {
	enum err_code code;
	int sys_errno; /* positive errno, or 0 */
	char msg[512]; /* for the log; a client sees it unless the code is ERR_SYSTEM or ERR_BUG */
};

/* Fills *err and returns -1, so that a failure is one statement. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF(3, 4);

/* The same for a failed system call: appends ": " and the errno's text. */
int err_sys(struct err *err, int sys_errno, const char *fmt, ...) PRINTF(3, 4);

/* Prepends "context: " to an error already set and returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* What neither the analyzer nor a compiler's flow analysis can see from here: they return -1. */
#if !defined(BERTH_BASE_ERR_C)
#define err_set(...)  ((void)err_set(__VA_ARGS__), -1)
#define err_sys(...)  ((void)err_sys(__VA_ARGS__), -1)
#define err_wrap(...) ((void)err_wrap(__VA_ARGS__), -1)
#endif

/* "invalid", "busy", …; never NULL. */
const char *err_code_name(enum err_code code);

/*
 * The sentence for a user: err->msg, or a neutral one for ERR_SYSTEM and ERR_BUG, whose texts may
 * name host paths. Never NULL; valid as long as *err.
 */
const char *err_public(const struct err *err);

#endif
