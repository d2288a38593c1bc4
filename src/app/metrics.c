/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics. */
#include "app/metrics.h"

enum type { GAUGE, COUNTER };

static const char *const type_names[] = { [GAUGE] = "gauge", [COUNTER] = "counter" };

/* Rows of one metric follow each other: HELP and TYPE are written for the first. */
struct metric {
	const char *name;
	const char *label; /* "state=\"free\"", or NULL */
	enum type type;
	const char *help;
	double value;
};

static int print_row(struct buf *out, const struct metric *m, const struct metric *before)
{
	int r = 0;

	if (!before || strcmp(before->name, m->name) != 0)
		r = buf_addf(out, "# HELP berth_%s %s\n# TYPE berth_%s %s\n", m->name, m->help,
			     m->name, type_names[m->type]);
	if (r == 0 && m->label)
		r = buf_addf(out, "berth_%s{%s} %.17g\n", m->name, m->label, m->value);
	else if (r == 0)
		r = buf_addf(out, "berth_%s %.17g\n", m->name, m->value);
	return r;
}

static int print_rows(struct buf *out, const struct metric *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = print_row(out, &rows[i], i ? &rows[i - 1] : NULL);

		if (r < 0)
			return r;
	}
	return 0;
}

static int print_pool(const struct pool_stats *p, struct buf *out)
{
	static const char slots_help[] = "Slots by state.";
	static const char passed_help[] = "Slots that changed hands, by how.";
	const struct metric rows[] = {
		{ "slots", "state=\"free\"", GAUGE, slots_help, p->free },
		{ "slots", "state=\"occupied\"", GAUGE, slots_help, p->held },
		{ "slots", "state=\"emptying\"", GAUGE, slots_help, p->emptying },
		{ "slots", "state=\"set_aside\"", GAUGE, slots_help, p->set_aside },
		{ "slots_in_use", NULL, GAUGE,
		  "Occupied slots with a call, job, upload or download under way.", p->in_use },
		{ "slots_unclaimed", NULL, GAUGE,
		  "Occupied slots granted from the queue and not used yet.", p->unclaimed },
		{ "slots_warm", NULL, GAUGE, "Free slots with a container waiting.", p->warm },
		{ "queue_length", NULL, GAUGE, "Principals waiting for a slot.", p->queue_length },
		{ "draining", NULL, GAUGE, "1 while no slots are granted (berth drain).",
		  p->draining },
		{ "grants_total", "from=\"free\"", COUNTER, passed_help,
		  (double)(p->granted - p->granted_from_queue) },
		{ "grants_total", "from=\"queue\"", COUNTER, passed_help,
		  (double)p->granted_from_queue },
		{ "queue_lapsed_total", NULL, COUNTER, "Places in the queue that lapsed.",
		  (double)p->lapsed },
		{ "unclaimed_total", NULL, COUNTER, "Grants that nobody used in time.",
		  (double)p->unclaimed_expired },
		{ "idle_emptied_total", NULL, COUNTER, "Sandboxes emptied for being idle.",
		  (double)p->idle_emptied },
		{ "emptied_total", NULL, COUNTER, "Slots emptied.", (double)p->emptied },
		{ "empty_failures_total", NULL, COUNTER, "Attempts to empty a slot that failed.",
		  (double)p->empty_failed },
		{ "refused_total", NULL, COUNTER, "Requests for a slot that were refused.",
		  (double)p->refused },
	};
	int r = print_rows(out, rows, ARRAY_SIZE(rows));

	/* Absent rather than a number that means "unknown". */
	if (r == 0 && p->newcomer_wait != USEC_INFINITY) {
		const struct metric wait = { "newcomer_wait_seconds", NULL, GAUGE,
					     "Estimated wait of somebody who came now.",
					     (double)p->newcomer_wait / (double)USEC_PER_SEC };

		r = print_rows(out, &wait, 1);
	}
	return r;
}

