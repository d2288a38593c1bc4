/* SPDX-License-Identifier: Apache-2.0 */
/*
 * E-mail addresses, as visitors leave them and as mail is sent to them. Far stricter than RFC 5321:
 * what is accepted is safe in an envelope, in a header and on a command line. Pure.
 */
#ifndef BERTH_BASE_ADDRESS_H
#define BERTH_BASE_ADDRESS_H

#include "base/buf.h"

enum { ADDRESS_MAX = 254 };

/* One plain address: local part of [A-Za-z0-9._+-], domain of at least two host labels. */
bool address_is_valid(struct view address);

/*
 * To recognise a mailbox again, however its owner's address was varied: lower case, the local part
 * without its dots and its "+tag", as the large providers deliver. Of a valid address; not one to
 * send to.
 */
void address_mailbox(struct view address, char out[ADDRESS_MAX + 1]);

#endif
