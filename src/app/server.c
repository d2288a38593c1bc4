/* SPDX-License-Identifier: Apache-2.0 */
/* The server: everything made in order, run, ended in reverse. */
#include "app/server.h"

#include "app/admin.h"
#include "app/wiring.h"
#include "base/log.h"
#include "mail/courier.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

enum { DRAIN_S = 5 }; /* open answers get this long at the end */

static int join(const char *folder, const char *name, char *out, size_t size, struct err *err)
{
	int n = snprintf(out, size, "%s/%s", folder, name);

	if (n < 0 || (size_t)n >= size)
		return err_set(err, ERR_INVALID, "the path %s/%s is too long", folder, name);
	return 0;
}

int server_private_path(const struct conf *conf, const char *name, char *out, size_t size,
			struct err *err)
{
	char folder[4096];

	if (join(conf->state_dir, SLOTS_SERVER_DIR, folder, sizeof(folder), err) < 0)
		return -1;
	return join(folder, name, out, size, err);
}

int server_runtime_path(const struct conf *conf, const char *name, char *out, size_t size,
			struct err *err)
{
	auto_buf struct buf folder = BUF_INIT(4096);

	if (conf_runtime_dir(conf, &folder) < 0)
		return err_set(err, ERR_INVALID, "the path of the runtime folder is too long");
	return join(buf_str(&folder), name, out, size, err);
}

/* ---- the end ---- */

static int on_stop_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct server *server = userdata;

	(void)source;
	(void)now;
	if (http_server_connections(server->http) == 0 ||
	    clock_monotonic(server->clock) >= server->started + DRAIN_S * USEC_PER_SEC) {
		(void)sd_event_exit(server->event, 0);
		return 0;
	}
	(void)sd_event_source_set_time_relative(server->stop_timer, 50 * USEC_PER_MSEC);
	(void)sd_event_source_set_enabled(server->stop_timer, SD_EVENT_ONESHOT);
	return 0;
}

/* First signal: no new connections, open calls get a last answer, then out. Second: out. */
static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct server *server = userdata;

	(void)source;
	if (server->stopping) {
		(void)sd_event_exit(server->event, 0);
		return 0;
	}
	log_info("signal %u: stopping", info->ssi_signo);
	(void)sd_notify(0, "STOPPING=1");
	server->stopping = true;
	server->started = clock_monotonic(server->clock); /* of the end, from here on */
	mcp_server_shut_down(server->mcp);
	http_server_quiesce(server->http);
	if (sd_event_add_time_relative(server->event, &server->stop_timer, CLOCK_MONOTONIC,
				       50 * USEC_PER_MSEC, 0, on_stop_timer, server) < 0)
		(void)sd_event_exit(server->event, 0);
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	admin_free(server->admin);
	/* The routes' owners outlive the requests under way. */
	http_server_free(server->http);
	mcp_server_free(server->mcp);
	oauth_free(server->oauth);
	courier_free(server->courier);
	wiring_free_links(server);
	sandboxes_free(server->sandboxes);
	engine_free(server->engine);
	store_close(server->store);
	buf_done(&server->instructions);
	buf_done(&server->instructions_labels);
	sd_event_source_disable_unref(server->sigterm);
	sd_event_source_disable_unref(server->sigint);
	sd_event_source_disable_unref(server->stop_timer);
	(void)sd_event_unref(server->event);
	free(server->public_url);
	conf_done(&server->conf);
	free(server);
}

/* ---- the beginning ---- */

static void keep_longest(usec *longest, usec from, usec to)
{
	if (to > from && to - from > *longest)
		*longest = to - from;
}

/* Runs before the loop waits again, with the time at which it woke last. */
static int on_turn_over(sd_event_source *source, void *userdata)
{
	struct server *server = userdata;
	usec woke, cpu = clock_thread_cpu();

	(void)source;
	if (sd_event_now(server->event, CLOCK_BOOTTIME, &woke) == 0)
		keep_longest(&server->turn.wall, woke, clock_monotonic(server->clock));
	if (server->turn.cpu_before)
		keep_longest(&server->turn.cpu, server->turn.cpu_before, cpu);
	server->turn.cpu_before = cpu;
	return 0;
}

static int add_signals(struct server *server, struct err *err)
{
	sigset_t mask;
	int r;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigaddset(&mask, SIGINT);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(err, errno, "set the signals");
	r = sd_event_add_signal(server->event, &server->sigterm, SIGTERM, on_signal, server);
	if (r >= 0)
		r = sd_event_add_signal(server->event, &server->sigint, SIGINT, on_signal, server);
	if (r >= 0)
		r = sd_event_source_set_prepare(server->sigint, on_turn_over);
	return r < 0 ? err_sys(err, -r, "set the signals") : 0;
}

static int open_state(struct server *server, struct err *err)
{
	char path[4096];

	if (server_private_path(&server->conf, "berth.db", path, sizeof(path), err) < 0)
		return -1;
	return store_open(path, &server->store, err);
}

static int open_admin(struct server *server, struct err *err)
{
	char path[4096];

	if (server_runtime_path(&server->conf, "admin.sock", path, sizeof(path), err) < 0)
		return -1;
	return admin_new(server, path, &server->admin, err);
}

static int allocate(struct conf *conf, struct server **ret, struct err *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server) {
		conf_done(conf);
		return err_sys(err, ENOMEM, "make the server");
	}
	server->conf = *conf;
	*conf = (struct conf){ 0 };
	server->clock = &clock_system;
	server->started = clock_monotonic(server->clock);
	*ret = server;
	r = sd_event_new(&server->event);
	return r < 0 ? err_sys(err, -r, "make the event loop") : 0;
}

int server_new_offline(struct conf *conf, struct server **ret, struct err *err)
{
	struct server *server = NULL;

	if (allocate(conf, &server, err) < 0 || open_state(server, err) < 0 ||
	    wiring_oauth_offline(server, err) < 0) {
		server_free(server);
		return -1;
	}
	*ret = server;
	return 0;
}

int server_new(struct conf *conf, struct server **ret, struct err *err)
{
	struct server *server = NULL;

	if (allocate(conf, &server, err) < 0 || add_signals(server, err) < 0 ||
	    wiring_slots(server, err) < 0 || open_state(server, err) < 0 ||
	    wiring_http(server, err) < 0 || wiring_engine(server, err) < 0 ||
	    wiring_sandboxes(server, err) < 0 || wiring_mail(server, err) < 0 ||
	    wiring_oauth(server, err) < 0 || wiring_links(server, err) < 0 ||
	    wiring_mcp(server, err) < 0 || wiring_pages(server, err) < 0 ||
	    open_admin(server, err) < 0) {
		server_free(server);
		return -1;
	}
	*ret = server;
	return 0;
}

int server_confine(struct server *server, struct err *err)
{
	return confine(&server->conf, &server->confinement, err);
}

int server_run(struct server *server, struct err *err)
{
	int r;

	(void)sd_event_set_watchdog(server->event, 1);
	(void)sd_notifyf(0, "READY=1\nSTATUS=serving %s", server->public_url);
	log_info("serving %s/mcp", server->public_url);
	r = sd_event_loop(server->event);
	return r < 0 ? err_sys(err, -r, "run the event loop") : 0;
}
