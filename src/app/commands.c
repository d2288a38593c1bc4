/* SPDX-License-Identifier: Apache-2.0 */
/* The administration commands. */
#include "app/commands.h"

#include "app/gc.h"
#include "app/status.h"
#include "store/sandboxes.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

/* Fills `result` (an object) and returns 0, or err and -1. */
typedef int command_fn(struct server *server, const json_t *request, json_t *result,
		       struct err *err);
/* Takes `call`, to finish it later, and returns 0; or err and -1, and has not taken it. */
typedef int later_fn(struct server *server, const json_t *request, struct admin_call *call,
		     struct err *err);

static int set(json_t *result, const char *name, json_t *value, struct err *err)
{
	if (json_object_set_new(result, name, value) < 0)
		return err_sys(err, ENOMEM, "answer");
	return 0;
}

static int required(const json_t *request, const char *name, struct view *ret, struct err *err)
{
	int r = json_get_string(request, name, ret, err);

	if (r == 0)
		return err_set(err, ERR_INVALID, "%s is missing", name);
	return r < 0 ? -1 : 0;
}

/* A NUL-terminated copy for interfaces that want one. */
static int required_string(const json_t *request, const char *name, char *out, size_t size,
			   struct err *err)
{
	struct view v;

	if (required(request, name, &v, err) < 0)
		return -1;
	if (view_copy(v, out, size) < 0)
		return err_set(err, ERR_INVALID, "%s is too long", name);
	return 0;
}

/* ---- sandboxes ---- */

static int cmd_recycle(struct server *server, const json_t *request, json_t *result,
		       struct err *err)
{
	struct view key;

	(void)result;
	if (required(request, "key", &key, err) < 0)
		return -1;
	return sandboxes_recycle(server->sandboxes, key, err);
}

static int cmd_empty(struct server *server, const json_t *request, json_t *result, struct err *err)
{
	struct view key;

	(void)result;
	if (required(request, "key", &key, err) < 0)
		return -1;
	return sandboxes_empty(server->sandboxes, key, err);
}

static int cmd_drain(struct server *server, const json_t *request, json_t *result, struct err *err)
{
	(void)request;
	(void)result;
	(void)err;
	sandboxes_drain(server->sandboxes);
	return 0;
}

static int cmd_resume(struct server *server, const json_t *request, json_t *result, struct err *err)
{
	(void)request;
	(void)result;
	(void)err;
	sandboxes_resume(server->sandboxes);
	return 0;
}

struct highest {
	int64_t slot; /* -1: none */
	char key[STORE_NAME_BYTES];
};

static int note_higher(void *userdata, const struct store_sandbox *row)
{
	struct highest *highest = userdata;

	if ((int64_t)row->slot > highest->slot) {
		highest->slot = row->slot;
		memcpy(highest->key, row->key, sizeof(highest->key));
	}
	return 0;
}

/* The highest occupied slot: those above may be removed while no server runs. */
static int cmd_occupied(struct server *server, const json_t *request, json_t *result,
			struct err *err)
{
	struct highest highest = { .slot = -1 };

	(void)request;
	if (store_sandbox_each(server->store, note_higher, &highest, err) != 0)
		return -1;
	if (set(result, "highest", json_integer(highest.slot), err) < 0 ||
	    set(result, "key", json_string(highest.key), err) < 0)
		return -1;
	return set(result, "running", json_boolean(server->sandboxes != NULL), err);
}

/* ---- tokens and sign-ins ---- */

static int cmd_token_create(struct server *server, const json_t *request, json_t *result,
			    struct err *err)
{
	char name[64] = "default", owner[64] = "owner", token[OAUTH_TOKEN_TEXT_BYTES];

	if (json_object_get(request, "name") &&
	    required_string(request, "name", name, sizeof(name), err) < 0)
		return -1;
	if (json_object_get(request, "owner") &&
	    required_string(request, "owner", owner, sizeof(owner), err) < 0)
		return -1;
	if (oauth_token_create(server->oauth, name, owner, token, err) < 0)
		return -1;
	return set(result, "token", json_string(token), err);
}

static int cmd_token_remove(struct server *server, const json_t *request, json_t *result,
			    struct err *err)
{
	char name[64];

	(void)result;
	if (required_string(request, "name", name, sizeof(name), err) < 0)
		return -1;
	return oauth_token_remove(server->oauth, name, err);
}

static int set_list(struct server *server, json_t *result, const char *name,
		    int (*list)(struct oauth *oauth, struct buf *out, struct err *err),
		    struct err *err)
{
	auto_buf struct buf text = BUF_INIT(8UL * 1024 * 1024);
	json_t *array;

	if (list(server->oauth, &text, err) < 0)
		return -1;
	/* Our own text: without the bounds of what comes from outside. */
	array = json_loadb(text.p, text.len, 0, NULL);
	if (!array)
		return err_set(err, ERR_BUG, "the list of %s is no JSON", name);
	return set(result, name, array, err);
}

