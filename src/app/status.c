/* SPDX-License-Identifier: Apache-2.0 */
/* The running server's state as JSON, for the administration socket. */
#include "app/status.h"

#include "tools/job.h"

#include <sys/statvfs.h>

enum { STATUS_MAX_WAITING = 100 }; /* places told, from the front on */

/* One answer being put together. */
struct look {
	struct server *server;
	struct admin_call *call;
	json_t *result;
	json_t *sandboxes; /* array, of the result */
	bool failed;
	bool disk;       /* measure workspaces too */
	size_t pending;  /* containers whose memory is being asked for, and one for the beginning */
	size_t measured; /* sandboxes */
	struct sandbox *seen; /* while it is measured */
};

/* A container's memory on its way to the item of its sandbox. */
struct memory_call {
	struct look *look;
	json_t *item;
};

static json_int_t seconds(usec t)
{
	return (json_int_t)(t / USEC_PER_SEC);
}

static void finish(struct look *look)
{
	struct err err;

	if (look->failed) {
		json_decref(look->result);
		(void)err_sys(&err, ENOMEM, "tell the status");
		admin_finish(look->call, NULL, &err);
	} else {
		admin_finish(look->call, look->result, NULL);
	}
	free(look);
}

static void set_number(struct look *look, json_t *item, const char *name, uint64_t value)
{
	if (json_object_set_new(item, name, json_integer((json_int_t)value)) < 0)
		look->failed = true;
}

/* ---- the disk ---- */

static void measure_next(struct look *look);

static void on_usage(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct look *look = userdata;
	json_t *item = json_array_get(look->sandboxes, look->measured++);

	if (fd >= 0)
		(void)close(fd);
	sandbox_look_end(take_ptr(look->seen));
	if (reply && reply->error == 0) {
		set_number(look, item, "workspace_bytes", reply->number);
		set_number(look, item, "layer_bytes", reply->size - reply->number);
		set_number(look, item, "files", reply->count);
	}
	measure_next(look);
}

static void on_sandbox(void *userdata, const struct sandbox_answer *answer)
{
	const struct keeper_request usage = { .verb = KEEPER_USAGE };
	struct look *look = userdata;
	struct err err;

	if (answer->verdict == SANDBOX_READY) {
		look->seen = answer->sandbox;
		if (engine_files_call(sandbox_files(look->seen), &usage, -1, on_usage, look,
				      &err) == 0)
			return;
		sandbox_look_end(take_ptr(look->seen));
	}
	look->measured++;
	measure_next(look);
}

/* What cannot be measured has no numbers. */
static void measure_next(struct look *look)
{
	struct sandbox_wait *wait;
	struct err err;

	for (; look->disk && look->measured < json_array_size(look->sandboxes); look->measured++) {
		const char *key = json_string_value(
			json_object_get(json_array_get(look->sandboxes, look->measured), "key"));

		if (sandbox_look(look->server->sandboxes, view_str(key), on_sandbox, look, &wait,
				 &err) == 0)
			return;
	}
	finish(look);
}

/* ---- memory ---- */

static void memory_known(struct look *look)
{
	if (--look->pending == 0)
		measure_next(look);
}

static void on_memory(void *userdata, const struct engine_usage *usage, const struct err *err)
{
	struct memory_call *call = userdata;
	struct look *look = call->look;

	if (!err && usage->memory_bytes != UINT64_MAX)
		set_number(look, call->item, "memory_bytes", usage->memory_bytes);
	free(call);
	memory_known(look);
}

static void ask_memory(struct look *look, struct engine_box *box, json_t *item)
{
	struct memory_call *call = calloc(1, sizeof(*call));

	if (!call) {
		look->failed = true;
		return;
	}
	call->look = look;
	call->item = item;
	look->pending++;
	engine_box_usage(box, on_memory, call);
}

/* ---- what is known at once ---- */

static void add_sandbox(void *userdata, const struct sandbox_view *view)
{
	struct look *look = userdata;
	struct engine_box *box = sandbox_box(view->sandbox);
	json_t *item = json_pack(
		"{s:s, s:s, s:s, s:i, s:b, s:i, s:i, s:I, s:I, s:I, s:I}", "key", view->key,
		"principal", view->principal, "label", view->label, "slot", (int)view->slot,
		"container", view->has_box ? 1 : 0, "uses", (int)view->holds, "jobs",
		(int)job_count_running(view->sandbox), "container_age_s", seconds(view->box_age),
		"idle_s", seconds(view->idle_for), "created", (json_int_t)view->created,
		"last_used", (json_int_t)view->last_used);

	if (!item || json_array_append_new(look->sandboxes, item) < 0)
		look->failed = true;
	else if (view->has_box && box)
		ask_memory(look, box, item);
}

