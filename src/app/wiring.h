/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the server and how they hang together: one function a part, called in order. */
#ifndef BERTH_APP_WIRING_H
#define BERTH_APP_WIRING_H

#include "app/server.h"

/* Reads what berth-slots made ready. */
int wiring_slots(struct server *server, struct err *err) MUST_CHECK;
int wiring_http(struct server *server, struct err *err) MUST_CHECK;
int wiring_engine(struct server *server, struct err *err) MUST_CHECK;
int wiring_sandboxes(struct server *server, struct err *err) MUST_CHECK;
int wiring_mail(struct server *server, struct err *err) MUST_CHECK;
int wiring_oauth(struct server *server, struct err *err) MUST_CHECK;
/* Without routes: for administration while no server runs. */
int wiring_oauth_offline(struct server *server, struct err *err) MUST_CHECK;
int wiring_links(struct server *server, struct err *err) MUST_CHECK;
void wiring_free_links(struct server *server);
int wiring_mcp(struct server *server, struct err *err) MUST_CHECK;
/* /health, /metrics, / */
int wiring_pages(struct server *server, struct err *err) MUST_CHECK;

#endif