static int cmd_token_list(struct server *server, const json_t *request, json_t *result,
			  struct err *err)
{
	(void)request;
	return set_list(server, result, "tokens", oauth_token_list, err);
}

static int cmd_clients(struct server *server, const json_t *request, json_t *result,
		       struct err *err)
{
	struct oauth_counts counts;
	size_t listed;

	(void)request;
	if (set_list(server, result, "clients", oauth_list_clients, err) < 0)
		return -1;
	oauth_count(server->oauth, &counts);
	listed = json_array_size(json_object_get(result, "clients"));
	return set(result, "left_out", json_integer((json_int_t)(counts.clients - listed)), err);
}

static int cmd_revoke(struct server *server, const json_t *request, json_t *result, struct err *err)
{
	static const struct {
		const char *name;
		enum oauth_revoke_what what;
	} kinds[] = {
		{ "principal", OAUTH_REVOKE_PRINCIPAL },
		{ "client", OAUTH_REVOKE_CLIENT },
		{ "all", OAUTH_REVOKE_ALL },
	};
	char what[16], key[128] = "";
	uint64_t ended;

	if (required_string(request, "what", what, sizeof(what), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(what, kinds[i].name) != 0)
			continue;
		if (kinds[i].what != OAUTH_REVOKE_ALL &&
		    required_string(request, "key", key, sizeof(key), err) < 0)
			return -1;
		if (oauth_revoke(server->oauth, kinds[i].what, key[0] ? key : NULL, &ended, err) <
		    0)
			return -1;
		return set(result, "ended", json_integer((json_int_t)ended), err);
	}
	return err_set(err, ERR_INVALID, "what must be principal, client or all");
}

/* ---- the table ---- */

static const struct {
	const char *name;
	command_fn *run;
	bool offline;    /* also without a running server */
	later_fn *later; /* instead of run */
} commands[] = {
	{ "status", NULL, false, cmd_status },
	{ "recycle", cmd_recycle, false },
	{ "empty", cmd_empty, false },
	{ "occupied", cmd_occupied, true },
	{ "drain", cmd_drain, false },
	{ "resume", cmd_resume, false },
	{ "gc", NULL, false, cmd_gc },
	{ "token-create", cmd_token_create, true },
	{ "token-remove", cmd_token_remove, true },
	{ "token-list", cmd_token_list, true },
	{ "clients", cmd_clients, true },
	{ "revoke", cmd_revoke, true },
};

/* 0: `result` is filled; 1: `call` was taken; -1 with err. */
static int run(struct server *server, struct view line, struct admin_call *call, json_t *result,
	       struct err *err)
{
	auto_json json_t *request = json_parse(line, err);
	struct view name;

	if (!request)
		return -1;
	if (required(request, "command", &name, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!view_is(name, commands[i].name))
			continue;
		if (!commands[i].offline && !server->sandboxes)
			return err_set(err, ERR_BUSY, "the server is not running");
		if (commands[i].run)
			return commands[i].run(server, request, result, err);
		if (!call)
			return err_set(err, ERR_BUSY, "this needs a running server");
		return commands[i].later(server, request, call, err) < 0 ? -1 : 1;
	}
	return err_set(err, ERR_INVALID, "there is no command %.*s", VIEW_ARG(name));
}

static int print_failure(const struct err *failure, struct buf *answer)
{
	auto_json json_t *object = json_object();
	struct err err;

	if (!object || json_object_set_new(object, "ok", json_false()) < 0 ||
	    json_object_set_new(object, "code", json_string(err_code_name(failure->code))) < 0 ||
	    json_object_set_new(object, "error", json_text(view_str(failure->msg))) < 0)
		return -1;
	return json_print(answer, object, &err);
}

void admin_print(json_t *result, const struct err *err, struct buf *answer)
{
	static const struct err no_memory = { .code = ERR_SYSTEM,
					      .msg = "the server is out of memory" };
	size_t mark = answer->len;
	struct err inner;

	if (result && json_object_set_new(result, "ok", json_true()) == 0 &&
	    json_print(answer, result, &inner) == 0)
		return;
	buf_truncate(answer, mark);
	if (print_failure(err ? err : &no_memory, answer) < 0 &&
	    buf_add_str(answer, "{\"ok\":false,\"error\":\"the server is out of memory\"}") < 0)
		buf_truncate(answer, mark);
}

int admin_execute(struct server *server, struct view request, struct admin_call *call,
		  struct buf *answer)
{
	auto_json json_t *result = json_object();
	struct err err;
	int r = result ? run(server, request, call, result, &err) : err_sys(&err, ENOMEM, "answer");

	if (r == 1)
		return 1;
	admin_print(r == 0 ? result : NULL, r == 0 ? NULL : &err, answer);
	return 0;
}
