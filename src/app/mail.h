/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Your sandbox is ready": which parts of the server leave addresses with the courier, and which
 * tell it that a message is due. Each works without mail set up. `userdata` is the struct server.
 */
#ifndef BERTH_APP_MAIL_H
#define BERTH_APP_MAIL_H

#include "app/server.h"
#include "links/links.h"

/* ---- for sandboxes ---- */

/* Has it left an address, so that its place in the queue is kept for longer? */
bool mail_has_address(void *userdata, const char *principal);
/* Its slot is there, and waits to be used. */
void mail_on_granted(void *userdata, const char *principal);
/* Nobody waits for the message any more: the place has lapsed, or the sign-in ended. */
void mail_forget(void *userdata, const char *principal);

/* ---- for sign-in ---- */

/* Whether to offer the field: a wait is likely, and there is room for one more address. */
bool mail_is_offered(void *userdata);
void mail_leave_at_sign_in(struct view address, const char *principal, void *userdata);

/* ---- for the links in answers to those who wait ---- */

enum links_mail mail_state(void *userdata, const char *principal);
void mail_leave_in_queue(void *userdata, const struct http_request *req, const char *principal,
			 struct view address);

#endif
