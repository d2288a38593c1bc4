/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sign-in and the MCP endpoint with one tool, for the end-to-end tests. Its clock runs normally but
 * can be advanced.
 *
 *   oauth_server STATE-FILE [NAME=VALUE]…
 *
 * Names: port, proxies, modes (a sum of OAUTH_MODE_…), reuse (0, 1), issuer, idle, keeps, and every
 * member of struct oauth_limits. Prints "listening on 127.0.0.1:PORT". Commands are lines on
 * standard input, each answered with one line:
 *
 *   advance SECONDS   jump SECONDS (the wall clock alone; may be negative)
 *   sweep   counts   clients   tokens
 *   mail on|off       hold PRINCIPAL   release PRINCIPAL   may PRINCIPAL
 *   token NAME OWNER  untoken NAME     revoke all|principal|client [KEY]
 *
 * Events are lines that begin with "*": "* ended PRINCIPAL", "* mail ADDRESS PRINCIPAL". The end of
 * standard input ends the server.
 */
#include "base/log.h"
#include "base/map.h"
#include "base/parse.h"
#include "mcp/mcp.h"
#include "oauth/oauth.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

struct server {
	sd_event *event;
	struct http_server *http;
	struct mcp_server *mcp;
	struct store *store;
	struct oauth *oauth;
	usec ahead;         /* of the real clocks */
	int64_t wall_ahead; /* of the wall clock alone, in seconds */
	struct clock clock;
	struct map *holding; /* principals with a slot */
	bool mail_wanted;
	char issuer[128];
	struct buf line; /* what came on standard input so far */
};

static usec ahead_monotonic(void *userdata)
{
	return clock_monotonic(&clock_system) + ((struct server *)userdata)->ahead;
}

static usec ahead_wall(void *userdata)
{
	const struct server *s = userdata;

	return clock_wall(&clock_system) + s->ahead + (usec)(s->wall_ahead * (int64_t)USEC_PER_SEC);
}

/* ---- what sign-in asks ---- */

static void each_held(oauth_held_fn *fn, void *fn_userdata, void *userdata)
{
	struct server *s = userdata;
	char principal[128];
	struct view key;
	size_t at = 0;

	while (map_next(s->holding, &at, &key)) {
		assert(view_copy(key, principal, sizeof(principal)) == 0);
		fn(fn_userdata, principal, false);
	}
}

static bool mail_wanted(void *userdata)
{
	return ((struct server *)userdata)->mail_wanted;
}

static void mail_leave(struct view address, const char *principal, void *userdata)
{
	(void)userdata;
	(void)printf("* mail %.*s %s\n", VIEW_ARG(address), principal);
}

static void ended(const char *principal, void *userdata)
{
	(void)userdata;
	(void)printf("* ended %s\n", principal);
}

static int authenticate(struct http_request *req, struct mcp_principal *ret, void *userdata)
{
	struct server *s = userdata;
	struct oauth_principal who;

	if (oauth_authenticate(s->oauth, req, &who) < 0)
		return -1;
	memcpy(ret->id, who.id, sizeof(who.id));
	ret->may_use_labels = who.may_use_labels;
	return 0;
}

static void tool_whoami(struct mcp_call *call, void *userdata)
{
	(void)userdata;
	mcp_call_finishf(call, MCP_OK, "%s", mcp_call_principal(call)->id);
}

/* ---- commands ---- */

static void say_list(struct server *s, int (*list)(struct oauth *, struct buf *, struct err *))
{
	auto_buf struct buf out = BUF_INIT((size_t)16 << 20);
	struct err err;

	if (list(s->oauth, &out, &err) < 0)
		(void)printf("error %s\n", err.msg);
	else
		(void)printf("%s\n", buf_str(&out));
}

static void say_counts(struct server *s)
{
	struct oauth_counts c;

	oauth_count(s->oauth, &c);
	(void)printf("{\"clients\":%" PRIu64 ",\"families\":%" PRIu64 ",\"codes\":%" PRIu64
		     ",\"registrations\":%" PRIu64 ",\"known\":%" PRIu64 ",\"pages\":%" PRIu64
		     ",\"presses\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"sign_ins\":%" PRIu64
		     ",\"refreshes\":%" PRIu64 ",\"replays\":%" PRIu64 ",\"reuses\":%" PRIu64
		     ",\"revocations\":%" PRIu64 ",\"rate_limited\":%" PRIu64
		     ",\"challenges\":%" PRIu64 "}\n",
		     c.clients, c.families, c.codes, c.registrations, c.registrations_known,
		     c.pages, c.presses, c.presses_refused, c.sign_ins, c.refreshes, c.replays,
		     c.reuses, c.revocations, c.rate_limited, c.challenges);
}

