/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection of workspaces: one after the other, never two at once. */
#include "app/gc.h"

#include "base/log.h"

#include <stdio.h>

#define AGE_UNKNOWN UINT64_MAX

/* Looking at all of them takes minutes: nothing else that is known at the beginning is kept. */
struct candidate {
	char key[SANDBOX_MAX_KEY];
};

struct gc {
	struct server *server;
	struct admin_call *call;
	uint32_t age_s;
	bool may_delete;
	struct candidate *candidates;
	size_t n, at;
	struct sandbox *sandbox; /* while it is looked at */
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
	json_t *line = json_pack("{s:s, s:s, s:o}", "key", c->key, "verdict", verdict, "age_s",
				 age == AGE_UNKNOWN ? json_null() : json_integer((json_int_t)age));

	if (!line || json_array_append_new(gc->report, line) < 0)
		log_warning("gc: a line of the report was lost: out of memory");
}

/* Whether the record alone, as it is now, keeps the candidate; *ret_last_used if not. */
static bool is_kept(struct gc *gc, uint64_t *ret_last_used)
{
	uint64_t now = clock_wall_seconds(gc->server->clock);
	struct sandbox_view view;
	uint64_t age;

	if (!sandboxes_get(gc->server->sandboxes, view_str(gc->candidates[gc->at].key), &view)) {
		add_line(gc, "gone meanwhile", AGE_UNKNOWN);
		return true;
	}
	if (view.holds > 0) {
		add_line(gc, "kept: in use", AGE_UNKNOWN);
		return true;
	}
	age = now > view.last_used ? now - view.last_used : 0;
	if (age < gc->age_s) {
		add_line(gc, "kept: used since", age);
		return true;
	}
	*ret_last_used = view.last_used;
	return false;
}

static void judge(struct gc *gc, uint64_t newest)
{
	const struct candidate *c = &gc->candidates[gc->at];
	uint64_t now = clock_wall_seconds(gc->server->clock);
	uint64_t last_used, touched, age;
	struct err err;

	/* Its owner may have come while it was looked at. */
	if (is_kept(gc, &last_used))
		return;
	touched = newest > last_used ? newest : last_used;
	age = now > touched ? now - touched : 0;
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
	sandbox_look_end(sandbox);
	if (reply && reply->error == 0)
		judge(gc, reply->mtime_ns / 1000000000);
	else
		add_line(gc, "kept: it could not be looked at", AGE_UNKNOWN);
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
		sandbox_look_end(take_ptr(gc->sandbox));
	}
	add_line(gc, "kept: it could not be looked at", AGE_UNKNOWN);
	gc->at++;
	next(gc);
}

/* Those that the record alone keeps are not even opened. */
static void next(struct gc *gc)
{
	struct sandbox_wait *wait;
	uint64_t last_used;
	struct err err;

	for (; gc->at < gc->n; gc->at++) {
		struct view key = view_str(gc->candidates[gc->at].key);

		if (is_kept(gc, &last_used))
			continue;
		if (sandbox_look(gc->server->sandboxes, key, on_sandbox, gc, &wait, &err) == 0)
			return;
		add_line(gc, "kept: it could not be looked at", AGE_UNKNOWN);
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
