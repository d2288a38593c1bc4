/* SPDX-License-Identifier: Apache-2.0 */
/* GET /. */
#include "app/index_page.h"

#include "http/page.h"

#include <stdio.h>

enum { WORDS = 160 };

/* "2 GiB", "512 MiB" */
static void size_words(uint64_t bytes, char out[WORDS])
{
	if (bytes >= 1ULL << 30)
		(void)snprintf(out, WORDS, "%.3g GiB", (double)bytes / (double)(1ULL << 30));
	else
		(void)snprintf(out, WORDS, "%.3g MiB", (double)bytes / (double)(1ULL << 20));
}

/* Rounded as people say it: an estimate to the second would promise too much. */
static void wait_words(usec wait, char *out, size_t size)
{
	uint64_t minutes = (wait + 30 * USEC_PER_SEC) / (60 * USEC_PER_SEC);

	if (minutes < 2)
		(void)snprintf(out, size, "about a minute");
	else if (minutes < 100)
		(void)snprintf(out, size, "about %llu minutes", (unsigned long long)minutes);
	else
		(void)snprintf(out, size, "about %llu hours",
			       (unsigned long long)(minutes + 30) / 60);
}

static void cpu_words(uint32_t percent, char out[WORDS])
{
	(void)snprintf(out, WORDS, "%.3g CPU%s", percent / 100.0, percent == 100 ? "" : "s");
}

/* The wait of a newcomer in a word or two. */
static void wait_figure(const struct snapshot *s, char out[WORDS])
{
	uint64_t minutes = (s->pool.newcomer_wait + 59 * USEC_PER_SEC) / (60 * USEC_PER_SEC);
	enum snapshot_status status = snapshot_status(s);

	if (status == SNAPSHOT_OK)
		(void)snprintf(out, WORDS, "none");
	else if (status != SNAPSHOT_FULL || s->pool.newcomer_wait == USEC_INFINITY)
		(void)snprintf(out, WORDS, "unknown");
	else if (minutes < 100)
		(void)snprintf(out, WORDS, "%llu min", (unsigned long long)minutes);
	else
		(void)snprintf(out, WORDS, "%llu h", (unsigned long long)(minutes + 30) / 60);
}

/* Per cent of the slots that nobody new can have; not quite full looks not quite full. */
static uint32_t taken_percent(const struct pool_stats *p)
{
	return p->slots ? (p->slots - p->free) * 100 / p->slots : 100;
}

/* What a newcomer can expect, in one sentence. */
static void state_words(const struct snapshot *s, char out[WORDS])
{
	char wait[48];

	switch (snapshot_status(s)) {
	case SNAPSHOT_OK:
		(void)snprintf(out, WORDS, "No waiting: the next visitor gets a sandbox at once.");
		return;
	case SNAPSHOT_DRAINING:
		(void)snprintf(out, WORDS,
			       "Maintenance: running sandboxes go on, no new ones are given out.");
		return;
	case SNAPSHOT_NO_ROOM:
		(void)snprintf(out, WORDS,
			       "The server's disk is full: no new sandboxes are given out.");
		return;
	case SNAPSHOT_UNAVAILABLE:
		(void)snprintf(out, WORDS, "The server cannot run sandboxes at the moment.");
		return;
	case SNAPSHOT_FULL:
	case SNAPSHOT_NUM_STATUSES:
		break;
	}
	if (s->pool.newcomer_wait == USEC_INFINITY) {
		(void)snprintf(out, WORDS, "All sandboxes are taken.");
		return;
	}
	wait_words(s->pool.newcomer_wait, wait, sizeof(wait));
	(void)snprintf(out, WORDS, "All taken: %u waiting, and the next visitor would wait %s.",
		       s->pool.queue_length, wait);
}

int index_page_print(const struct snapshot *s, struct buf *out, struct err *err)
{
	const struct page_asset *asset = page_asset("index.html");
	char free_now[16], slots[16], taken[16], wait[WORDS], state[WORDS], memory[WORDS],
		disk[WORDS], cpus[WORDS], idle[WORDS];

	if (!asset)
		return err_set(err, ERR_BUG, "index.html is not built in");
	(void)snprintf(free_now, sizeof(free_now), "%u", s->pool.free);
	(void)snprintf(slots, sizeof(slots), "%u", s->pool.slots);
	(void)snprintf(taken, sizeof(taken), "%u", taken_percent(&s->pool));
	wait_figure(s, wait);
	(void)snprintf(idle, WORDS, "%u minutes", (s->idle_seconds + 30) / 60);
	state_words(s, state);
	size_words(s->memory_bytes, memory);
	size_words(s->workspace_bytes, disk);
	cpu_words(s->cpu_percent, cpus);

	const struct page_var vars[] = {
		{ "refresh", VIEW(INDEX_REFRESH_SECONDS), PAGE_TEXT },
		{ "free", view_str(free_now), PAGE_TEXT },
		{ "slots", view_str(slots), PAGE_TEXT },
		{ "wait", view_str(wait), PAGE_TEXT },
		{ "taken", view_str(taken), PAGE_TEXT },
		{ "open", view_str(snapshot_status(s) == SNAPSHOT_OK ? "1" : ""), PAGE_TEXT },
		{ "state", view_str(state), PAGE_TEXT },
		{ "url", view_str(s->public_url), PAGE_TEXT },
		{ "public", view_str(s->has_oauth ? "yes" : ""), PAGE_TEXT },
		{ "token", view_str(s->needs_token ? "yes" : ""), PAGE_TEXT },
		{ "emptied", view_str(s->empties ? "yes" : ""), PAGE_TEXT },
		{ "memory", view_str(memory), PAGE_TEXT },
		{ "disk", view_str(disk), PAGE_TEXT },
		{ "cpus", view_str(cpus), PAGE_TEXT },
		{ "idle", view_str(idle), PAGE_TEXT },
		{ "version", view_str(s->version), PAGE_TEXT },
		{ NULL, VIEW(""), PAGE_TEXT },
	};
	return page_fill(out, asset->content, vars, err);
}
