/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one struct server: everything berthd is made of, wired together. Made in main, passed down;
 * there is no other global state.
 */
#ifndef BERTH_APP_SERVER_H
#define BERTH_APP_SERVER_H

#include "app/confine.h"
#include "conf/conf.h"
#include "conf/slots_status.h"
#include "engine/engine.h"
#include "http/http.h"
#include "mcp/mcp.h"
#include "oauth/oauth.h"
#include "sandbox/service.h"
#include "store/store.h"
#include "tools/call.h"

struct admin;
struct courier;

struct server {
	sd_event *event;
	const struct clock *clock;
	struct conf conf;
	struct slots_status slots; /* what berth-slots made ready */
	struct confinement confinement;
	char *public_url; /* conf.public_url, or http:// and the listen address */
	struct store *store;
	struct http_server *http;
	struct oauth *oauth;
	struct mcp_server *mcp;
	struct engine *engine;
	struct sandboxes *sandboxes;
	struct links *links;
	struct courier *courier; /* NULL: no mail is set up */
	struct tool_env tools;
	struct buf instructions, instructions_labels;
	struct admin *admin;
	sd_event_source *sigterm, *sigint, *stop_timer;
	usec started;
	struct {
		usec wall, cpu; /* the longest since the start: everybody waited meanwhile */
		usec cpu_before;
	} turn; /* of the event loop */
	bool stopping;
};

/*
 * Takes `conf`. Opens the state, binds the listener, connects to the spawner. The caller runs
 * server_confine() and server_run(), then server_free(), also after a failure.
 */
int server_new(struct conf *conf, struct server **ret, struct err *err) MUST_CHECK;
/* Gives up, for good, what serving does not need (confine.h). */
int server_confine(struct server *server, struct err *err) MUST_CHECK;
/* Serves until SIGTERM or SIGINT, or the loop fails. */
int server_run(struct server *server, struct err *err) MUST_CHECK;
void server_free(struct server *server);
DEFINE_CLEANUP(server)

/*
 * What an administration command needs without serving: the state and the sign-in, no listener, no
 * engine. For `berthd --offline`.
 */
int server_new_offline(struct conf *conf, struct server **ret, struct err *err) MUST_CHECK;

/* state_dir/server/NAME or runtime_dir/NAME in `out`. */
int server_private_path(const struct conf *conf, const char *name, char *out, size_t size,
			struct err *err) MUST_CHECK;
int server_runtime_path(const struct conf *conf, const char *name, char *out, size_t size,
			struct err *err) MUST_CHECK;

#endif
