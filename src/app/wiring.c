/* SPDX-License-Identifier: Apache-2.0 */
/* How the parts of the server hang together. */
#include "app/wiring.h"

#include "app/listener.h"
#include "app/mail.h"
#include "base/log.h"
#include "mcp/fixtures.h"
#include "sys/io.h"
#include "tools/core_tools.h"
#include "tools/file_tools.h"
#include "tools/link_tools.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>

/* ---- what setup made ---- */

/* What sandboxes and /health are told is the configuration; the slots must be of the same. */
static int check_settings(const struct server *server, struct err *err)
{
	char ours[CONF_SETUP_TAG];
	int r = conf_setup_tag(&server->conf, ours);

	if (r < 0)
		return err_sys(err, -r, "read the settings");
	if (*server->slots.settings && strcmp(server->slots.settings, ours) != 0)
		return err_set(
			err, ERR_INVALID,
			"the slots were not set up with the present configuration (network, "
			"sandbox.workspace, sandbox.layer, pool.storage, pool.uid_base): run "
			"berth setup (as root) with the same options");
	return 0;
}

int wiring_slots(struct server *server, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	char path[4096];
	int r = snprintf(path, sizeof(path), "%s/" SLOTS_STATUS_FILE, server->conf.state_dir);

	if (r < 0 || (size_t)r >= sizeof(path))
		return err_set(err, ERR_INVALID, "server.state_dir is too long");
	r = io_read_file(AT_FDCWD, path, &text);
	if (r == -ENOENT)
		return err_set(err, ERR_NOT_FOUND,
			       "no slots are prepared in %s: run berth setup (as root)",
			       server->conf.state_dir);
	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	if (slots_status_parse(buf_view(&text), &server->slots) < 0)
		return err_set(err, ERR_INVALID, "%s makes no sense: run berth setup again", path);
	if (server->slots.slots < server->conf.slots)
		return err_set(
			err, ERR_INVALID,
			"pool.slots is %u, but only %u are prepared: run berth setup --slots %u",
			server->conf.slots, server->slots.slots, server->conf.slots);
	if (check_settings(server, err) < 0)
		return -1;
	if (!server->slots.workspace_bounded)
		log_warning("storage %s: the size of /workspace is measured, NOT enforced by the "
			    "kernel",
			    server->slots.storage);
	return 0;
}

/* ---- the listener ---- */

enum {
	DESCRIPTORS = 448,        /* of the process as such: database, programs, links under way */
	DESCRIPTORS_PER_SLOT = 8, /* its container and keeper, their counters, a few commands */
};

static int set_public_url(struct server *server, const char *address, struct err *err)
{
	auto_buf struct buf url = BUF_INIT(1024);
	bool is_v6 = strchr(address, ':') != NULL;
	uint16_t port = http_server_port(server->http);
	int r;

	if (server->conf.public_url[0])
		r = buf_add_str(&url, server->conf.public_url);
	else
		r = buf_addf(&url, "http://%s%s%s", is_v6 ? "[" : "", address, is_v6 ? "]" : "");
	/* The scheme's own port is in no browser's Origin. */
	if (r == 0 && !server->conf.public_url[0] && port != 80)
		r = buf_addf(&url, ":%u", port);
	server->public_url = r == 0 ? buf_take(&url) : NULL;
	return server->public_url ? 0 : err_sys(err, ENOMEM, "make the public URL");
}

int wiring_http(struct server *server, struct err *err)
{
	char address[64];
	struct http_config config = {
		.address = address,
		.listen_fd = -1,
		.max_connections = server->conf.max_connections,
		.other_descriptors = DESCRIPTORS + server->conf.slots * DESCRIPTORS_PER_SLOT,
		.trusted_proxies = server->conf.trusted_proxies,
	};
	bool is_passed;

	if (conf_listen_split(server->conf.listen, address, sizeof(address), &config.port, err) <
		    0 ||
	    listener_take(address, config.port, &config.listen_fd, err) < 0)
		return -1;
	is_passed = config.listen_fd >= 0;
	if (http_server_new(server->event, &config, &server->http, err) < 0)
		return -1;
	if (!is_passed)
		listener_leave(server->http);
	return set_public_url(server, address, err);
}

/* ---- engine and sandboxes ---- */

int wiring_engine(struct server *server, struct err *err)
{
	char path[4096];
	struct engine_native_config config = { .spawner_socket = path };
	auto_buf struct buf name = BUF_INIT(PATH_MAX);

	if (conf_engine(&server->conf, &name) < 0)
		return err_sys(err, ENOMEM, "name the engine");
	config.name = buf_str(&name);
	if (server_runtime_path(&server->conf, "spawner.sock", path, sizeof(path), err) < 0)
		return -1;
	return engine_native_new(server->event, &config, &server->engine, err);
}

