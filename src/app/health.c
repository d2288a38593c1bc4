/* SPDX-License-Identifier: Apache-2.0 */
/* GET /health. */
#include "app/health.h"

#include "json/json.h"

/* Whole seconds, or null when there is no estimate. */
static json_t *seconds(usec t)
{
	if (t == USEC_INFINITY)
		return json_null();
	return json_integer((json_int_t)((t + USEC_PER_SEC - 1) / USEC_PER_SEC));
}

static json_t *slots(const struct snapshot *s)
{
	const struct pool_stats *p = &s->pool;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
			 (json_int_t)p->slots, "free", (json_int_t)p->free, "occupied",
			 (json_int_t)p->held, "in_use", (json_int_t)p->in_use, "unclaimed",
			 (json_int_t)p->unclaimed, "resetting", (json_int_t)p->resetting,
			 "emptying", (json_int_t)p->emptying, "set_aside", (json_int_t)p->set_aside,
			 "warm", (json_int_t)p->warm);
}

static json_t *queue(const struct snapshot *s)
{
	return json_pack("{s:I, s:I, s:o}", "length", (json_int_t)s->pool.queue_length, "max",
			 (json_int_t)s->pool.queue_max, "newcomer_wait_seconds",
			 seconds(s->pool.newcomer_wait));
}

static json_t *enforced(const struct snapshot *s)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s,"
			 " s:b, s:i, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b}",
			 "engine", s->enforced.engine, "namespaces", s->enforced.namespaces,
			 "limits_by", s->enforced.limits_by, "storage", s->enforced.storage,
			 "disk_by", s->enforced.disk_by, "network", s->enforced.network,
			 "network_by", s->enforced.network_by, "server_filter", s->enforced.filter,
			 "server_landlock", s->enforced.landlock, "workspace_quota",
			 s->enforced.workspace, "layer_quota", s->enforced.layer, "memory",
			 s->enforced.memory, "cpu", s->enforced.cpu, "processes",
			 s->enforced.processes, "io", s->enforced.io, "connections",
			 s->enforced.connections, "bandwidth", s->enforced.bandwidth);
}

int health_print(const struct snapshot *s, struct buf *out, unsigned *ret_http_status,
		 struct err *err)
{
	enum snapshot_status status = snapshot_status(s);
	auto_json json_t *all =
		json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:I, s:I, s:o}", "status",
			  snapshot_status_name(status), "version", s->version, "profile",
			  s->profile, "uptime_seconds", (json_int_t)s->uptime_seconds, "slots",
			  slots(s), "queue", queue(s), "containers", (json_int_t)s->running,
			  "connections", (json_int_t)s->connections, "enforced", enforced(s));

	if (!all)
		return err_sys(err, ENOMEM, "tell the health");
	if (json_print(out, all, err) < 0)
		return -1;
	*ret_http_status = status == SNAPSHOT_UNAVAILABLE ? 503 : 200;
	return 0;
}
