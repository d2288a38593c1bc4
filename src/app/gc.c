/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection of workspaces: one after the other, never two at once. */
#include "app/gc.h"

#include "base/log.h"

#include <stdio.h>

struct candidate {
	char key[SANDBOX_MAX_KEY];
	uint64_t last_used; /* seconds since 1970 */
	bool in_use;
};

struct gc {
	struct server *server;
	struct admin_call *call;
	uint32_t age_s;
	bool may_delete;
	struct candidate *candidates;
	size_t n, at;
	struct sandbox *sandbox; /* held while it is looked at */
	json_t *report;          /* array */
};

static void next(struct gc *gc);

static void gc_free(struct gc *gc)
{
	json_decref(gc->report);
	free(gc->candidates);
	free(gc);
}

static void finish(struct gc *gc)
{
	json_t *result = json_pack("{s:O, s:b, s:i}", "sandboxes", gc->report, "deleted",
				   gc->may_delete ? 1 : 0, "age", (int)gc->age_s);

	admin_finish(gc->call, result, NULL);
	gc_free(gc);
}

static void add_line(struct gc *gc, const char *verdict, uint64_t age)
{
	const struct candidate *c = &gc->candidates[gc->at];
	json_t *line = json_pack("{s:s, s:s, s:I}", "key", c->key, "verdict", verdict, "age_s",
				 (json_int_t)age);

	if (!line || json_array_append_new(gc->report, line) < 0)
		log_warning("gc: a line of the report was lost: out of memory");
}

static void judge(struct gc *gc, uint64_t newest)
{
	const struct candidate *c = &gc->candidates[gc->at];
	uint64_t now = clock_wall_seconds(gc->server->clock);
	uint64_t touched = newest > c->last_used ? newest : c->last_used;
	uint64_t age = now > touched ? now - touched : 0;
	struct err err;

	if (age < gc->age_s) {
		add_line(gc, "kept: touched since", age);
	} else if (!gc->may_delete) {
		add_line(gc, "would be deleted", age);
	} else if (sandboxes_empty(gc->server->sandboxes, view_str(c->key), &err) < 0) {
		log_warning("gc: %s: %s", c->key, err.msg);
		add_line(gc, "kept: it could not be emptied", age);
	} else {
		log_info("gc: %s is deleted, untouched for %llu s", c->key,
			 (unsigned long long)age);
		add_line(gc, "deleted", age);
	}
}

static void on_usage(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct gc *gc = userdata;
	struct sandbox *sandbox = take_ptr(gc->sandbox);

	if (fd >= 0)
		(void)close(fd);
	/* The hold ends first: a held sandbox is in use. */
	sandbox_release_unused(sandbox);
	if (reply && reply->error == 0)
		judge(gc, reply->mtime_ns / 1000000000);
	else
		add_line(gc, "kept: it could not be looked at", 0);
	gc->at++;
	next(gc);
}

static void on_sandbox(void *userdata, const struct sandbox_answer *answer)
{
	struct keeper_request usage = { .verb = KEEPER_USAGE };
	struct gc *gc = userdata;
	struct err err;

	if (answer->verdict == SANDBOX_READY) {
		gc->sandbox = answer->sandbox;
		if (engine_files_call(sandbox_files(gc->sandbox), &usage, -1, on_usage, gc, &err) ==
		    0)
			return;
		sandbox_release_unused(take_ptr(gc->sandbox));
	}
	add_line(gc, "kept: it could not be looked at", 0);
	gc->at++;
	next(gc);
}

/* Those that the record alone keeps are not even opened. */
static void next(struct gc *gc)
{
	uint64_t now = clock_wall_seconds(gc->server->clock);
	struct sandbox_wait *wait;
	struct err err;

	for (; gc->at < gc->n; gc->at++) {
		const struct candidate *c = &gc->candidates[gc->at];
		uint64_t age = now > c->last_used ? now - c->last_used : 0;

		if (c->in_use)
			add_line(gc, "kept: in use", 0);
		else if (age < gc->age_s)
			add_line(gc, "kept: used since", age);
		else if (sandbox_acquire_key(gc->server->sandboxes, view_str(c->key), on_sandbox,
					     gc, &wait, &err) == 0)
			return;
	}
	finish(gc);
}

static void add_candidate(void *userdata, const struct sandbox_view *view)
{
	struct gc *gc = userdata;
	struct candidate *c;

	if (gc->n == gc->server->conf.slots)
		return;
	c = &gc->candidates[gc->n++];
	(void)snprintf(c->key, sizeof(c->key), "%s", view->key);
	c->last_used = view->last_used;
	c->in_use = view->holds > 0;
}

int cmd_gc(struct server *server, const json_t *request, struct admin_call *call, struct err *err)
{
	struct gc *gc = calloc(1, sizeof(*gc));

	if (!gc)
		return err_sys(err, ENOMEM, "collect garbage");
	gc->server = server;
	gc->call = call;
	gc->age_s = server->conf.gc_age;
	gc->candidates = calloc(server->conf.slots, sizeof(*gc->candidates));
	gc->report = json_array();
	if (!gc->candidates || !gc->report) {
		gc_free(gc);
		return err_sys(err, ENOMEM, "collect garbage");
	}
	if (json_get_u32(request, "age", 60, UINT32_MAX, &gc->age_s, err) < 0 ||
	    json_get_bool(request, "delete", &gc->may_delete, err) < 0) {
		gc_free(gc);
		return -1;
	}
	sandboxes_each(server->sandboxes, NULL, add_candidate, gc);
	next(gc);
	return 0;
}