static usec seconds(uint32_t s)
{
	return (usec)s * USEC_PER_SEC;
}

/* The address limits are sign-in's; it is made after the sandboxes. */
static bool may_hold(void *userdata, const char *principal)
{
	struct server *server = userdata;

	return !server->oauth || oauth_may_hold(server->oauth, principal);
}

int wiring_sandboxes(struct server *server, struct err *err)
{
	const struct conf *c = &server->conf;
	const struct slots_status *slots = &server->slots;
	struct sandboxes_config config = {
		.pool = { .slots = c->slots,
			  .per_principal = c->sandboxes_per_principal,
			  .empty_when_idle = c->empty_when_idle,
			  .idle = seconds(c->idle),
			  .queue_patience = seconds(c->queue_patience),
			  .queue_patience_mail = seconds(c->queue_patience_mail),
			  .claim_time = seconds(c->claim_time),
			  .queue_max = c->queue_max,
			  .retry_min = seconds(30),
			  .retry_max = seconds(3600) },
		.limits = { .memory_bytes = c->memory,
			    .cpu_permille = c->cpu_percent * 10,
			    .pids = c->processes,
			    .shm_bytes = c->shm,
			    .tmp_bytes = c->tmp,
			    .disk_bytes = c->disk_bandwidth,
			    .disk_operations = c->disk_operations },
		.no_new_privs = c->no_new_privs,
		.network = c->network != CONF_NETWORK_NONE,
		.max_running = c->max_running,
		.warm = c->warm,
		/* Where idle sandboxes are emptied, their containers go with them. */
		.recycle_idle = c->empty_when_idle ? 0 : seconds(c->idle),
		.min_free = c->min_free,
		.disk = disk_limits_of(slots->workspace_bounded ? 0 : c->workspace,
				       slots->layer_bounded ? 0 : c->layer),
		.require_limits = c->profile == CONF_PUBLIC && !c->allow_unlimited,
		.state_dir = c->state_dir,
		.may_hold = may_hold,
		.has_mail = mail_has_address,
		.on_granted = mail_on_granted,
		.on_lapsed = mail_forget,
		.userdata = server,
	};

	return sandboxes_new(server->event, server->clock, server->engine, server->store, &config,
			     &server->sandboxes, err);
}

/* ---- sign-in ---- */

struct held_walk {
	oauth_held_fn *fn;
	void *userdata;
};

static void pass_sandbox(void *userdata, const struct sandbox_view *view)
{
	const struct held_walk *walk = userdata;

	walk->fn(walk->userdata, view->principal, false);
}

static void pass_place(void *userdata, const struct pool_place *place)
{
	const struct held_walk *walk = userdata;

	walk->fn(walk->userdata, place->principal, true);
}

/* With all labels. A place in the queue counts: its slot comes without anybody being asked. */
static void each_held(oauth_held_fn *fn, void *fn_userdata, void *userdata)
{
	struct server *server = userdata;
	struct held_walk walk = { .fn = fn, .userdata = fn_userdata };

	sandboxes_each(server->sandboxes, NULL, pass_sandbox, &walk);
	pool_each_place(sandboxes_pool(server->sandboxes), UINT32_MAX,
			clock_monotonic(server->clock), pass_place, &walk);
}

static void sign_in_ended(const char *principal, void *userdata)
{
	struct server *server = userdata;

	sandboxes_end_principal(server->sandboxes, principal);
	mail_forget(server, principal);
}

static struct oauth_config oauth_config_of(struct server *server)
{
	const struct conf *c = &server->conf;
	struct oauth_config config = {
		.event = server->event,
		.http = server->http,
		.store = server->store,
		.clock = server->clock,
		.public_url = server->public_url,
		.may_use_labels = c->sandboxes_per_principal != 1,
		.idle_s = c->idle,
		.keeps_files = !c->empty_when_idle,
		.reuse = c->reuse == CONF_REUSE_DENY ? OAUTH_REUSE_DENY : OAUTH_REUSE_REVOKE,
		.limits = oauth_default_limits,
	};

	if (c->auth & CONF_AUTH_NONE)
		config.modes |= OAUTH_MODE_NONE;
	if (c->auth & CONF_AUTH_TOKEN)
		config.modes |= OAUTH_MODE_TOKEN;
	if (c->auth & CONF_AUTH_OAUTH)
		config.modes |= OAUTH_MODE_SIGN_IN;
	config.limits.new_per_hour = c->new_per_hour;
	config.limits.held_per_prefix = c->held_per_prefix;
	config.limits.max_clients = c->max_clients;
	config.limits.proof_of_work_bits = c->proof_of_work_bits;
	return config;
}

