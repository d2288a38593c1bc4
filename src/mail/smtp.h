/* SPDX-License-Identifier: Apache-2.0 */
/* Hands one message to a relay with libcurl: in berth-mail only, since it blocks. */
#ifndef BERTH_MAIL_SMTP_H
#define BERTH_MAIL_SMTP_H

#include "mail/frame.h"

enum { SMTP_CONNECT_SECONDS = 20, SMTP_TOTAL_SECONDS = 60 };

/*
 * The frame has passed mail_frame_check(). `why` gets a line for the log that names no address.
 *
 * smtps:// is TLS from the first byte, smtp:// must offer STARTTLS; the certificate must be good
 * for the host. Only a relay on this very machine is spoken to without TLS when it offers none, and
 * its certificate is not looked at.
 */
enum mail_exit smtp_send(const struct mail_frame *frame, struct view message, char *why,
			 size_t why_size);

#endif