static json_t *disk_json(const struct server *server)
{
	struct statvfs fs;

	if (statvfs(server->conf.state_dir, &fs) < 0)
		return json_null();
	return json_pack("{s:I, s:I, s:b}", "free_bytes",
			 (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize, "bytes",
			 (json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize, "measured",
			 sandboxes_measure_workspace(server->sandboxes) ||
				 sandboxes_measure_layer(server->sandboxes));
}

/* Null when there is no estimate. */
static json_t *wait_json(usec wait)
{
	return wait == USEC_INFINITY ? json_null() : json_integer(seconds(wait));
}

static json_t *pool_json(struct server *server)
{
	struct pool_stats p;

	pool_get_stats(sandboxes_pool(server->sandboxes), clock_monotonic(server->clock), &p);
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:I, s:I, s:o}",
			 "slots", (int)p.slots, "free", (int)p.free, "held", (int)p.held, "in_use",
			 (int)p.in_use, "warm", (int)p.warm, "emptying", (int)p.emptying,
			 "set_aside", (int)p.set_aside, "queue", (int)p.queue_length, "queue_max",
			 (int)p.queue_max, "draining", p.draining ? 1 : 0, "emptied",
			 (json_int_t)p.emptied, "rolled_back",
			 (json_int_t)sandboxes_rolled_back(server->sandboxes), "newcomer_wait_s",
			 wait_json(p.newcomer_wait));
}

static void add_place(void *userdata, const struct pool_place *place)
{
	json_t *item = json_pack("{s:I, s:s, s:I, s:b}", "position", (json_int_t)place->position,
				 "principal", place->principal, "quiet_s", seconds(place->quiet),
				 "mail", place->has_mail ? 1 : 0);

	/* A row less is no reason to tell nothing. */
	if (item)
		(void)json_array_append_new(userdata, item);
}

static json_t *waiting_json(struct server *server)
{
	json_t *places = json_array();

	if (places)
		pool_each_place(sandboxes_pool(server->sandboxes), STATUS_MAX_WAITING,
				clock_monotonic(server->clock), add_place, places);
	return places;
}

static json_t *engine_json(struct server *server)
{
	struct engine_facts f;

	sandboxes_engine_facts(server->sandboxes, &f);
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b}", "name", f.name,
			 "namespaces", f.namespaces, "limits", f.limits, "network", f.network,
			 "ready", engine_is_ready(server->engine) ? 1 : 0, "memory_limited",
			 f.memory_limited ? 1 : 0, "cpu_limited", f.cpu_limited ? 1 : 0,
			 "processes_limited", f.pids_limited ? 1 : 0, "io_limited",
			 f.io_limited ? 1 : 0);
}

static json_t *now_json(struct server *server)
{
	return json_pack("{s:i, s:i, s:i}", "calls", (int)mcp_server_calls(server->mcp),
			 "connections", (int)http_server_connections(server->http), "containers",
			 (int)sandboxes_running(server->sandboxes));
}

static json_t *profile_json(const struct server *server)
{
	return json_string(conf_profile_name((enum conf_profile)server->conf.profile));
}

static void fill(struct look *look)
{
	struct server *server = look->server;
	const struct {
		const char *name;
		json_t *value; /* taken, also when that fails */
	} parts[] = {
		{ "sandboxes", look->sandboxes },
		{ "pool", pool_json(server) },
		{ "engine", engine_json(server) },
		{ "waiting", waiting_json(server) },
		{ "disk", disk_json(server) },
		{ "now", now_json(server) },
		{ "version", json_string(BERTH_VERSION) },
		{ "profile", profile_json(server) },
		{ "public_url", json_string(server->public_url) },
		{ "uptime_s",
		  json_integer(seconds(clock_monotonic(server->clock) - server->started)) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (json_object_set_new(look->result, parts[i].name, parts[i].value) < 0)
			look->failed = true;
}

int cmd_status(struct server *server, const json_t *request, struct admin_call *call,
	       struct err *err)
{
	struct look *look = calloc(1, sizeof(*look));

	if (!look)
		return err_sys(err, ENOMEM, "tell the status");
	look->server = server;
	look->call = call;
	look->pending = 1;
	if (json_get_bool(request, "disk", &look->disk, err) < 0) {
		free(look);
		return -1;
	}
	look->result = json_object();
	look->sandboxes = json_array();
	if (!look->result || !look->sandboxes) {
		json_decref(look->result);
		json_decref(look->sandboxes);
		free(look);
		return err_sys(err, ENOMEM, "tell the status");
	}
	fill(look);
	sandboxes_each(server->sandboxes, NULL, add_sandbox, look);
	memory_known(look);
	return 0;
}