int wiring_oauth(struct server *server, struct err *err)
{
	struct oauth_config config = oauth_config_of(server);

	config.callbacks.each_held = each_held;
	config.callbacks.mail_wanted = mail_is_offered;
	config.callbacks.mail_leave = mail_leave_at_sign_in;
	config.callbacks.ended = sign_in_ended;
	config.callbacks.userdata = server;
	return oauth_new(&config, &server->oauth, err);
}

int wiring_oauth_offline(struct server *server, struct err *err)
{
	struct oauth_config config = oauth_config_of(server);

	config.modes = OAUTH_MODE_TOKEN;
	config.public_url = "http://127.0.0.1";
	return oauth_new(&config, &server->oauth, err);
}

/* ---- links ---- */

int wiring_links(struct server *server, struct err *err)
{
	const char *inherited = getenv("MCP_SIGN_KEY");
	struct links_config config = {
		.event = server->event,
		.http = server->http,
		.sandboxes = server->sandboxes,
		.clock = server->clock,
		.public_url = server->public_url,
		.ttl_s = server->conf.link_ttl,
		.upload_max = server->conf.upload_max,
		.quota = server->conf.workspace,
		.mail_ttl_s = server->conf.queue_patience,
		.mail_state = server->courier ? mail_state : NULL,
		.mail_leave = mail_leave_in_queue,
		.userdata = server,
	};
	char path[4096];
	int r;

	if (server_private_path(&server->conf, "link.key", path, sizeof(path), err) < 0 ||
	    links_load_key(path, view_str(inherited), config.key, err) < 0)
		return -1;
	r = links_new(&config, &server->links, err);
	sodium_memzero(config.key, sizeof(config.key));
	return r;
}

void wiring_free_links(struct server *server)
{
	links_free(server->links);
}

/* ---- MCP and tools ---- */

static int authenticate(struct http_request *req, struct mcp_principal *ret, void *userdata)
{
	struct server *server = userdata;
	struct oauth_principal principal;

	if (oauth_authenticate(server->oauth, req, &principal) < 0)
		return -1;
	(void)snprintf(ret->id, sizeof(ret->id), "%s", principal.id);
	ret->may_use_labels = principal.may_use_labels;
	return 0;
}

static int write_instructions(struct server *server, struct err *err)
{
	enum { MAX_INSTRUCTIONS = 16 * 1024 };

	buf_init(&server->instructions, MAX_INSTRUCTIONS);
	buf_init(&server->instructions_labels, MAX_INSTRUCTIONS);
	if (core_tools_instructions(&server->conf, TOOL_AUDIENCE_SINGLE, &server->instructions) <
		    0 ||
	    core_tools_instructions(&server->conf, TOOL_AUDIENCE_LABELS,
				    &server->instructions_labels) < 0)
		return err_sys(err, ENOMEM, "write the instructions");
	return 0;
}

/*
 * Nothing but the bearer token gives access, so a page of any origin may call a public server, as
 * the Inspector's does. A server without a name of its own refuses foreign ones: its address could
 * be rebound.
 */
static const char *allowed_origins(const struct server *server)
{
	const struct conf *c = &server->conf;

	if (!c->allowed_origins[0] && (c->auth & CONF_AUTH_OAUTH) &&
	    strncmp(server->public_url, "https://", strlen("https://")) == 0)
		return "*";
	return c->allowed_origins;
}

int wiring_mcp(struct server *server, struct err *err)
{
	struct mcp_config config = {
		.public_url = server->public_url,
		.allowed_origins = allowed_origins(server),
		.allowed_hosts = server->conf.allowed_hosts,
		.sandbox_property = core_tools_sandbox_property,
		.max_body_bytes = server->conf.max_body,
		.authenticate = authenticate,
		.userdata = server,
	};

	if (write_instructions(server, err) < 0)
		return -1;
	config.instructions = buf_str(&server->instructions);
	config.instructions_labels = buf_str(&server->instructions_labels);
	if (mcp_server_new(server->event, server->http, &config, &server->mcp, err) < 0)
		return -1;
	server->tools.event = server->event;
	server->tools.clock = server->clock;
	server->tools.conf = &server->conf;
	server->tools.sandboxes = server->sandboxes;
	server->tools.links = server->links;
	if (core_tools_add(server->mcp, &server->tools, err) < 0 ||
	    file_tools_add(server->mcp, &server->tools, err) < 0 ||
	    link_tools_add(server->mcp, &server->tools, err) < 0)
		return -1;
#if BERTH_FIXTURES
	if (mcp_fixtures_add(server->mcp, server->event, err) < 0)
		return -1;
#endif
	return 0;
}
