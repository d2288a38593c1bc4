/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk space that no kernel bounds. A slot's keeper measures it while a container runs, and after
 * calls. When a slot takes more than it may, its container is ended. Commands that start from then
 * on cannot make any file larger (the kernel sees to that), so its owner can remove some; what
 * grows all the same is ended again. The pool's disk.h judges.
 */
#include "sandbox/internal.h"

#include "base/log.h"
#include "sys/loop.h"

#include <stdio.h>
#include <sys/statvfs.h>

#define LOOK (1 * USEC_PER_SEC)

bool disk_is_low(const struct sandboxes *s, uint64_t *ret_free)
{
	struct statvfs fs;

	if (s->config.min_free == 0 || statvfs(s->config.state_dir, &fs) < 0)
		return false;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return *ret_free < s->config.min_free;
}

bool disk_is_awaited(const struct place *p)
{
	return p->disk.full && (p->disk.asked_at || p->disk.next == 0);
}

void disk_touch(struct place *p)
{
	p->disk.next = p->disk.full ? 0 : p->disk.after;
	sandboxes_wake(p->s);
}

bool sandbox_is_full(const struct sandbox *sandbox)
{
	return sandbox->place && sandbox->place->disk.full;
}

int sandbox_check_room(const struct sandbox *sandbox, struct err *err)
{
	const struct place *p = sandbox->place;
	char words[160];

	if (!sandbox_is_full(sandbox))
		return 0;
	disk_words(p, words, sizeof(words));
	return err_set(err, ERR_FULL,
		       "nothing was written: %s. Delete something with run_command (rm), then try "
		       "again",
		       words);
}

bool sandboxes_measure_workspace(const struct sandboxes *s)
{
	return s->config.disk.workspace;
}

bool sandboxes_measure_layer(const struct sandboxes *s)
{
	return s->config.disk.layer;
}

/* ---- one slot ---- */

static void end_full_box(struct place *p)
{
	char words[160];

	disk_words(p, words, sizeof(words));
	log_info("slot %u: its container is ended: %s", p->slot, words);
	place_end_box(p, words);
}

/* What is measured of a full slot, before and after. */
static void act(struct place *p, bool was_full)
{
	struct place_disk *d = &p->disk;
	/* What was measured before it started was another one's. */
	bool is_running =
		p->box_state == BOX_RUNNING && !p->stop_wanted && d->measured >= p->box_started;

	if (is_running && (!was_full || disk_has_grown(&d->base, &d->use)))
		end_full_box(p);
	if (!is_running || !was_full || disk_has_grown(&d->use, &d->base))
		d->base = d->use;
}

static void on_use(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct place *p = userdata;
	const struct disk_limits *limits = &p->s->config.disk;
	struct place_disk *d = &p->disk;
	usec now = clock_monotonic(p->s->clock);
	bool is_known = reply && (reply->error == 0 || reply->error == EOVERFLOW);
	bool was_full = d->full;

	if (fd >= 0)
		(void)close(fd);
	if (is_known) {
		d->measured = d->asked_at;
		d->use = (struct disk_use){ .workspace = reply->number,
					    .layer = reply->size - reply->number,
					    .files = reply->count,
					    .is_too_deep = reply->error == EOVERFLOW };
		d->full = disk_judge(limits, &d->use);
	}
	d->after = now + disk_pause(limits, &d->use, now - d->asked_at);
	d->next = p->box_state == BOX_RUNNING || d->full ? d->after : USEC_INFINITY;
	d->asked_at = 0;
	if (is_known && d->full && p->owner && p->empty_state == EMPTY_NOT)
		act(p, was_full);
	place_touch(p);
}

static bool is_due(const struct place *p, usec now)
{
	return p->owner && p->files_state == FILES_OPEN && p->empty_state == EMPTY_NOT &&
	       (p->box_state == BOX_NONE || p->box_state == BOX_RUNNING) && !p->disk.asked_at &&
	       p->disk.next <= now;
}

static void measure(struct place *p, usec now)
{
	const struct keeper_request request = { .verb = KEEPER_USAGE, .flags = KEEPER_ALL };
	struct err err;

	p->disk.asked_at = now;
	if (engine_files_call(p->files, &request, -1, on_use, p, &err) < 0)
		on_use(p, NULL, -1);
}

/* ---- all of them ---- */

static size_t list_growers(const struct sandboxes *s, struct disk_grower *growers)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->config.pool.slots; i++) {
		const struct place *p = &s->places[i];
		const struct disk_use *use = &p->disk.use, *base = &p->disk.base;
		uint64_t now = use->workspace + use->layer;
		uint64_t before = base->workspace + base->layer;

		if (p->owner && p->box_state == BOX_RUNNING && !p->stop_wanted)
			growers[n++] =
				(struct disk_grower){ .slot = i,
						      .measured = p->disk.measured,
						      .grown = now > before ? now - before : 0 };
	}
	return n;
}

static void guard_reserve(struct sandboxes *s)
{
	uint64_t bytes = 0;
	bool is_low = disk_is_low(s, &bytes);
	size_t n = is_low ? list_growers(s, s->growers) : 0, at = 0;
	usec now = clock_monotonic(s->clock);

	switch (disk_guard(&s->disk_low_since, is_low, s->growers, n, now, &at)) {
	case DISK_GUARD_NOTHING:
		break;
	case DISK_GUARD_MEASURE:
		for (size_t i = 0; i < n; i++)
			s->places[s->growers[i].slot].disk.next = 0;
		break;
	case DISK_GUARD_END:
		log_warning("slot %u: its container is ended: %llu MiB of disk are free, and it "
			    "grew most",
			    s->growers[at].slot, (unsigned long long)(bytes >> 20));
		place_end_box(&s->places[s->growers[at].slot],
			      "the server's disk is nearly full, and this sandbox grew most");
		break;
	}
}

void disk_watch(struct sandboxes *s)
{
	usec now = clock_monotonic(s->clock);

	for (uint32_t i = 0; s->disk_timer && i < s->config.pool.slots; i++)
		if (is_due(&s->places[i], now))
			measure(&s->places[i], now);
}

static int on_look(sd_event_source *source, uint64_t time, void *userdata)
{
	struct sandboxes *s = userdata;

	(void)time;
	guard_reserve(s);
	disk_watch(s);
	loop_wake_after(source, LOOK);
	return 0;
}

int disk_start(struct sandboxes *s)
{
	int r;

	if (!disk_is_measured(&s->config.disk))
		return 0;
	r = loop_add_timer(s->event, &s->disk_timer, on_look, s);
	if (r >= 0)
		loop_wake_after(s->disk_timer, LOOK);
	return r;
}