static void set_holding(struct server *s, struct view principal, bool holds)
{
	void *old;

	if (!holds)
		(void)map_remove(s->holding, principal);
	else
		assert(map_put(s->holding, principal, s, &old) == 0);
	(void)printf("ok\n");
}

static void create_token(struct server *s, const char *name, const char *owner)
{
	char token[OAUTH_TOKEN_TEXT_BYTES];
	struct err err;

	if (oauth_token_create(s->oauth, name, owner, token, &err) < 0)
		(void)printf("error %s\n", err.msg);
	else
		(void)printf("%s\n", token);
}

static void end_sign_ins(struct server *s, const char *what, const char *key)
{
	enum oauth_revoke_what kind = OAUTH_REVOKE_ALL;
	uint64_t n = 0;
	struct err err;

	if (strcmp(what, "principal") == 0)
		kind = OAUTH_REVOKE_PRINCIPAL;
	else if (strcmp(what, "client") == 0)
		kind = OAUTH_REVOKE_CLIENT;
	if (oauth_revoke(s->oauth, kind, key, &n, &err) < 0)
		(void)printf("error %s\n", err.msg);
	else
		(void)printf("%" PRIu64 "\n", n);
}

static void advance(struct server *s, struct view text)
{
	uint64_t seconds = 0;

	if (parse_u64(text, 0, 1000000000, &seconds) < 0)
		(void)printf("error not a number\n");
	else
		(void)printf("%" PRIu64 "\n", (s->ahead += seconds * USEC_PER_SEC) / USEC_PER_SEC);
}

static void sweep(struct server *s)
{
	oauth_sweep(s->oauth);
	(void)printf("ok\n");
}

static void run_command(struct server *s, struct view line)
{
	char word[3][128] = { "", "", "" };
	struct view part;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(word) && view_split(&line, ' ', &part); i++)
		assert(view_copy(part, word[i], sizeof(word[i])) == 0);
	if (strcmp(word[0], "advance") == 0)
		advance(s, view_str(word[1]));
	else if (strcmp(word[0], "jump") == 0)
		(void)printf("%" PRId64 "\n", s->wall_ahead += strtol(word[1], NULL, 10));
	else if (strcmp(word[0], "counts") == 0)
		say_counts(s);
	else if (strcmp(word[0], "clients") == 0)
		say_list(s, oauth_list_clients);
	else if (strcmp(word[0], "tokens") == 0)
		say_list(s, oauth_token_list);
	else if (strcmp(word[0], "mail") == 0)
		(void)printf("%d\n", s->mail_wanted = strcmp(word[1], "on") == 0);
	else if (strcmp(word[0], "hold") == 0 || strcmp(word[0], "release") == 0)
		set_holding(s, view_str(word[1]), word[0][0] == 'h');
	else if (strcmp(word[0], "may") == 0)
		(void)printf("%d\n", oauth_may_hold(s->oauth, word[1]));
	else if (strcmp(word[0], "token") == 0)
		create_token(s, word[1], word[2]);
	else if (strcmp(word[0], "untoken") == 0)
		(void)printf("%d\n", oauth_token_remove(s->oauth, word[1], &err));
	else if (strcmp(word[0], "revoke") == 0)
		end_sign_ins(s, word[1], word[2]);
	else if (strcmp(word[0], "sweep") == 0)
		sweep(s);
	else
		(void)printf("error unknown command\n");
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct server *s = userdata;
	char *room = buf_reserve(&s->line, 4096);
	ssize_t n = room ? read(fd, room, 4096) : -1;
	size_t end;

	(void)source;
	(void)events;
	if (n <= 0)
		return sd_event_exit(s->event, 0);
	buf_commit(&s->line, (size_t)n);
	while ((end = view_find(buf_view(&s->line), '\n')) < s->line.len) {
		run_command(s, view_first(buf_view(&s->line), end));
		buf_consume(&s->line, end + 1);
	}
	return 0;
}

/* ---- life ---- */

struct options {
	uint32_t port, modes, reuse, idle, keeps;
	const char *proxies, *issuer;
	struct oauth_limits limits;
};

