/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening socket outlives the process: clients that call during a restart wait in its queue
 * instead of being refused. It is passed in by the protocol of sd_listen_fds(3), as a socket unit
 * does and `berth serve`; and where systemd passes none, it is left with systemd for the next
 * berthd (FileDescriptorStoreMax= of the unit).
 */
#ifndef BERTH_APP_LISTENER_H
#define BERTH_APP_LISTENER_H

#include "http/http.h"

/*
 * The passed socket, or -1 when there is none: then one has to be made. What an earlier berthd left
 * counts only while `address` and `port` are still where it listens.
 */
int listener_take(const char *address, uint16_t port, int *ret, struct err *err) MUST_CHECK;

/* Leaves a socket that this process made with systemd, if that runs it. */
void listener_leave(const struct http_server *http);

#endif
