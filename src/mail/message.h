/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one message Berth sends: "your sandbox is ready". Fixed text; the only variable parts are
 * addresses of a strict grammar, the start page and a number of minutes.
 */
#ifndef BERTH_MAIL_MESSAGE_H
#define BERTH_MAIL_MESSAGE_H

#include "mail/frame.h"

enum { MAIL_MAX_MESSAGE = 8192 };

/*
 * Appends headers and body with CRLF line ends. The frame has passed mail_frame_check(). `now` is
 * seconds since 1970, `id` a unique token of letters and digits. As buf_add().
 */
int mail_message(const struct mail_frame *frame, uint64_t now, const char *id,
		 struct buf *out) MUST_CHECK;

#endif