static int parse_option(struct options *o, struct view text)
{
	struct view name = view_first(text, view_find(text, '='));
	struct view value = view_from(text, name.len + 1);
	const struct {
		const char *name;
		uint32_t *value;
	} numbers[] = {
		{ "port", &o->port },
		{ "modes", &o->modes },
		{ "reuse", &o->reuse },
		{ "idle", &o->idle },
		{ "keeps", &o->keeps },
		{ "new_per_hour", &o->limits.new_per_hour },
		{ "held_per_prefix", &o->limits.held_per_prefix },
		{ "requests_per_minute", &o->limits.requests_per_minute },
		{ "pages_per_minute", &o->limits.pages_per_minute },
		{ "presses_per_minute", &o->limits.presses_per_minute },
		{ "tokens_per_minute", &o->limits.tokens_per_minute },
		{ "token_failures_per_minute", &o->limits.token_failures_per_minute },
		{ "clients_per_hour", &o->limits.clients_per_hour },
		{ "clients_per_hour_all", &o->limits.clients_per_hour_all },
		{ "max_clients", &o->limits.max_clients },
		{ "max_families", &o->limits.max_families },
		{ "proof_of_work_bits", &o->limits.proof_of_work_bits },
	};

	if (view_is(name, "proxies")) {
		o->proxies = value.p;
		return 0;
	}
	if (view_is(name, "issuer")) {
		o->issuer = value.p;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (view_is(name, numbers[i].name))
			return parse_u32(value, 0, UINT32_MAX, numbers[i].value);
	return -EINVAL;
}

static int start_oauth(struct server *s, const struct options *o, struct err *err)
{
	const struct oauth_config config = {
		.event = s->event,
		.http = s->http,
		.store = s->store,
		.clock = &s->clock,
		.modes = o->modes,
		.public_url = s->issuer,
		.reuse = o->reuse ? OAUTH_REUSE_DENY : OAUTH_REUSE_REVOKE,
		.idle_s = o->idle,
		.keeps_files = o->keeps != 0,
		.limits = o->limits,
		.callbacks = { .each_held = each_held,
			       .mail_wanted = mail_wanted,
			       .mail_leave = mail_leave,
			       .ended = ended,
			       .userdata = s },
	};

	return oauth_new(&config, &s->oauth, err);
}

static int start_mcp(struct server *s, struct err *err)
{
	static const struct mcp_tool whoami = {
		.name = "whoami",
		.title = "whoami",
		.description = "Says whose call it is.",
		.properties = "{}",
		.required = "[]",
		.read_only = true,
		.fn = tool_whoami,
	};
	struct mcp_config config = {
		.public_url = s->issuer,
		.allowed_origins = "*",
		.instructions = "For tests.",
		.instructions_labels = "For tests.",
		.sandbox_property = "{\"type\":\"string\"}",
		.max_body_bytes = 1 << 20,
		.authenticate = authenticate,
		.userdata = s,
	};

	if (mcp_server_new(s->event, s->http, &config, &s->mcp, err) < 0)
		return -1;
	return mcp_server_add_tool(s->mcp, &whoami, err);
}

static int start(struct server *s, const char *state, const struct options *o, struct err *err)
{
	const struct http_config http = { .address = "127.0.0.1",
					  .port = (uint16_t)o->port,
					  .listen_fd = -1,
					  .max_connections = 512,
					  .trusted_proxies = o->proxies };

	if (store_open(state, &s->store, err) < 0 ||
	    http_server_new(s->event, &http, &s->http, err) < 0)
		return -1;
	if (o->issuer)
		(void)snprintf(s->issuer, sizeof(s->issuer), "%s", o->issuer);
	else
		(void)snprintf(s->issuer, sizeof(s->issuer), "http://127.0.0.1:%u",
			       http_server_port(s->http));
	if (start_oauth(s, o, err) < 0 || start_mcp(s, err) < 0)
		return -1;
	if (sd_event_add_io(s->event, NULL, STDIN_FILENO, EPOLLIN, on_input, s) < 0)
		return err_set(err, ERR_SYSTEM, "watch standard input");
	(void)printf("listening on 127.0.0.1:%u\n", http_server_port(s->http));
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .modes = OAUTH_MODE_TOKEN | OAUTH_MODE_SIGN_IN,
			     .idle = 600,
			     .limits = oauth_default_limits };
	struct server s = { .line = BUF_INIT(65536) };
	struct err err;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	log_init("oauth_server", LOG_LEVEL_DEBUG);
	s.clock = (struct clock){ ahead_monotonic, ahead_wall, &s };
	s.holding = map_new();
	for (int i = 2; i < argc; i++)
		if (parse_option(&o, view_str(argv[i])) < 0) {
			log_error("unknown option %s", argv[i]);
			return 2;
		}
	if (argc < 2 || !s.holding || sd_event_default(&s.event) < 0)
		return 2;
	if (start(&s, argv[1], &o, &err) < 0) {
		log_error("%s", err.msg);
		return 1;
	}
	r = sd_event_loop(s.event);
	mcp_server_free(s.mcp);
	http_server_free(s.http);
	oauth_free(s.oauth);
	store_close(s.store);
	map_free(s.holding);
	buf_done(&s.line);
	sd_event_unref(s.event);
	return r;
}