static int print_server(const struct snapshot *s, struct buf *out)
{
	static const char turn_help[] =
		"Longest that the event loop was busy with one thing since the start.";
	const struct metric rows[] = {
		{ "up", NULL, GAUGE, "1 while the server can serve calls.",
		  snapshot_status(s) != SNAPSHOT_UNAVAILABLE },
		{ "uptime_seconds", NULL, GAUGE, "Since the server started.",
		  (double)s->uptime_seconds },
		{ "containers", NULL, GAUGE, "Running containers.", s->running },
		{ "containers_started_total", NULL, COUNTER, "Containers started.",
		  (double)s->boxes_started },
		{ "containers_failed_total", NULL, COUNTER, "Containers that did not start.",
		  (double)s->boxes_failed },
		{ "rolled_back_total", NULL, COUNTER,
		  "Slots emptied by rolling the workspace back to its empty snapshot.",
		  (double)s->rolled_back },
		{ "connections", NULL, GAUGE, "Open client connections.", s->connections },
		{ "http_requests_total", NULL, COUNTER, "HTTP requests answered.",
		  (double)s->http_requests },
		{ "tool_calls_total", NULL, COUNTER, "Tool calls.", (double)s->tool_calls },
		{ "tool_errors_total", NULL, COUNTER, "Tool calls that ended with an error.",
		  (double)s->tool_errors },
		{ "process_peak_bytes", NULL, GAUGE, "Most memory that berthd has had.",
		  (double)s->peak_bytes },
		{ "process_cpu_seconds_total", NULL, COUNTER, "CPU time of berthd.",
		  s->cpu_seconds },
		{ "loop_longest_turn_seconds", "clock=\"wall\"", GAUGE, turn_help,
		  s->longest_turn },
		{ "loop_longest_turn_seconds", "clock=\"cpu\"", GAUGE, turn_help,
		  s->longest_turn_cpu },
	};

	return print_rows(out, rows, ARRAY_SIZE(rows));
}

static int print_people(const struct snapshot *s, struct buf *out)
{
	static const char mails_help[] = "Messages, by what became of them.";
	const struct metric rows[] = {
		{ "oauth_clients", NULL, GAUGE, "Registered clients.", (double)s->clients },
		{ "sign_ins", NULL, GAUGE, "Sign-ins that are valid.", (double)s->sign_ins },
		{ "registrations_total", NULL, COUNTER, "Client registrations.",
		  (double)s->registrations },
		{ "presses_total", NULL, COUNTER, "Sandboxes created by the button.",
		  (double)s->presses },
		{ "presses_refused_total", NULL, COUNTER, "Presses refused by the limits.",
		  (double)s->presses_refused },
		{ "refreshes_total", NULL, COUNTER, "Tokens refreshed.", (double)s->refreshes },
		{ "token_reuses_total", NULL, COUNTER,
		  "Codes and refresh tokens that came a second time.", (double)s->reuses },
		{ "rate_limited_total", NULL, COUNTER, "Requests answered 429.",
		  (double)s->rate_limited },
		{ "mails_waiting", NULL, GAUGE, "Addresses kept in memory.", s->mails_waiting },
		{ "mails_total", "result=\"sent\"", COUNTER, mails_help, (double)s->mails_sent },
		{ "mails_total", "result=\"refused\"", COUNTER, mails_help,
		  (double)s->mails_failed },
		{ "mails_total", "result=\"forgotten\"", COUNTER, mails_help,
		  (double)s->mails_forgotten },
	};

	return print_rows(out, rows, ARRAY_SIZE(rows));
}

int metrics_print(const struct snapshot *s, struct buf *out)
{
	int r = buf_addf(out,
			 "# HELP berth_build_info The running version.\n"
			 "# TYPE berth_build_info gauge\n"
			 "berth_build_info{version=\"%s\"} 1\n",
			 s->version);

	if (r == 0)
		r = print_server(s, out);
	if (r == 0)
		r = print_pool(&s->pool, out);
	if (r == 0)
		r = print_people(s, out);
	return r;
}
